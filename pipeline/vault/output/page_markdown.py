"""A quoted stretch of a source, in the format of ``page_format``, as Markdown: lists, tables and code are such again.

Every word goes through ``inert``, so a passage does nothing in a vault, whatever it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipeline.text.normalise import clean, one_line
from pipeline.text.page_format import Block, BlockKind, blocks
from pipeline.text.ranking.passages import is_open_item
from pipeline.vault.output.escaping import Inert, Link, before_space, fenced, inert

OMITTED = "[…]"
_CODE_LINE = re.compile(r"[ \t]+\S|.*[{};\\]\s*\Z")
_MOST_CELLS = 40
_ENDS_SENTENCE = re.compile(r"[.!?:…][\"'”’»)\]]{0,3}\Z")


@dataclass(frozen=True, slots=True)
class Passage:
    """A whole stretch of a source. ``lead`` is what it leans on ("" for nothing), ``citations`` its one numbered link or none.

    ``place`` leads to the quote in the source's note and names the headings above it; ``also`` are the numbers of other sources
    that say the same; ``standing`` is ``disputed`` or "", ``date`` as the page says it, ``rating`` useful,
    wrong or "".
    """

    text: str
    citations: tuple[Link, ...]
    lead: str
    place: Link
    also: tuple[Link, ...] = ()
    standing: str = ""
    date: str = ""
    rating: str = ""

    @property
    def is_passage(self) -> bool:
        """Always true: templates distinguish it from a sentence by this."""
        return True


def blocks_of(text: str) -> tuple[Block, ...]:
    """Return the blocks of a passage; lines of code that were cut off from their fence are code again."""
    lines = text.strip("\n").split("\n")
    if len(lines) > 1 and "```" not in text and all(lines) and any(_CODE_LINE.match(line) for line in lines[:-1]):
        kinds = {line[:2] for line in lines}
        if not kinds & {"- ", "| "}:
            return (Block("code", "\n".join(lines), "", "", ()),)
    marks = [number for number, line in enumerate(lines) if line.startswith("```")]
    is_cut = len(marks) % 2 and marks[0] and lines[marks[0] - 1].strip()  # long code whose beginning is in another passage
    return tuple(blocks("\n".join(["```", *lines]) if is_cut else text))


def is_plain(text: str) -> bool:
    """Return whether a quote is one paragraph and nothing else."""
    return "\n" not in text.strip() and [block.kind for block in blocks_of(text)] in (["paragraph"], [])


def claim_beside(claim: str, quote: str) -> str:
    """Return a fact's claim on one line; "" where it is the quote itself, white space aside."""
    return "" if claim.split() == quote.split() else flat(claim)


def statement(claim: str, quote: str) -> str:
    """Return what a fact says, on one line."""
    return claim_beside(claim, quote) or flat(quote)


def flat(text: str, limit: int = 0) -> str:
    """Return a quote on one line, without the signs of lists, tables and code; at most ``limit`` characters if that is not 0."""
    words = text if is_plain(text) else " ".join(filter(None, _flattened(blocks_of(text))))
    return one_line(words, limit) if limit else " ".join(clean(words).split())


def _flattened(found: Sequence[Block]) -> Iterable[str]:
    for kind, same in groupby(found, key=lambda block: block.kind):
        if kind == "row":
            yield "; ".join(" · ".join(filter(None, cells(block.text))) for block in same)
        elif kind == "item":
            yield _run_on([block.text.strip() for block in same])
        else:
            yield " ".join(block.text for block in same)


def _run_on(items: Sequence[str]) -> str:
    """Return the items of a list on one line: one that ends a sentence keeps its mark, behind another stands a semicolon."""
    ends = (_ENDS_SENTENCE.search(item) is not None for item in items[:-1])
    joined = "".join(f"{item.rstrip(';,')}{' ' if end else '; '}" for item, end in zip(items[:-1], ends, strict=True))
    return joined + items[-1].rstrip(";")


def cells(row: str) -> list[str]:
    """Return the cells of a table's row."""
    inner = row.strip().removeprefix("|").removesuffix("|")
    return [cell.strip() for cell in inner.split(" | ", _MOST_CELLS - 1)]


def markdown(text: str, lead: str = "", mark: Link | None = None) -> Inert:
    """Return a passage as Markdown lines, its lead first and ``mark`` at its end; behind code a mark has a line of its own.

    ``OMITTED`` stands where items of a list are left out: behind its introduction, if that is the lead, and behind "…; and".
    """
    groups = [(kind, [block.text for block in same]) for kind, same in groupby(blocks_of(text), key=lambda block: block.kind)]
    header = lead if lead.startswith("| ") and groups and groups[0][0] == "row" else ""
    parts = [[(before_space if groups else inert)(flat(lead))]] if lead and not header else []
    if groups and groups[0][0] == "item" and lead.rstrip().endswith(":"):
        groups[0][1].insert(0, OMITTED)
    if groups and groups[-1][0] == "item" and is_open_item(groups[-1][1][-1]):
        groups[-1][1][-1] += f" {OMITTED}"
    for number, (kind, texts) in enumerate(groups):
        at_end = number == len(groups) - 1
        parts.append(_lines(kind, [header, *texts] if header and not number else texts, mark if at_end else None, at_end))
    return Inert("\n\n".join("\n".join(part) for part in parts if part))


def _lines(kind: BlockKind, texts: list[str], mark: Link | None, at_end: bool) -> list[Inert]:
    sign = str(mark.inline) if mark else ""
    if kind == "code":
        code = fenced("\n".join(texts))
        return [*code, Inert(""), mark.inline] if mark else code
    if kind == "row":
        return _table([cells(text) for text in texts], mark)
    if kind == "item":
        items = [f"- {text or '…'}" for text in _shown(texts, at_end)]
        return [*map(Inert, items[:-1]), Inert(items[-1] + sign)]
    paragraphs = _shown([text for text in texts if text.strip()] or [""], at_end)
    lines = [Inert(line) for text in paragraphs[:-1] for line in (text, "")]
    return [*lines, Inert(paragraphs[-1] + sign)]


def _shown(texts: Sequence[str], at_end: bool) -> list[Inert]:
    """Texts on lines of their own; ``at_end``: something may follow the last on its line."""
    return [*map(before_space, texts[:-1]), (inert if at_end else before_space)(texts[-1])]


def _table(rows: list[list[str]], mark: Link | None) -> list[Inert]:
    width = max(map(len, rows))
    inside = [[str(inert(cell)) for cell in row] + [""] * (width - len(row)) for row in rows]
    if mark:
        inside[-1][-1] += mark.cell
    drawn = [f"| {' | '.join(row)} |" for row in inside]
    return [Inert(line) for line in (drawn[0], f"|{' --- |' * width}", *drawn[1:])]


def within(text: str, prefix: str) -> Inert:
    """Return Markdown lines inside quotes or lists: each behind ``prefix``."""
    return Inert("\n".join(f"{prefix} {line}".rstrip() for line in text.split("\n")))
