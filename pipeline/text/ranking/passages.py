"""A page cut into passages: the unit that is ranked, quoted and shown.

A passage is one to some adjacent blocks of one section and one term, joined up to about 80 words; a longer block is cut at the
ends of sentences, code at its lines. Its text is a verbatim stretch of the stored page (white space aside), marks of items and
rows included. What it leans on, a table's header or the line that introduces a list, goes with it as its ``lead``, verbatim too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise, takewhile

from pipeline.text.page_format import Block, blocks
from pipeline.text.sentences import leans, split

USUAL = 80  # words: a passage is closed once it holds as many
LARGEST = 130  # words that no block may lengthen a passage beyond
_LONGEST_LEAD = 60  # words
_LONGEST_TERM = 12  # words
_SHORT = 25  # words of a description that is shown behind its term
# Sections that hold no statement on their page's subject.
_SAYS_NOTHING = re.compile(
    r"see also|authors?|copyright|colophon|reporting bugs|acknowledge?ments?|contributors|credits|license|index"
    r"|table of contents|further reading|references|bibliography",
    re.IGNORECASE,
)
_SIGNS = 40  # characters a word, on average, from which a text is one without spaces
_UNSPACED = re.compile(r".{1,300}?(?:[。！？；]|\Z)|.{1,300}", re.DOTALL)
_LONGEST_LINE = 4_000  # characters of a line of code that are kept
_SCRAP = re.compile(
    r"(?:(?:table|figure|fig\.|example|listing) \d[\w.-]*[.:]?\s.{0,120}"  # a caption alone
    r"|see also\b.{0,60}"
    r"|\(?(?:back to top|next|previous|prev|up|home|contents|index|top|source)\W*"
    r"|\((?:source|see)\b.{0,90}\)"
    r"|[\W\d_]*)\Z",
    re.IGNORECASE | re.DOTALL,
)
# A caption, or an address alone: it belongs to no passage's text.
_SKIPPED = re.compile(
    r"(?:(?:Table|Figure|Fig\.|Example|Listing) [A-Z]?\.?\d[\w.-]*[.:]?(?: .{0,100})?|(?:→|-->|see:?)? ?https?://\S+)\Z"
)
_FURNITURE = re.compile(
    r"©|\bcopyright \(?c?\)? ?\d{4}|all rights reserved|\b(?:accept|use of) cookies|privacy policy"
    r"|skip to (?:main )?content|table of contents"
    r"|^(?:submit correction|report (?:a )?bug|edit this page|last (?:updated|modified) on)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a page.

    ``path`` are the page's title and the headings down to the nearest; ``anchor`` the nearest heading's. ``opens``: nothing
    stands between that heading and it. ``place`` counts the page's passages from 0.
    """

    text: str
    lead: str
    path: tuple[str, ...]
    anchor: str
    opens: bool
    place: int

    @property
    def body(self) -> str:
        """Return lead and text."""
        return f"{self.lead}\n{self.text}" if self.lead else self.text

    @property
    def headings(self) -> str:
        """Return title and headings as one text."""
        return " / ".join(self.path)


@dataclass(slots=True)
class _Piece:
    """A block, or a part of a long one, as it stands in the page; ``lead`` is what it leans on.

    ``run`` are the words of the rows or items that it opens, itself included, 0 for any other.
    """

    kind: str
    text: str
    words: int
    lead: str
    leans: bool
    part: bool = False
    run: int = 0


def text_key(body: str, heading: str) -> str:
    """Return what tells a passage from another: its letters and digits; of a short one also the term that it describes."""
    return re.sub(r"[\W_]+", "", f"{heading if _count(body) <= _SHORT else ''} {body}").casefold()


@lru_cache(maxsize=48)
def passages(text: str) -> tuple[Passage, ...]:
    """Return the passages of a stored page's ``text`` in order; none twice, letters and digits alone compared."""
    found: list[Passage] = []
    seen: set[str] = set()
    for section in _sections(text):
        if section[0].kind == "heading" and _SAYS_NOTHING.fullmatch(section[0].text.strip()):
            continue
        opens = True
        for body, lead in _joined(_pieces(section)):
            key = text_key(body, section[0].heading)
            if key and key not in seen and not _is_scrap(body):
                seen.add(key)
                head = section[0]
                named = _named(head, body) if opens and not lead else lead
                found.append(Passage(body, named, head.path, head.anchor, opens, len(found)))
            opens = False
    return tuple(found)


def _named(head: Block, body: str) -> str:
    """Return the term that a short description says something of: it makes no sense without it."""
    return head.text.strip() if head.level > 1 and _count(body) <= _SHORT and _count(head.text) <= _LONGEST_TERM else ""


def _is_scrap(body: str) -> bool:
    """Tell whether a passage says nothing: a caption, a link to elsewhere, furniture, no letters."""
    if len(body) > 400:
        return False
    return _SCRAP.match(body.lstrip("-| ")) is not None or (len(body) < 250 and _FURNITURE.search(body) is not None)


def _sections(text: str) -> Iterator[list[Block]]:
    section: list[Block] = []
    for block in blocks(text):
        if block.kind == "heading":
            if len(section) > 1 or (section and section[0].kind != "heading"):
                yield section
            section = [block]
        else:
            section.append(block)
    if section and (len(section) > 1 or section[0].kind != "heading"):
        yield section


def _pieces(section: Sequence[Block]) -> Iterator[_Piece]:
    """Yield a section's blocks, long ones in parts, each with what it leans on."""
    header = introduction = previous = ""
    for place, block in enumerate(section):
        if block.kind == "heading":
            continue
        if block.kind == "paragraph" and _SKIPPED.match(block.text):
            introduction, previous = block.text, ""
            yield _Piece("break", "", 0, "", False)
            continue
        run = _run(section, place) if block.kind in ("item", "row") and block.kind != previous else 0
        if block.kind == "row" and previous != "row":
            header = block.text
        if block.kind == "paragraph":
            introduction = block.text if block.text.rstrip().endswith(":") else ""
        lead = {"row": header if previous == "row" else "", "item": introduction, "code": introduction}.get(block.kind, "")
        previous = block.kind
        yield from _parts(block, lead if _count(lead) <= _LONGEST_LEAD else _end_of(lead), run)


def _run(section: Sequence[Block], start: int) -> int:
    """Return the words of the rows or items that stand together from ``start`` on."""
    together = takewhile(lambda place: section[place].kind == section[start].kind, range(start, len(section)))
    return sum(_count(section[place].text) for place in together)


def _end_of(lead: str) -> str:
    last = split(lead)[-1:] or [""]
    return last[0] if _count(last[0]) <= _LONGEST_LEAD else ""


def _parts(block: Block, lead: str, run: int) -> Iterator[_Piece]:
    words = _count(block.text)
    if words <= LARGEST or block.kind == "row":
        yield _Piece(block.kind, _as_in_page(block), words, lead, _leans(block), run=run)
        return
    lines = block.text.split("\n") if block.kind == "code" else split(block.text)
    glue = "\n" if block.kind == "code" else "" if _is_unspaced(block.text) else " "
    runs = list(_runs([piece for line in lines for piece in _chopped(line)]))
    for number, together in enumerate(runs):
        part = glue.join(together)
        if number == 0 and block.kind in ("item", "code"):
            part = ("- " if block.kind == "item" else "```\n") + part
        if block.kind == "code" and number == len(runs) - 1:
            part += "\n```"
        yield _Piece(block.kind, part, _count(part), lead if number == 0 else "", number > 0 and leans(part), True)


def _leans(block: Block) -> bool:
    return block.kind == "paragraph" and leans(block.text)


def _as_in_page(block: Block) -> str:
    if block.kind == "item":
        return f"- {block.text}"
    return f"```\n{block.text}\n```" if block.kind == "code" else block.text


def _runs(pieces: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of sentences of about the usual length; a sentence that leans on the one before it stays with it."""
    run: list[str] = []
    size = 0
    for piece in pieces:
        words = _count(piece)
        if run and size + words > USUAL and not (leans(piece) and size + words <= LARGEST):
            yield run
            run, size = [], 0
        run.append(piece)
        size += words
    if run:
        yield run


def _is_unspaced(text: str) -> bool:
    """Tell whether a text is in a script that puts no spaces between words."""
    return (text.count(" ") + 1) * _SIGNS < len(text)


def _chopped(line: str) -> Iterator[str]:
    """Yield a line that is too long in parts, cut at spaces, or in a script without spaces at the ends of its sentences."""
    if _count(line) <= LARGEST:
        yield line
        return
    parts = line[: _LONGEST_LINE * 100].split(" ")
    if _is_unspaced(line):
        yield from (found[0] for found in _UNSPACED.finditer(line[: _LONGEST_LINE * 100]))
        return
    for start in range(0, len(parts), USUAL):
        yield " ".join(parts[start : start + USUAL])


def _joined(pieces: Iterator[_Piece]) -> Iterator[tuple[str, str]]:
    """Yield the texts of a section's passages, each with its lead."""
    held: list[_Piece] = []
    size = 0
    for piece in pieces:
        if held and (piece.kind == "break" or not _belongs(held, size, piece)):
            moved = [held.pop()] if len(held) > 1 and _goes_on(held[-1], piece) else []
            yield _text_of(held), _lead_of(held)
            held, size = moved, sum(one.words for one in moved)
        if piece.kind != "break":
            held.append(piece)
            size += piece.words
    if held:
        yield _text_of(held), _lead_of(held)


def _goes_on(last: _Piece, piece: _Piece) -> bool:
    """Tell whether the last block of a full passage is to open the next one: it introduces it, or is pointed back to."""
    introduces = last.kind == "paragraph" and last.text.rstrip().endswith(":")
    return piece.kind != "break" and (introduces or piece.leans) and last.words + piece.words <= LARGEST


def _belongs(held: Sequence[_Piece], size: int, piece: _Piece) -> bool:
    introduces = held[-1].kind == "paragraph" and held[-1].text.rstrip().endswith(":")
    # A line that introduces goes with what it introduces; its rows or items may go on behind.
    if introduces or piece.leans:
        return size + piece.words <= LARGEST
    if held[-1].part and piece.part:
        return False
    if piece.kind == held[-1].kind and piece.kind in ("item", "row"):
        return size + piece.words <= LARGEST  # a list is not cut where it can be shown whole
    return size + max(piece.words, min(piece.run, USUAL)) <= USUAL


def _lead_of(held: Sequence[_Piece]) -> str:
    return held[0].lead if held[0].lead and held[0].lead not in held[0].text else ""


def _text_of(held: Sequence[_Piece]) -> str:
    lines = [held[0].text]
    for before, piece in pairwise(held):
        run = before.kind == piece.kind and piece.kind in ("item", "row")
        lines += [piece.text] if run else ["", piece.text]
    return "\n".join(lines)


def _count(text: str) -> int:
    # A script without spaces has no words to count: its bytes say how much there is.
    return max(len(text.split()), len(text.encode("utf-8", "replace")) // 12)
