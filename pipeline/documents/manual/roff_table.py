"""tbl tables (``.TS`` to ``.TE``) → rows of cell texts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.documents.manual.roff_escapes import plain

_SEPARATOR = re.compile(r"tab[ \t]*\((.)\)", re.IGNORECASE)
_RULE = re.compile(r"[ \t_=]*\Z")
_FIRST_MACRO = re.compile(r"[.'][ \t]*([A-Za-z][\w]{0,20})[ \t]*")
_IGNORED_NAMES = "sp br ne PD ad na hy nh in ti ll ps ft RS RE PP P LP nf fi TS TE EX EE TP IP lf nr ta"
_IGNORED = frozenset(_IGNORED_NAMES.split())


def rows(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield the rows of a table's ``lines``; rules are left out, the lines of a text block in a cell are joined."""
    separator, data = _separator_and_data(lines)
    cells: list[str] = [""]
    in_block = False
    for line in data:
        if in_block and line.startswith("T}"):
            in_block, line = False, line[2:]
        elif in_block or line[:1] == ".":
            cells[-1] += " " + _cell_text(line)
            continue
        elif not _RULE.match(line):
            yield from _finished_row(cells)
            cells = [""]
        else:
            continue
        first, *more = line.split(separator)
        cells[-1] += first
        cells += more
        if cells[-1].strip() == "T{":
            in_block, cells[-1] = True, ""
    yield from _finished_row(cells)


def _finished_row(cells: list[str]) -> Iterator[list[str]]:
    texts = [_cell(cell) for cell in cells]
    if any(texts):
        yield texts


def _cell(cell: str) -> str:
    text = cell.strip()
    return "" if text in ("\\^", "_", "\\_", "=") else " ".join(plain(text.removesuffix("T{")).split())


def _separator_and_data(lines: Sequence[str]) -> tuple[str, list[str]]:
    """Return the cell separator, and the lines below the table's options and format."""
    separator = "\t"
    kept: list[str] = []
    in_format, first = True, True
    for line in lines:
        stripped = line.strip()
        if first and stripped.endswith(";"):
            found = _SEPARATOR.search(stripped)
            separator = found[1] if found else separator
        elif in_format:
            in_format = not stripped.endswith(".")
        elif stripped == ".T&":
            in_format = True
        else:
            kept.append(line)
        first = first and not stripped
    return separator, kept


def _cell_text(line: str) -> str:
    """Return the text of a line inside a cell; of a request, its arguments."""
    found = _FIRST_MACRO.match(line)
    if not found:
        return "" if line[:1] in (".", "'") else line
    if found[1] in _IGNORED:
        return ""
    rest = line[found.end() :]
    return re.sub(r'"|(?<!\\)[ \t]+', "", rest) if found[1] in ("BR", "BI", "IB", "IR", "RB", "RI") else rest.replace('"', "")
