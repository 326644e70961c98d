"""``split_plain``: reads the properties of a note that has them in the plain form that the vault's notes are written in.

The vault writes one key a line: quoted texts, numbers, dates, yes or no, and lists as blocks. Read line by line, such properties
take a tenth of the time that a YAML reader needs. Whatever is not of this form is left to that, so both give the same.
"""

from __future__ import annotations

import re
from datetime import date, datetime
from typing import Any

_LINE = re.compile(r'(?:([A-Za-z_][A-Za-z0-9_]*):|  -)(?: (?:"([^"\\]*)"|([-0-9T:.]+|true|false)))?')
_INTEGER = re.compile(r"0|-?[1-9][0-9]{0,15}")
_FLOAT = re.compile(r"-?[0-9]{1,15}\.[0-9]{1,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_WORDS = frozenset({"yes", "no", "on", "off", "true", "false", "null"})  # no texts to a YAML reader, as keys either


def split_plain(text: str) -> tuple[dict[str, Any], str] | None:
    """Return a note's properties and the text behind them, stripped; None if they are not of the plain form."""
    end = text.find("\n---\n")
    if not text.startswith("---\n") or end < 0 or "\r" in text:
        return None
    lines = text[4:end].split("\n")
    if not all(map(str.isprintable, lines)):
        return None
    try:
        properties = _properties(lines)
    except ValueError:
        return None
    return (properties, text[end + 5 :].strip()) if properties else None


def _properties(lines: list[str]) -> dict[str, Any]:
    """Read the lines of properties.

    Raises:
        ValueError: a line is not of the plain form.
    """
    found: dict[str, Any] = {}
    entries: list[Any] | None = None  # of the list that the lines above began
    for line in lines:
        part = _LINE.fullmatch(line)
        if part is None:
            raise ValueError(line)
        name, quoted, plain = part.groups()
        value = quoted if plain is None else _value(plain)
        if name is None and entries is not None and value is not None:
            entries.append(value)
            continue
        if name is None or name.lower() in _WORDS or entries == []:
            raise ValueError(line)
        entries = [] if value is None else None
        found[name] = entries if value is None else value
    if entries == []:
        raise ValueError("a key without a value")
    return found


def _value(plain: str) -> Any:
    """Return what a word without quotes says.

    Raises:
        ValueError: it is neither a number nor a date, nor yes or no.
    """
    if plain in {"true", "false"}:
        return plain == "true"
    if _INTEGER.fullmatch(plain):
        return int(plain)
    if _FLOAT.fullmatch(plain):
        return float(plain)
    if _DAY.fullmatch(plain):
        return date.fromisoformat(plain)
    if _TIME.fullmatch(plain):
        return datetime.fromisoformat(plain)
    raise ValueError(plain)
