"""API keys that cannot be printed by accident, and the removal of their values from everything that is written. Leaf module."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable
from typing import NoReturn

SHORTEST = 8  # characters; a shorter value occurs in ordinary text too often
MARK = "[redacted]"


class Secret:
    """An API key and the ``name`` of its environment variable.

    Only ``reveal`` returns the value: printing and formatting show the name, and pickling fails.
    """

    __slots__ = ("_value", "name")

    def __init__(self, value: str, name: str = "") -> None:
        self._value = value
        self.name = name

    def reveal(self) -> str:
        """Return the key itself, for the header or parameter that needs it."""
        return self._value

    def __repr__(self) -> str:
        return f"Secret({self.name or '?'})"

    __str__ = __repr__

    def __reduce__(self) -> NoReturn:
        raise TypeError("an API key must not be pickled")


class Redaction:
    """Replaces keys in text and bytes by ``[redacted]``: plain, percent-encoded, escaped in JSON and inside base64.

    Values under 8 characters are not replaced, because a dummy key such as ``ollama`` is a common word.
    """

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = sorted({value for secret in secrets if len(value := secret.reveal()) >= SHORTEST}, key=len, reverse=True)
        forms: list[str] = []
        for value in values:  # of its spellings, the longest first where one is a prefix of another
            escaped = json.dumps(value)[1:-1]
            encoded = (("".join(f"%{byte:02x}" for byte in sign.encode()), re.escape(sign)) for sign in value)
            percent_encoded = "".join(f"(?:(?i:{code})|{sign})" for code, sign in encoded)
            forms += [*_within_base64(value.encode()), *([re.escape(escaped)] if escaped != value else []), percent_encoded]
        # One pass over each text, whatever the number of keys and of their spellings.
        self._pattern = re.compile("|".join(forms)) if forms else None
        self._bytes = re.compile("|".join(forms).encode()) if forms else None

    def text(self, text: str) -> str:
        """Return ``text`` with ``[redacted]`` in place of every key."""
        return self._pattern.sub(MARK, text) if self._pattern else text

    def data(self, data: bytes) -> bytes:
        """Return the UTF-8 bytes ``data`` with ``[redacted]`` in place of every key."""
        return self._bytes.sub(MARK.encode(), data) if self._bytes else data


def _within_base64(value: bytes) -> list[str]:
    """Return the part of a key's base64 form that does not depend on its neighbours, for each of three offsets."""
    found = []
    for offset in range(3):
        encoded = base64.b64encode(b"\0" * offset + value).decode()
        steady = encoded[-(-offset * 8 // 6) : (offset + len(value)) * 8 // 6]
        found.append("".join({"+": "[-+]", "/": "[/_]"}.get(char, char) for char in steady))
    return found
