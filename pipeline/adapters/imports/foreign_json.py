"""JSON that somebody else wrote: everything that is odd in it is noted, and whatever can be read is read."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any

BOM = b"\xef\xbb\xbf"
LARGEST_LINE = 4_000_000  # bytes of one line
Note = Callable[[str], None]


class NotJson(Exception):
    """It is no JSON; the text says why."""


def parsed(data: bytes, note: Note) -> Any:
    """Return the value of a JSON text. What is odd goes to ``note``: a doubled key, a number that JSON does not have.

    Raises:
        NotJson: it cannot be read.
    """
    try:
        return json.loads(
            _decoded(data, note), object_pairs_hook=_pairs(note), parse_constant=_constant(note), parse_float=_float(note)
        )
    except RecursionError:
        raise NotJson("is nested too deeply") from None
    except ValueError as error:
        raise NotJson(f"is not valid JSON: {str(error)[:200]}") from None


def lines_of(data: bytes, note: Note) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of each line that is not blank; oddities of the whole file go to ``note``."""
    if data.startswith(BOM):
        note("begins with a byte order mark; it is read without it")
        data = data.removeprefix(BOM)
    if b"\r\n" in data:
        note("has line ends of Windows (CRLF); they are read as line ends")
    if data and not data.endswith(b"\n"):
        note("does not end with a line end: its last line may have been cut off")
    for number, line in enumerate(data.split(b"\n"), 1):
        if line.strip():
            yield number, line.rstrip(b"\r")


def _decoded(data: bytes, note: Note) -> str:
    if not data.strip():
        raise NotJson("is empty")
    if data.startswith(BOM):
        note("begins with a byte order mark; it is read without it")
        data = data.removeprefix(BOM)
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise NotJson("is UTF-16; save it as UTF-8 to import it")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise NotJson(f"is not UTF-8, at byte {error.start:,}") from None


def _pairs(note: Note) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    def hook(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            doubled = sorted({name for name in names if names.count(name) > 1}) if len(names) < 1_000 else ["a key"]
            note(f"has a key twice ({', '.join(doubled)[:100]}); the last one counts")
        return found

    return hook


def _constant(note: Note) -> Callable[[str], None]:
    def constant(name: str) -> None:
        note(f"has {name}, which JSON does not have; it is read as no value")

    return constant


def _float(note: Note) -> Callable[[str], float | None]:
    def number(text: str) -> float | None:
        if math.isfinite(found := float(text)):
            return found
        note(f"has {text[:30]}, a number that is too large; it is read as no value")
        return None

    return number
