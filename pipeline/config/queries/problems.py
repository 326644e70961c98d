"""Errors in ``queries.yaml`` as values with positions, collected so that all are reported in one pass."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from pipeline.errors import QueueInvalid

_LISTED = 200
# Characters that the parser refuses or reads as a line end; all are below U+10000.
UNREADABLE = re.compile("[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]+")


class Positioned(Protocol):
    """Anything with a position in the file. ``line`` and ``column`` count from 1."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Problem:
    """One fault. ``line`` and ``column`` count from 1, in characters; ``hint`` says what to write instead."""

    file: str
    line: int
    column: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}: {self.message} → {self.hint}"


class Problems:
    """The faults found so far in one file."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._found: list[Problem] = []

    def add(self, place: Positioned, message: str, hint: str) -> None:
        """Note a fault at a place."""
        self.add_at(place.line, place.column, message, hint)

    def add_at(self, line: int, column: int, message: str, hint: str) -> None:
        """Note a fault at a line and column, both counting from 1."""
        self._found.append(Problem(self._file, line, column, message, hint))

    def is_in(self, line: int) -> bool:
        """Return whether a fault was found in that line."""
        return any(found.line == line for found in self._found)

    def sorted(self) -> tuple[Problem, ...]:
        """Return the faults in the file's order, each once."""
        return tuple(sorted(set(self._found)))


def invalid(faults: Sequence[Problem]) -> QueueInvalid:
    """Return the error that lists ``faults``, one a line (the first 200)."""
    lines = [str(fault) for fault in faults[:_LISTED]]
    if len(faults) > _LISTED:
        lines.append(f"… and {len(faults) - _LISTED:,} more")
    count = "one fault" if len(faults) == 1 else f"{len(faults):,} faults"
    return QueueInvalid("\n".join(lines), hint=f"correct the {count} above; nothing was started")


def quoted(text: str) -> str:
    """Return ``text`` as YAML in double quotes, on one line: whatever is in it, it is read as it is here."""
    return UNREADABLE.sub(lambda match: "".join(f"\\u{ord(char):04x}" for char in match[0]), json.dumps(text, ensure_ascii=False))


def shown(text: str) -> str:
    """Return ``text`` in quotes on one line, at most 60 characters, for a message."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return f'"{plain}"' if len(plain) <= 60 else f'"{plain[:59]}…"'
