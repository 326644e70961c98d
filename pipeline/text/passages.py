"""The text format in which every page is stored, its blocks, and its passages: what is ranked, quoted and shown. Leaf module.

Documents of all kinds (HTML, markdown, PDF, plain text) are stored as::

    # Title of the document

    A paragraph on one line.

    ## A heading {#its-anchor}

    - a list item on one line
    - another

    ```
    code, unchanged
    ```

    | a table row | cells separated by bars |

One blank line separates two blocks. There is no blank line between adjacent list items, nor between adjacent table rows.
A heading's anchor is the fragment that addresses it in the original (an HTML id, or the slug of the heading).

A passage joins adjacent blocks of one section up to about 80 words, and goes to the end of its thought: what introduces a list, a
table or code stays with it, a list is whole up to 250 words, a few words at a section's end join what is before. A longer block
is split between sentences, code between lines. The text is a verbatim part of the stored page (apart from white space), with the
marks of list items and table rows. A table's header, or the line that introduces a list, is kept with the passage as its
``lead``, also verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal

from pipeline.text.cleaning import normalised
from pipeline.text.model_orders import order_finder
from pipeline.text.words import is_unspaced, split_sentences, word_count

_LITTLE = 0.5  # of what a reader sees; a page of which less is stored is named
BlockKind = Literal["heading", "paragraph", "item", "code", "row"]

_HEADING = re.compile(r"(#{1,6}) (.*?)(?: \{#([^{}\s]+)\})?\Z")


_STARTS: dict[str, BlockKind] = {"```": "code", "#": "heading", "- ": "item", "| ": "row"}


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a page.

    ``heading`` and ``anchor`` are those of the nearest heading at or above the block ("" before the first);
    ``path`` holds the headings from the outermost to that one; ``level`` is 1 to 6 for a heading, else 0.
    """

    kind: BlockKind
    text: str
    heading: str
    anchor: str
    path: tuple[str, ...]
    level: int = 0


def blocks(text: str) -> Iterator[Block]:
    """Yield the blocks of a stored page's text in order. Accepts any text; an unclosed code fence ends with the text."""
    trail: list[tuple[int, str, str]] = []
    heading, anchor = "", ""
    path: tuple[str, ...] = ()
    for kind, body in _raw_blocks(text):
        level = 0
        if kind == "heading" and (found := _HEADING.match(body)):
            level, body = len(found[1]), found[2].strip()
            trail = [entry for entry in trail if entry[0] < level] + [(level, body, found[3] or "")]
            heading, anchor, path = body, found[3] or "", tuple(entry[1] for entry in trail)
        yield Block(kind, body, heading, anchor, path, level)


def what_is_missing(visible: int, stored: int, empty_pages: int) -> str:
    """Return what the stored text of a source lacks: most of its ``visible`` words, or pages of a PDF; "" if it is whole."""
    parts = [f"only {stored:,} of its {visible:,} words are stored"] if stored < _LITTLE * visible else []
    if empty_pages:
        parts.append(f"{empty_pages:,} of its pages hold" if empty_pages > 1 else "one of its pages holds")
        parts[-1] += " no text (text recognition would read them)"
    return "; ".join(parts)


def _raw_blocks(text: str) -> Iterator[tuple[BlockKind, str]]:
    paragraph: list[str] = []
    code: list[str] | None = None
    for line in text.split("\n"):
        if code is not None:
            if line.startswith("```"):
                yield "code", "\n".join(code)
                code = None
            else:
                code.append(line)
            continue
        kind: BlockKind | None = next((kind for start, kind in _STARTS.items() if line.startswith(start)), "paragraph")
        if kind == "heading" and not _HEADING.match(line):
            kind = "paragraph"
        kind = kind if line.strip() else None
        if kind == "paragraph":
            paragraph.append(line)
            continue
        if paragraph:
            yield "paragraph", " ".join(paragraph)
            paragraph = []
        if kind == "code":
            code = []
        elif kind is not None:
            yield kind, line[2:] if kind == "item" else line
    if paragraph:
        yield "paragraph", " ".join(paragraph)
    if code:
        yield "code", "\n".join(code)


USUAL = 80  # words at which a passage is closed
LARGEST = 130  # words that a passage of several blocks never exceeds
LONGEST_LIST = 250  # words of a list that is kept whole, and of an introduction with what it introduces
_LONGEST_LEAD = 60  # words
_SHORT = 25  # words
_LONGEST_PART = 200  # signs of a sentence in a script without blanks
_ENDS, _CLOSERS = frozenset(".!?:;…。！？"), "\"'”’»)]*_`"


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a page.

    ``path`` holds the page's title and the headings down to the nearest one; ``anchor`` is that of the nearest. ``start`` is its
    offset in the ``normalised`` page, -1 where the text does not occur there as it is.
    """

    text: str
    lead: str
    path: tuple[str, ...]
    anchor: str
    start: int = -1

    @property
    def body(self) -> str:
        """The lead and the text."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text

    @property
    def headings(self) -> str:
        """The title and the headings as one text."""
        return " / ".join(self.path)


@dataclass(slots=True)
class _Piece:
    """A block of the page, or a part of a long one, as a passage holds it, and its number of words.

    ``lead`` is the table's header or the introduction that it needs where it begins a passage. ``run`` counts the words of the
    list or table that it begins, else it is 0.
    """

    kind: str
    text: str
    words: int
    lead: str = ""
    run: int = 0


def statements(text: str) -> Iterator[tuple[BlockKind, str]]:
    """Yield the least parts of a text that say something, each with the kind of its block: sentences, rows, lines of code."""
    for block in blocks(text):
        if block.kind in ("code", "row"):
            yield from ((block.kind, line.strip()) for line in block.text.split("\n"))
        elif block.kind != "heading":
            yield from ((block.kind, one.strip()) for one in split_sentences(block.text))


def without_open_end(text: str) -> str:
    """Return a passage's text without a last sentence that only introduces what is not in it ("The options are:").

    "" if there is nothing else.
    """
    kept = text.rstrip()
    before, _, last = kept.rpartition("\n")
    if not kept.endswith(":") or last.startswith(("- ", "| ", "```")):
        return kept
    return "\n".join(part for part in (before, last.removesuffix(split_sentences(last)[-1])) if part.strip()).rstrip()


@lru_cache(maxsize=48)
def passages(text: str) -> tuple[Passage, ...]:
    """Return the passages of a stored page's ``text`` in order, without those that repeat another's letters and digits.

    A short one repeats only what stands under the same heading. Blocks that give orders to language models are left out.
    """
    found: list[Passage] = []
    seen: set[tuple[str, str]] = set()
    page, at = normalised(text), 0
    for section in _sections(text):
        path, anchor = section[0].path, section[0].anchor
        at = max(at, page.find(normalised(path[-1]), at)) if path else at
        for pieces in _grouped(section):
            lines = [pieces[0].text]
            for before, piece in pairwise(pieces):
                lines += [piece.text] if before.kind == piece.kind and piece.kind in ("item", "row") else ["", piece.text]
            body, lead = "\n".join(lines), pieces[0].lead
            letters = "".join(filter(str.isalnum, body)).casefold()
            key = (section[0].heading if word_count(body) <= _SHORT else "", letters)
            if letters and key not in seen:
                seen.add(key)
                said = normalised(body)
                start = page.find(said, at)
                at = start + len(said) if start >= 0 else at
                found.append(Passage(body, "" if lead in pieces[0].text else lead, path, anchor, start))
    marks = sum(line.startswith("```") for line in text.split("\n"))
    if found and found[-1].text.endswith("\n```") and marks % 2:  # code that nothing closes: no passage may end with its mark
        found[-1] = replace(found[-1], text=found[-1].text.removesuffix("\n```"))
    return tuple(found)


def _sections(text: str) -> Iterator[list[Block]]:
    """Yield the sections of a page that have more than their heading, cut where a block gives orders to a model."""
    section: list[Block] = []
    gives_orders = order_finder(text)
    for block in blocks(text):
        is_heading, is_order = block.kind == "heading", block.kind != "heading" and gives_orders(block.text)
        if is_heading or is_order:  # an order states no fact, and what is around it must not stand side by side
            if any(one.kind != "heading" for one in section):
                yield section
            section = [block] if is_heading else [one for one in section[:1] if one.kind == "heading"]
        else:
            section.append(block)
    if any(one.kind != "heading" for one in section):
        yield section


def _grouped(section: Sequence[Block]) -> Iterator[list[_Piece]]:
    """Yield the pieces of each passage of a section. A last piece that leans on what follows it moves to the next passage.

    A few words at the end of a section are no passage of their own, if there is room for them in the one before.
    """
    before, held = list[_Piece](), list[_Piece]()
    for piece in _pieces(section):
        if held and not _fits(held, piece):
            last = held[-1]
            leans = _introduces(last, piece) and last.words + piece.words <= LARGEST
            moved = [held.pop()] if len(held) > 1 and leans else []
            if before:
                yield before
            before, held = held, moved
        held.append(piece)
    rest = sum(one.words for one in held)
    if before and rest <= _SHORT and rest + sum(one.words for one in before) <= LARGEST:
        before, held = [*before, *held], []
    yield from filter(None, (before, held))


def _pieces(section: Sequence[Block]) -> Iterator[_Piece]:
    """Yield a section's blocks as pieces; a long one in parts, between sentences or lines, the first of them with the lead."""
    header = introduction = previous = ""
    for place, block in enumerate(section):
        kind, words = block.kind, word_count(block.text)
        if kind == "heading":
            continue
        if kind == "paragraph":
            last = split_sentences(block.text)[-1:] if block.text.rstrip().endswith(":") else []
            introduction = last[0] if last and word_count(last[0]) <= _LONGEST_LEAD else ""
        elif kind == "row" and previous != "row":
            header = block.text if words <= _LONGEST_LEAD else ""
        lead = {"paragraph": "", "row": header}.get(kind, introduction)
        run = 0
        if kind in ("item", "row") and kind != previous:
            same = next(group for _, group in groupby(section[place:], key=lambda one: one.kind))
            run = sum(word_count(one.text) for one in same)
        previous = kind
        start, end = {"item": ("- ", ""), "code": ("```\n", "\n```")}.get(kind, ("", ""))
        if words <= LARGEST or kind == "row":
            yield _Piece(kind, f"{start}{block.text}{end}", words, lead, run)
            continue
        glue = "\n" if kind == "code" else "" if is_unspaced(block.text) else " "
        parts = [glue.join(part) for part in _parts(block.text.split("\n") if kind == "code" else split_sentences(block.text))]
        parts[0], parts[-1] = f"{start}{parts[0]}", f"{parts[-1]}{end}"
        for number, part in enumerate(parts):
            yield _Piece(kind, part, word_count(part), "" if number else lead)


def _parts(lines: Iterable[str]) -> Iterator[list[str]]:
    """Yield runs of sentences of about ``USUAL`` words; a sentence that refers to the one before it stays with it.

    A sentence that is too long is cut at blanks, or where there are none anywhere.
    """
    run: list[str] = []
    size = 0
    for line in lines:
        pieces = [line]
        if word_count(line) > LARGEST:
            words = line.split(" ")
            pieces = [" ".join(words[start : start + USUAL]) for start in range(0, len(words), USUAL)]
            if is_unspaced(line):
                pieces = [line[start : start + _LONGEST_PART] for start in range(0, len(line), _LONGEST_PART)]
        for piece in pieces:
            count = word_count(piece)
            if run and size + count > USUAL:
                yield run
                run, size = [], 0
            run.append(piece)
            size += count
    yield run


def _introduces(last: _Piece, piece: _Piece) -> bool:
    """Return whether ``last`` is read with what follows it: it ends with a colon, its sentence ends in code, or it is a few words
    before a list, a table or code ("The major differences are twofold.").
    """
    text = last.text.rstrip()
    if last.kind == "item":
        return piece.kind == "item" and text.endswith(":")
    announces = text.endswith(":") or (piece.kind == "code" and text.rstrip(_CLOSERS)[-1:] not in _ENDS)
    return last.kind == "paragraph" and (announces or (piece.kind in ("item", "row", "code") and last.words <= _SHORT))


def _fits(held: Sequence[_Piece], piece: _Piece) -> bool:
    """Return whether a piece goes into the passage with those that it ``held`` so far."""
    last, size = held[-1], sum(one.words for one in held)
    if _introduces(last, piece):  # later rows or items may go to the next passage
        return size + piece.words <= (LONGEST_LIST if len(held) == 1 else LARGEST)
    if len(held) == 1 and last.kind == piece.kind == "paragraph" and size <= _SHORT:
        return size + piece.words <= LARGEST
    if piece.kind == last.kind and piece.kind in ("item", "row"):
        run = next((one.run for one in held if one.kind == "item" and one.run), 0)  # of the list that begins in the passage
        return size + piece.words <= (LONGEST_LIST if 0 < run <= LONGEST_LIST else LARGEST)
    return size + max(piece.words, min(piece.run, USUAL)) <= USUAL
