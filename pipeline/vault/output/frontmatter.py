"""A note's properties as YAML that every reader understands alike.

Obsidian reads YAML 1.2, most of Python's tools write 1.1; the two disagree on unquoted words (``1234e56``, ``0o17``, ``no``).
So each string is written in double quotes as JSON writes it, which is the same text to both, on one line however long; dates
carry ``T`` and no zone (UTC is meant), lists are blocks, keys keep the order they are given in, and there are no nested maps,
which Obsidian cannot show. Reading resolves unquoted words as YAML 1.2 does, so a file that Obsidian rewrote compares equal.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import Any

import yaml

Scalar = str | int | float | bool | datetime
Property = Scalar | tuple[str, ...]

_FENCED = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
# A key at the start of a line, quoted or not; anything else belongs to the key above it.
_KEY_LINE = re.compile(r"""("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s#'"\-\[\]{},&*!|>%@`?:][^:\n]*?)[ \t]*:(?=\s|\Z)""")
# The property `id`, of a note that the program once made.
_ID = re.compile(r"^id:[ \t]*[\"']?([a-z]+(?::[A-Za-z0-9][A-Za-z0-9_.:/-]*)?)[\"']?[ \t]*\r?$", re.MULTILINE)
# What YAML forbids or breaks lines at, and what plugins search for in the raw file: Templater's signs, comments, inline fields.
_ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]|(?<=[<%])%|%(?=>)|(?<=:):")
as_json = json.JSONEncoder(ensure_ascii=False).encode
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class _Core(yaml.CSafeLoader):
    """YAML with the words of version 1.2's core schema: no dates, no ``yes`` and ``no``, no leading-zero octals."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 - emptied on purpose: the parent's are those of YAML 1.1


_CORE_WORDS: tuple[tuple[str, str, str], ...] = (
    ("null", r"~|null|Null|NULL|", "~nN"),
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
)
for _name, _pattern, _first in _CORE_WORDS:
    _Core.add_implicit_resolver(f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z"), [*_first, ""])
_Core.add_constructor("tag:yaml.org,2002:int", lambda _loader, node: int(node.value, 0 if node.value[:2] in {"0o", "0x"} else 10))
_Core.add_constructor("tag:yaml.org,2002:float", lambda _loader, node: float(node.value))


def emit(properties: Mapping[str, Property]) -> str:
    """Return ``properties`` as YAML lines in the order given; an empty list is left out."""
    lines = list[str]()
    for name, value in properties.items():
        if isinstance(value, (tuple, list)):
            lines += [f"{name}:", *[f"  - {_scalar(item)}" for item in value]] if value else []
        else:
            lines.append(f"{name}: {_scalar(value)}")
    return "".join([f"{line}\n" for line in lines])


def _scalar(value: Scalar) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):  # true and false too
        return as_json(value)
    if isinstance(value, datetime):
        return value.replace(tzinfo=None, microsecond=0).isoformat()
    digits = format(Decimal(repr(value)), "f")
    return digits if "." in digits else f"{digits}.0"


def quoted(text: str) -> str:
    """Return ``text`` in double quotes, the same to JSON, YAML 1.1 and YAML 1.2; lone surrogates become U+FFFD."""
    whole = as_json(_SURROGATE.sub("\ufffd", text))
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", whole)


def split(text: str) -> tuple[str, str]:
    """Return a note's raw property lines ("" if it has none) and the text after them."""
    found = _FENCED.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def load(raw: str) -> dict[str, Any]:
    """Return the properties that raw property lines hold, read as YAML 1.2 reads them.

    What the quick reader of YAML 1.1 cannot read, such as a question mark in a list on one line, a reader of 1.2 may.

    Raises:
        ValueError: they are no YAML map.
    """
    try:
        found = yaml.load(raw, Loader=_Core) or {}  # noqa: S506 - a loader of plain values
    except yaml.YAMLError:
        from ruamel.yaml import YAML  # slow to import, and seldom needed
        from ruamel.yaml.error import YAMLError

        try:
            found = YAML(typ="safe", pure=True).load(raw) or {}
        except (YAMLError, ValueError) as error:
            raise ValueError("the properties are not valid YAML") from error
    if not isinstance(found, dict):
        raise ValueError("the properties are no list of keys and values")
    return {str(name): value for name, value in found.items()}


def id_in(raw: str) -> str:
    """Return the id of ours in raw property lines, as any editor writes it; "" if there is none."""
    found = _ID.search(raw)
    return id_today(found[1]) if found else ""


def id_today(note: str) -> str:
    """Return the id that a note has now, by the one that any version of the program gave it."""
    kind, _, name = note.partition(":")
    return f"session:{name}" if kind == "import" else note  # notes of imports had a kind of their own


def lines_of_others(raw: str, owned: frozenset[str]) -> str:
    """Return, unchanged, the raw lines of all keys but the ``owned`` ones; a comment belongs to the key above it."""
    return "".join(lines for name, lines in by_key(raw).items() if name not in owned)


def by_key(raw: str) -> dict[str, str]:
    """Return the raw lines of each key, in order; the lines above the first key are left out."""
    found: dict[str, str] = {}
    name: str | None = None
    for line in re.findall(r"[^\n]*\n", raw):
        if key := _KEY_LINE.match(line):
            name = key[1].strip("\"'")
        if name is not None:
            found[name] = found.get(name, "") + line
    return found


def renamed(raw: str, name: str) -> str:
    """Return the raw lines of one key under another ``name``, in quotes."""
    found = _KEY_LINE.match(raw)
    return quoted(name) + raw[found.end(1) :] if found else raw
