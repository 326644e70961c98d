"""Building the blocks of a manual page: paragraphs gathered from lines, terms as headings of their own, indented parts."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.adapters.documents.page_writer import PageText, squash

LONGEST_TERM = 160
_BULLETS = frozenset("•·○□∙")
_PLAIN_BULLETS = frozenset("*+-–—o")
_BULLET = re.compile(r"[•·○□∙][ \t\xa0]*(\S.*)", re.DOTALL)
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.):]\)?\Z")
_NUMBERED = re.compile(r" ?(\d{1,3}\.)[ \t\xa0]+(\S.*)", re.DOTALL)
_ENDED = (".", ":", ";", "!", "?", ",")
_FEW_WORDS = 3
_DEEPEST = 8  # a page's headings have six levels


class _Level(NamedTuple):
    """An indented part: whether it belongs to a term, and whether that term goes on below it."""

    of_term: bool
    goes_on: bool


class Blocks:
    """Writes the blocks of one manual page.

    A term's heading is one level below what it stands in. Text that follows a list of terms and belongs to their section
    again gets the section's heading once more: it says nothing of the last term.
    """

    def __init__(self, page: PageText) -> None:
        self._page = page
        self._words: list[str] = []
        self._glue = True
        self._marked = False  # the paragraph begins with a mark of emphasis or an option: it may be a term
        self._code: list[str] | None = None
        self._is_item = False
        self._number = ""
        self._section = 0
        self._open = False
        self._around: list[_Level] = []
        self._terms_around = 0
        self._trail: list[tuple[int, str]] = []
        self._terms: list[str] = []  # terms that share one description, until it begins

    @property
    def in_code(self) -> bool:
        """Whether lines are kept as they are."""
        return self._code is not None

    def text(self, text: str, *, marked: bool = False, glued: bool = False) -> None:
        """Add a line of text; ``glued``: without a space to what follows."""
        if self._code is not None:
            self._to_code(self._code, text, glued)
            return
        if not self._words:
            self._marked = marked or text.startswith("-")
        if text:
            self._words += [text] if self._glue else [" ", text]
            self._glue = glued

    def _to_code(self, code: list[str], text: str, glued: bool) -> None:
        if self._glue and code:
            code[-1] += text
        else:
            code.append(text)
        self._glue = glued

    def glue(self, glued: bool) -> None:
        """Let no space stand before the next text, or one."""
        self._glue = glued or not self._words

    def end(self) -> None:
        """End the paragraph or the item; in code, nothing."""
        if self._code is not None:
            return
        text = squash("".join(self._words))
        is_item, number = self._is_item, self._number
        self._words, self._glue, self._is_item, self._number = [], True, False, ""
        if not text:
            self._is_item, self._number = is_item, number
            return
        self._ensure_place()
        bullet = _BULLET.match(text)
        if bullet:
            self._page.item(bullet[1])
        elif is_item or _NUMBERED.match(text):
            self._page.item(f"{number} {text}" if number else text)
        else:
            self._page.paragraph(text)

    def paragraph(self) -> None:
        """Begin a paragraph that belongs to no term of this depth."""
        if self._code is not None:
            self._code.append("")
            return
        self.end()
        self._open = self._is_item = False

    def heading(self, level: int, text: str) -> None:
        """Add a heading; it ends all that is open."""
        self.end_code()
        self.end()
        self._named()
        self._section, self._open, self._around, self._terms_around, self._is_item = level, False, [], 0, False
        self._name(level, text)

    def term(self, text: str, *, plain_bullets: bool = False) -> None:
        """Begin the description of a term; a bullet or a number in its place begins an item. "" goes on with what is open.

        ``plain_bullets``: a lone ``*``, ``+``, ``-`` or ``o`` is a bullet too, no term.
        """
        in_code = self.in_code
        self.end_code()
        self.end()
        text = squash(text)
        is_bullet = text in _BULLETS or (plain_bullets and text in _PLAIN_BULLETS)
        if is_bullet or _NUMBER.match(text):
            self._is_item, self._number = True, "" if is_bullet else text
        elif len(text) > LONGEST_TERM:
            self._ensure_place()
            self._page.paragraph(text)
        elif text:
            self._named()
            self._open, self._is_item, self._terms = True, False, [text]
        if in_code:
            self.begin_code()

    def another_term(self, text: str) -> None:
        """Add a term that shares its description with the one before it."""
        if self._terms and not self._words and len(text) + sum(map(len, self._terms)) <= LONGEST_TERM:
            self._terms.append(squash(text))
        else:
            self.term(text)

    def item(self) -> None:
        """Begin an item."""
        self.end()
        self._is_item, self._number = True, ""

    def close(self) -> None:
        """End all that is open: the page ends."""
        self.end_code()
        self.end()
        self._named()

    def indent(self, *, terms: bool = True) -> None:
        """Go one level in; with ``terms``, a short emphasised line just before it is a term."""
        text = squash("".join(self._words)) if self._code is None else ""
        if terms and self._is_term(text):
            self._named()
            self._words, self._glue, self._open = [], True, False
            self.term(text)
            self._named()
            self._go_in(_Level(True, False))
        else:
            self.end()
            self._named()
            self._go_in(_Level(self._open, self._open))
        self._open = False

    def _go_in(self, level: _Level) -> None:
        self._around.append(level)
        self._terms_around += level.of_term

    def _is_term(self, text: str) -> bool:
        plausible = bool(text) and len(text) <= LONGEST_TERM and not text.endswith(_ENDED) and not (self._is_item or self._open)
        return plausible and not _BULLET.match(text) and (self._marked or len(text.split()) <= _FEW_WORDS)

    def outdent(self) -> None:
        """Go one level out."""
        self.end()
        self._named()
        if self._around:
            level = self._around.pop()
            self._terms_around -= level.of_term
            self._open = level.goes_on

    def begin_code(self) -> None:
        """Keep the lines that follow as they are."""
        if self._code is None:
            self.end()
            self._code, self._glue = [], False

    def end_code(self) -> None:
        """Join lines again."""
        if self._code is not None:
            lines, self._code, self._glue = self._code, None, True
            if any(line.strip() for line in lines):
                self._ensure_place()
            self._page.code("\n".join(lines))

    def row(self, cells: list[str]) -> None:
        """Add a table row."""
        self._ensure_place()
        self._page.row(cells)

    @property
    def _depth(self) -> int:
        return 1 + min(self._terms_around, _DEEPEST)

    def _named(self) -> None:
        """Write the terms that waited for their description."""
        terms, self._terms = self._terms, []
        if terms:
            self._name(self._section + self._depth, ", ".join(dict.fromkeys(terms)))

    def _name(self, level: int, text: str) -> None:
        if text := squash(text):
            self._trail = [entry for entry in self._trail if entry[0] < level] + [(level, text)]
            self._page.heading(level, text)

    def _ensure_place(self) -> None:
        self._named()
        level = self._section + self._depth - 1 + self._open
        if self._trail and self._trail[-1][0] > level:
            self._trail = [entry for entry in self._trail if entry[0] <= level]
            if self._trail:
                self._page.heading(*self._trail[-1])
