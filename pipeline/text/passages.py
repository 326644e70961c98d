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
table or code stays with it, and a list is whole up to 250 words, or the passage says which items it holds. A longer block is
split between sentences, code between lines. The text is a verbatim part of the stored page (apart from white space), with the
marks of list items and table rows. A table's header, or the line that introduces a list, is kept with the passage as its
``lead``, also verbatim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby, pairwise
from typing import Literal

from pipeline.text.model_orders import order_finder
from pipeline.text.normalise import normalised
from pipeline.text.words import is_unspaced, points_back, split_sentences, word_count

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
_LONGEST_LEAD = 60  # words
_LONGEST_TERM = 12  # words
_SHORT = 25  # words of a description that is shown after its term
LONGEST_LIST = 250  # words of a list that is kept whole, and of an introduction with what it introduces
_ROOM_FOR_ITEMS = 40  # words that must be left in a passage in which an item introduces others
# A term of a program: an option, a name in code, a setting, a file, or some words in lower case.
_TERM = re.compile(r"--?\w|\S*\w[_=]|\S*\w\(|[~/]\S+(?: \(|,|\Z)|[a-z][\w.-]*(?:,? (?:[/|] )?[\w.\[\]-]+){0,3}\Z")
# A question, or the number of one, as headings of collections of questions have it.
_ASKED = re.compile(r".*\?\Z|(?:\d{1,3}\.\d{1,3}[.):]?|Q(?:uestion)?(?: ?\d{1,3})?[.:)]) .*[.:]\Z", re.DOTALL)
_OPEN_ITEM = tuple(f"{mark}{word}" for mark in ";," for word in ("", " and", " or", " and/or", " und", " oder"))
_ENDS, _CLOSERS = frozenset(".!?:;…。！？"), "\"'”’»)]*_`"
# Sections that say nothing about the subject of their page.
_IGNORED_SECTIONS = re.compile(
    r"see also|authors?|copyright|colophon|reporting bugs|acknowledge?ments?|contributors|credits|license|index"
    r"|table of contents|further reading|references|bibliography",
    re.IGNORECASE,
)
# The sentences of a script without blanks, which nothing else parts; at most 300 signs.
_UNSPACED = re.compile(r".{1,300}?(?:[。！？；]|\Z)|.{1,300}", re.DOTALL)
_NOT_ALPHANUMERIC = dict.fromkeys(code for code in range(128) if not chr(code).isalnum())
_LONGEST_LINE = 4_000  # characters of a line of code that are kept
# Passages that say nothing: they would stand first for a question that shares their words.
_SCRAP = re.compile(
    r"(?:(?:table|figure|fig\.|example|listing) \d[\w.-]*[.:]?\s.{0,120}"  # a caption alone
    r"|see also\b.{0,60}"
    r"|version [\d.]{1,12},? \w{3,12} \d{4}(?: https?://\S{1,200})?"  # under the title of a licence
    r"|\(?(?:back to top|next|previous|prev|up|home|contents|index|top|source)\W*"
    r"|\((?:source|see)\b.{0,90}\)"
    r"|[\W\d_]*)\Z",
    re.IGNORECASE | re.DOTALL,
)
# A caption or a bare address: it is left out of every passage.
_SKIPPED = re.compile(
    r"(?:(?:Table|Figure|Fig\.|Example|Listing) [A-Z]?\.?\d[\w.-]*[.:]?(?: .{0,100})?|(?:→|-->|see:?)? ?https?://\S+)\Z"
)
# Lines that stand on every page of a site; they are in the middle of texts, so no reader can name them.
_FURNITURE = re.compile(
    r"©|\bcopyright \(?c?\)? ?\d{4}|all rights reserved|\b(?:accept|use of) cookies|privacy policy"
    r"|skip to (?:main )?content|table of contents"
    r"|^(?:submit correction|report (?:a )?bug|edit this page|last (?:updated|modified) on)",
    re.IGNORECASE,
)
_OF_FURNITURE = (  # each match of the pattern has one of these
    "©", "copyright", "all rights", "cookies", "privacy", "skip to", "table of", "submit", "report", "edit this", "last ",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a page.

    ``path`` holds the page's title and the headings down to the nearest one; ``anchor`` is that of the nearest. ``opens``: the
    passage directly follows that heading. ``place`` counts the page's passages from 0. ``start`` and ``end`` are offsets in the
    ``normalised`` page, -1 where the text does not occur there as it is. ``items`` says which items of a list these are, if not
    all: "3 to 5 of 9".
    """

    text: str
    lead: str
    path: tuple[str, ...]
    anchor: str
    opens: bool
    place: int
    start: int = -1
    end: int = -1
    items: str = ""

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
    """A block of the page, or a part of a long one, verbatim; ``lead`` is the table header or introduction that it needs.

    ``part``: it is a part of a longer block. ``run`` counts the words of the rows or items that it starts, else 0. ``item``
    is its number in its list, from 1, and ``items`` the list's length; 0: it is no item.
    """

    kind: str
    text: str
    words: int
    lead: str
    points_back: bool
    part: bool = False
    run: int = 0
    item: int = 0
    items: int = 0


def without_open_end(text: str) -> str:
    """Return a passage's text without a last sentence that only introduces what is not in it ("The options are:").

    "" if there is nothing else.
    """
    kept = text.rstrip()
    if not kept.endswith(":"):
        return kept
    before, _, last = kept.rpartition("\n")
    sentences = split_sentences(last)
    if last.startswith(("- ", "| ", "```")):
        return kept
    return "\n".join(part for part in (before, last[: last.rfind(sentences[-1])]) if part.strip()).rstrip()


def text_key(body: str, heading: str) -> str:
    """Return the key by which duplicates are found: letters and digits of the passage; of a short one also its heading's."""
    text = f"{heading if word_count(body) <= _SHORT else ''} {body}"
    plain = text.translate(_NOT_ALPHANUMERIC) if text.isascii() else "".join(filter(str.isalnum, text))
    return plain.casefold()


@lru_cache(maxsize=48)
def passages(text: str) -> tuple[Passage, ...]:
    """Return the passages of a stored page's ``text`` in order, without those that repeat another's letters and digits.

    Blocks that give orders to language models are left out.
    """
    found: list[Passage] = []
    seen: set[str] = set()
    page, at = normalised(text), 0
    for section in _sections(text):
        if section[0].kind == "heading" and _IGNORED_SECTIONS.fullmatch(section[0].text.strip()):
            continue
        opens = True
        for body, lead, items in _joined_pieces(_pieces(section)):
            key = text_key(body, section[0].heading)
            if key and key not in seen and not _is_scrap(body):
                seen.add(key)
                head = section[0]
                named = _described_term(head, body) if opens and not lead else lead
                said = normalised(body)
                behind = page.find(normalised(head.path[-1]), at) if opens and head.path else at
                start = page.find(said, max(at, behind))
                end = at = start + len(said) if start >= 0 else at
                found.append(Passage(body, named, head.path, head.anchor, opens, len(found), start, end, items))
            opens = False
    marks = sum(line.startswith("```") for line in text.split("\n"))
    if found and found[-1].text.endswith("\n```") and marks % 2:  # code that nothing closes: no passage may end with its mark
        found[-1] = replace(found[-1], text=found[-1].text.removesuffix("\n```"))
    return tuple(found)


def _described_term(head: Block, body: str) -> str:
    """Return the heading if ``body`` makes no sense without it: a question, or a term that its description does not name."""
    name = head.text.strip()
    if head.level < 2 or word_count(name) > (_LONGEST_LEAD if _ASKED.match(name) else _LONGEST_TERM):
        return ""
    lacks_it = _TERM.match(name) and not body.startswith(name.split()[0])
    return name if lacks_it or _ASKED.match(name) or word_count(body) <= _SHORT else ""


def is_open_item(text: str) -> bool:
    """Return whether a list's item ends so that another must follow: "…; and"."""
    return text.rstrip().endswith(_OPEN_ITEM)


def _is_scrap(body: str) -> bool:
    """Return whether a passage has no content: a caption, a link, page furniture, or no letters."""
    if len(body) < 250 and any(word in body.casefold() for word in _OF_FURNITURE) and _FURNITURE.search(body):
        return True
    return len(body) <= 400 and _SCRAP.match(body.lstrip("-| ")) is not None


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


def _pieces(section: Sequence[Block]) -> Iterator[_Piece]:
    """Yield a section's blocks, long ones in parts, each with its lead."""
    header = introduction = opened = previous = ""
    item = items = 0
    for place, block in enumerate(section):
        if block.kind == "heading":
            continue
        before = section[place - 1].text.rstrip() if previous else ""
        if block.kind == "paragraph" and _SKIPPED.match(block.text) and not _completes(before, previous, block.text):
            introduction, previous = block.text, ""
            yield _Piece("break", "", 0, "", False)
            continue
        together: list[Block] = []
        if block.kind != previous:
            together = next(list(run) for _, run in groupby(section[place:], key=lambda one: one.kind))
        run = sum(word_count(one.text) for one in together) if block.kind in ("item", "row") else 0
        if block.kind == "row" and previous != "row":
            header = block.text
        if block.kind == "paragraph":
            introduction = block.text if block.text.rstrip().endswith(":") else ""
        if not block.kind == previous == "item":
            opened = ""
        elif before.endswith(":"):  # the item that introduces the items of a list in a list
            opened = before
        elif not is_open_item(before):
            opened = ""
        lead = {"row": header if previous == "row" else "", "item": opened or introduction, "code": introduction}.get(
            block.kind, ""
        )
        if block.kind == "item":
            item, items = (item + 1, items) if previous == "item" else (1, len(together))
        for piece in _block_parts(block, _end_of(lead) if lead and word_count(lead) > _LONGEST_LEAD else lead, run):
            piece.points_back |= _completes(before, previous, block.text)
            if block.kind == "item":
                piece.item, piece.items = item, items
            yield piece
        previous = block.kind


def _completes(before: str, kind: str, text: str) -> bool:
    """Return whether an address ends the sentence of the paragraph before it: "You may obtain a copy at"."""
    is_address = text.strip().lstrip("<").startswith(("http://", "https://")) and not any(map(str.isspace, text.strip()))
    return kind == "paragraph" and is_address and before.rstrip(_CLOSERS)[-1:] not in _ENDS


def _end_of(lead: str) -> str:
    last = split_sentences(lead)[-1:] or [""]
    return last[0] if word_count(last[0]) <= _LONGEST_LEAD else ""


def _block_parts(block: Block, lead: str, run: int) -> Iterator[_Piece]:
    words = word_count(block.text)
    if words <= LARGEST or block.kind == "row":
        refers_back = block.kind == "paragraph" and points_back(block.text)
        written = {"item": f"- {block.text}", "code": f"```\n{block.text}\n```"}.get(block.kind, block.text)
        yield _Piece(block.kind, written, words, lead, refers_back, run=run)
        return
    lines = block.text.split("\n") if block.kind == "code" else split_sentences(block.text)
    glue = "\n" if block.kind == "code" else "" if is_unspaced(block.text) else " "
    runs = list(_sentence_runs([piece for line in lines for piece in _line_parts(line)]))
    for number, together in enumerate(runs):
        part = glue.join(together)
        if number == 0 and block.kind in ("item", "code"):
            part = ("- " if block.kind == "item" else "```\n") + part
        if block.kind == "code" and number == len(runs) - 1:
            part += "\n```"
        yield _Piece(block.kind, part, word_count(part), lead if number == 0 else "", number > 0 and points_back(part), True)


def _sentence_runs(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of sentences of about ``USUAL`` words; a sentence that refers to the one before it stays with it."""
    run: list[str] = []
    size = 0
    for piece in pieces:
        words = word_count(piece)
        if run and size + words > USUAL and not (points_back(piece) and size + words <= LARGEST):
            yield run
            run, size = [], 0
        run.append(piece)
        size += words
    if run:
        yield run


def _line_parts(line: str) -> Iterator[str]:
    """Yield a line that is too long in parts, split at spaces; a script without spaces is split after sentences."""
    if word_count(line) <= LARGEST:
        yield line
        return
    parts = line[: _LONGEST_LINE * 100].split(" ")
    if is_unspaced(line):
        yield from (found[0] for found in _UNSPACED.finditer(line[: _LONGEST_LINE * 100]))
        return
    for start in range(0, len(parts), USUAL):
        yield " ".join(parts[start : start + USUAL])


def _joined_pieces(pieces: Iterator[_Piece]) -> Iterator[tuple[str, str, str]]:
    """Yield the texts of a section's passages, each with its lead, and which items of a list it holds."""
    held: list[_Piece] = []
    size = 0
    for piece in pieces:
        if held and (piece.kind == "break" or not _fits(held, size, piece)):
            last = held[-1]
            leans = piece.kind != "break" and (_introduces(last, piece) or piece.points_back)  # on the last block, which moves
            moved = [held.pop()] if len(held) > 1 and leans and last.words + piece.words <= LARGEST else []
            yield _text_of(held), _lead_of(held), _items_of(held)
            held, size = moved, sum(one.words for one in moved)
        if piece.kind != "break":
            held.append(piece)
            size += piece.words
    if held:
        yield _text_of(held), _lead_of(held), _items_of(held)


def _introduces(last: _Piece, piece: _Piece) -> bool:
    """Return whether ``last`` is read with what follows it: it ends with a colon, its sentence ends in code, or it is a few words
    before a list, a table or code ("The major differences are twofold.").
    """
    text = last.text.rstrip()
    if last.kind == "item":
        return piece.kind == "item" and text.endswith(":")
    announces = text.endswith(":") or (piece.kind == "code" and text.rstrip(_CLOSERS)[-1:] not in _ENDS)
    return last.kind == "paragraph" and (announces or (piece.kind in ("item", "row", "code") and last.words <= _SHORT))


def _fits(held: Sequence[_Piece], size: int, piece: _Piece) -> bool:
    # An introduction stays with what it introduces; later rows or items may go to the next passage.
    if _introduces(held[-1], piece):
        return size + piece.words <= (LONGEST_LIST if len(held) == 1 else LARGEST)
    if piece.points_back or (len(held) == 1 and held[0].kind == piece.kind == "paragraph" and size <= _SHORT):
        return size + piece.words <= LARGEST
    run = next((one.run for one in held if one.item == 1), 0)  # words of the list that begins in the passage
    if piece.kind == held[-1].kind == "item" and (is_open_item(held[-1].text) or 0 < run <= LONGEST_LIST):
        return size + piece.words <= LONGEST_LIST
    if held[-1].part and piece.part:
        return False
    if piece.kind == "item" and piece.text.rstrip().endswith(":") and size + piece.words > USUAL - _ROOM_FOR_ITEMS:
        return _introduces(held[-1], piece)
    if piece.kind == held[-1].kind and piece.kind in ("item", "row"):
        return size + piece.words <= LARGEST  # a list is kept whole where possible
    return size + max(piece.words, min(piece.run, USUAL)) <= USUAL


def _items_of(held: Sequence[_Piece]) -> str:
    """Return which items of their list these are: "3 to 5 of 9"; "" if they are all of them, or no items."""
    items = [piece for piece in held if piece.item]
    if not items or (items[0].item == 1 and items[-1].item == items[-1].items):
        return ""
    first, last = items[0].item, items[-1].item
    return f"{first} of {items[-1].items}" if first == last else f"{first} to {last} of {items[-1].items}"


def _lead_of(held: Sequence[_Piece]) -> str:
    return held[0].lead if held[0].lead and held[0].lead not in held[0].text else ""


def _text_of(held: Sequence[_Piece]) -> str:
    lines = [held[0].text]
    for before, piece in pairwise(held):
        run = before.kind == piece.kind and piece.kind in ("item", "row")
        lines += [piece.text] if run else ["", piece.text]
    return "\n".join(lines)
