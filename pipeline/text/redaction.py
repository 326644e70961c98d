"""Keys that cannot be printed by accident, and their removal, by value, from whatever is about to be written. Leaf module."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import NoReturn

SHORTEST = 8  # characters; a shorter value stands in ordinary text too often to be taken out of it
MARK = "[redacted]"


class Secret:
    """A key. Only ``reveal`` shows it; printing, formatting and comparing do not, pickling fails. ``name`` is its variable's."""

    __slots__ = ("_value", "name")

    def __init__(self, value: str, name: str = "") -> None:
        self._value = value
        self.name = name

    def reveal(self) -> str:
        """Return the key itself: for the one header or parameter it is meant for."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name or '?'})"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("a key is not stored")


class Redaction:
    """Takes keys out of text and bytes, by value: as they are, percent-encoded, escaped in JSON, and within base64.

    Values under 8 characters are left alone: a dummy key such as ``ollama`` is a word.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = sorted({value for secret in secrets if len(value := secret.reveal()) >= SHORTEST}, key=len, reverse=True)
        forms = [form for value in values for form in _forms(value)]
        self._pattern = re.compile("|".join(forms)) if forms else None
        self._bytes = re.compile("|".join(forms).encode()) if forms else None

    def text(self, text: str) -> str:
        """Return ``text`` with ``[redacted]`` in place of every key."""
        return self._pattern.sub(MARK, text) if self._pattern else text

    def data(self, data: bytes) -> bytes:
        """Return ``data``, taken as UTF-8, with ``[redacted]`` in place of every key."""
        return self._bytes.sub(MARK.encode(), data) if self._bytes else data


def _forms(value: str) -> list[str]:
    """Return patterns of all spellings of a key, longest first where one begins like another."""
    escaped = json.dumps(value)[1:-1]
    return [*_within_base64(value.encode()), *([re.escape(escaped)] if escaped != value else []), _percent(value)]


def _percent(value: str) -> str:
    return "".join(_char(char) for char in value)


def _char(char: str) -> str:
    encoded = "".join(f"%{byte:02x}" for byte in char.encode())
    return f"(?:(?i:{encoded})|{re.escape(char)})"


def _within_base64(value: bytes) -> list[str]:
    """Return the part of a key's base64 that does not depend on what stands before or after it, for each of three offsets."""
    found = []
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value).decode()
        steady = encoded[-(-offset * 8 // 6) : (offset + len(value)) * 8 // 6]
        found.append("".join({"+": "[-+]", "/": "[/_]"}.get(char, char) for char in steady))
    return found
