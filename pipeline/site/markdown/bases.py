"""Reads Obsidian bases: the notes that a table shows, their order, and the columns.

Supported are filters by tags, folders, links and properties with comparisons, and formulas that make a link or divide a number. A
table that uses anything else is not shown; the page links to the lists instead.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import yaml

MOST = 100  # rows
_METHOD = re.compile(r"(?:(?:note|file)\.)?(\w+)\((.*)\)")
_CONTAINS = re.compile(r"(?:note\.)?(\w+)\.(contains|containsAny)\(this\)")
_COMPARED = re.compile(r"(?:note\.)?(file\.ext|\w+)\s*(==|!=|>=|<=|>|<)\s*(.+)", re.DOTALL)
_STRING = re.compile(r'"([^"]*)"|\'([^\']*)\'')
_AS_LINK = re.compile(r"file\.asLink\((?:note\.)?(\w+)?\)")
_DIVIDED = re.compile(r"\(?(?:note\.)?(\w+) / (\d+)\)?\.round\((\d)\)")


class BaseUnsupported(Exception):
    """The table uses something that this module does not support."""


@dataclass(frozen=True, slots=True)
class Row:
    """A note that a table may show; its properties' values by key. ``links_here``: it leads to the note with the table."""

    path: str
    tags: frozenset[str]
    properties: Mapping[str, Sequence[str]]
    links_here: bool

    def value(self, name: str) -> str:
        """Return a property's first value, "" if it has none."""
        return next(iter(self.properties.get(name, ())), "")


Test = Callable[[Row], bool]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: heading, property, whether it is a link to the note; by what numbers are divided, and to how many digits."""

    title: str
    name: str
    links: bool = False
    divisor: int = 1
    digits: int = 0


@dataclass(frozen=True, slots=True)
class View:
    """A table. ``tags``: one of them at least has every note it shows; ``here``: it shows only notes that link to its own.

    ``anywhere``: it shows the same in whatever note it stands.
    """

    title: str
    test: Test
    columns: tuple[Column, ...]
    sort: tuple[tuple[str, bool], ...]
    limit: int
    tags: frozenset[str]
    here: bool
    anywhere: bool


@dataclass(slots=True)
class _Asked:
    tags: set[str] = field(default_factory=set)
    here: bool = False
    anywhere: bool = True


@lru_cache(maxsize=256)  # a base is shown in many notes, and seldom changes between two builds
def view_of(text: str, name: str = "") -> View:
    """Read the view called ``name`` (or the first) of a base's text.

    Raises:
        BaseUnsupported: there is none, or it asks for what cannot be told.
    """
    try:
        base = yaml.safe_load(text)
        views = [view for view in base["views"] if not name or view.get("name") == name]
        return _view(base, views[0])
    except (yaml.YAMLError, ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise BaseUnsupported("the base cannot be read") from error


def _view(base: Mapping[str, Any], view: Mapping[str, Any]) -> View:
    asked = _Asked()
    tests = [_test(part["filters"], asked) for part in (base, view) if part.get("filters")]
    order = [*_grouping(view), *((entry["property"], entry.get("direction") == "DESC") for entry in view.get("sort", []))]
    columns = [column for ident in view.get("order", []) if (column := _column(str(ident), base))]
    if not columns:
        raise BaseUnsupported("no column can be shown")
    limit = min(int(view.get("limit", MOST)), MOST)
    return View(
        str(view.get("name", "")),
        lambda row: all(test(row) for test in tests),
        tuple(columns),
        tuple((str(name).removeprefix("note."), down) for name, down in order),
        limit,
        frozenset(asked.tags),
        asked.here,
        asked.anywhere,
    )


def _grouping(view: Mapping[str, Any]) -> list[tuple[str, bool]]:
    group = view.get("groupBy")
    return [(group["property"], group.get("direction") == "DESC")] if group else []


def _test(filters: object, asked: _Asked, *, certain: bool = True) -> Test:
    """``certain``: what the filter asks for holds of every row, so it narrows the search."""
    if isinstance(filters, str):
        inside = asked if certain else _Asked()
        test = _statement(filters.strip(), inside)
        asked.anywhere = asked.anywhere and not inside.here
        return test
    ((word, inner),) = dict(filters).items()  # type: ignore[call-overload]
    parts = [_test(part, asked, certain=certain and word == "and") for part in inner]
    if word == "and":
        return lambda row: all(part(row) for part in parts)
    if word == "or":
        return lambda row: any(part(row) for part in parts)
    if word == "not":
        return lambda row: not any(part(row) for part in parts)
    raise BaseUnsupported(str(word))


def _statement(text: str, asked: _Asked) -> Test:
    if found := _CONTAINS.fullmatch(text):
        asked.here = True
        return _leads_here(found[1])
    if found := _METHOD.fullmatch(text):
        return _called(found[1], found[2], asked)
    if found := _COMPARED.fullmatch(text):
        if found[3].strip() == "this":
            asked.here = True
            return _leads_here(found[1])
        return _compared(found[1], found[2], found[3].strip())
    raise BaseUnsupported(text)


def _leads_here(name: str) -> Test:
    return lambda row: row.links_here and name in row.properties


def _called(method: str, given: str, asked: _Asked) -> Test:
    names = [found[1] or found[2] for found in _STRING.finditer(given)]
    if method == "hasTag" and names:
        wanted = frozenset(name.lower().lstrip("#") for name in names)
        asked.tags |= wanted
        return lambda row: any(tag == name or tag.startswith(f"{name}/") for tag in row.tags for name in wanted)
    if method == "hasLink" and given.strip() == "this":
        asked.here = True
        return lambda row: row.links_here
    if method == "inFolder" and names:
        return lambda row: row.path.startswith(names[0].strip("/") + "/")
    if method == "hasProperty" and names:
        return lambda row: names[0] in row.properties
    raise BaseUnsupported(method)


def _compared(name: str, sign: str, literal: str) -> Test:
    if name == "file.ext":
        return lambda _row: (literal.strip("\"'") == "md") == (sign == "==")
    found = _STRING.fullmatch(literal)
    wanted = (found[1] or found[2] or "") if found else literal
    if not found and _number(literal) is None:
        raise BaseUnsupported(literal)
    return lambda row: _holds(row.value(name), sign, wanted)


def _holds(value: str, sign: str, wanted: str) -> bool:
    left, right = _number(value), _number(wanted)
    if sign in {"==", "!="}:
        same = left == right if left is not None and right is not None else value == wanted
        return same == (sign == "==")
    if left is None or right is None:
        return False
    return {">": left > right, "<": left < right, ">=": left >= right, "<=": left <= right}[sign]


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return None if number != number else number


def _column(ident: str, base: Mapping[str, Any]) -> Column | None:
    """The column that an entry of ``order`` names; None for a formula that is not supported."""
    given = base.get("properties") or {}
    short = ident.partition(".")[2] or ident
    title = str((given.get(ident) or given.get(short) or {}).get("displayName") or short.replace("_", " ").capitalize())
    if ident.startswith("file."):
        return Column(title, "title", links=True) if short in {"name", "basename"} else None
    if not ident.startswith("formula."):
        return Column(title, short)
    formula = str((base.get("formulas") or {}).get(short, ""))
    if found := _AS_LINK.fullmatch(formula):
        return Column(title, found[1] or "title", links=True)
    if found := _DIVIDED.fullmatch(formula):
        return Column(title, found[1], divisor=int(found[2]) or 1, digits=int(found[3]))
    return None


def rows_of(view: View, rows: Sequence[Row]) -> tuple[list[Row], int]:
    """Return the rows that a view shows, in its order, and how many more there are."""
    fitting = [row for row in sorted(rows, key=lambda row: row.path) if view.test(row)]
    fitting.sort(key=lambda row: place_of(view, row))
    return fitting[: view.limit], max(0, len(fitting) - view.limit)


def place_of(view: View, row: Row) -> bytes:
    """Return a row's sort key in a view as bytes; equal keys are ordered by path."""
    return b"".join(_turned(_place(row.value(name))) if down else _place(row.value(name)) for name, down in view.sort)


def _place(value: str) -> bytes:
    """Numbers by size, then texts by letters; what is missing comes first, and last when it goes down."""
    number = _number(value)
    if number is None:
        return b"\2" + value.casefold().encode("utf-8", "surrogatepass").replace(b"\0", b"\0\1") + b"\0\0" if value else b"\0"
    bits = struct.pack(">d", number + 0.0)
    return b"\1" + (_turned(bits) if bits[0] & 0x80 else bytes([bits[0] | 0x80]) + bits[1:])


def _turned(place: bytes) -> bytes:
    return bytes(255 - byte for byte in place)


def cell(column: Column, text: str) -> str:
    """Return the text that a column shows for a value."""
    number = _number(text)
    if column.divisor == 1 or number is None:
        return text
    return f"{number / column.divisor:.{column.digits}f}"
