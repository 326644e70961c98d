"""Writer of a manual page's blocks: joins lines into paragraphs, makes each term a heading, follows indentation."""

from __future__ import annotations

import re
from typing import NamedTuple

from pipeline.documents.page_writer import PageText, squash

LONGEST_TERM = 160
_BULLETS = frozenset("•·○□∙")
_PLAIN_BULLETS = frozenset("*+-–—o")
_BULLET = re.compile(r"[•·○□∙][ \t\xa0]*(\S.*)", re.DOTALL)
_NUMBER = re.compile(r"\(?(?:\d{1,3}|[a-z])[.):]\)?\Z")
_NUMBERED = re.compile(r" ?(\d{1,3}\.)[ \t\xa0]+(\S.*)", re.DOTALL)
_PUNCTUATION = (".", ":", ";", "!", "?", ",")
_FEW_WORDS = 3
_DEEPEST = 8  # a page's headings have six levels


class _Level(NamedTuple):
    """One level of indentation: whether it belongs to a term, and whether that term continues below it."""

    of_term: bool
    continues: bool


class Blocks:
    """Writes the blocks of one manual page.

    A term's heading is one level below its section or its outer term. When text follows a list of terms but belongs to
    their section, the section's heading is repeated, so that the text is not read as the last term's description.
    """

    def __init__(self, page: PageText) -> None:
        self._page = page
        self._words: list[str] = []
        self._join_next = True
        self._starts_marked = False  # the paragraph begins with emphasis or an option, so it may be a term
        self._code: list[str] | None = None
        self._is_item = False
        self._number = ""
        self._section = 0
        self._open = False
        self._levels: list[_Level] = []
        self._term_levels = 0
        self._trail: list[tuple[int, str]] = []
        self._terms: list[str] = []  # terms that share the description that follows

    @property
    def in_code(self) -> bool:
        """Whether a code block is open, in which lines are kept as they are."""
        return self._code is not None

    def text(self, text: str, *, marked: bool = False, joined: bool = False) -> None:
        """Add a line of text; ``joined`` joins the next text without a space."""
        if self._code is not None:
            self._add_code(self._code, text, joined)
            return
        if not self._words:
            self._starts_marked = marked or text.startswith("-")
        if text:
            self._words += [text] if self._join_next else [" ", text]
            self._join_next = joined

    def _add_code(self, code: list[str], text: str, joined: bool) -> None:
        if self._join_next and code:
            code[-1] += text
        else:
            code.append(text)
        self._join_next = joined

    def join_next(self, joined: bool) -> None:
        """Set whether the next text is joined without a space."""
        self._join_next = joined or not self._words

    def end(self) -> None:
        """End the paragraph or the item. In a code block this has no effect."""
        if self._code is not None:
            return
        text = squash("".join(self._words))
        is_item, number = self._is_item, self._number
        self._words, self._join_next, self._is_item, self._number = [], True, False, ""
        if not text:
            self._is_item, self._number = is_item, number
            return
        self._return_to_section()
        bullet = _BULLET.match(text)
        if bullet:
            self._page.item(bullet[1])
        elif is_item or _NUMBERED.match(text):
            self._page.item(f"{number} {text}" if number else text)
        else:
            self._page.paragraph(text)

    def paragraph(self) -> None:
        """Begin a paragraph that belongs to no term at this depth."""
        if self._code is not None:
            self._code.append("")
            return
        self.end()
        self._open = self._is_item = False

    def heading(self, level: int, text: str) -> None:
        """Add a heading; all open blocks, terms and indentation end."""
        self.end_code()
        self.end()
        self._write_terms()
        self._section, self._open, self._levels, self._term_levels, self._is_item = level, False, [], 0, False
        self._write_heading(level, text)

    def term(self, text: str, *, plain_bullets: bool = False) -> None:
        """Begin the description of a term.

        A bullet or a number in its place begins an item; "" continues what is open. With ``plain_bullets`` a lone ``*``,
        ``+``, ``-`` or ``o`` is also a bullet.
        """
        in_code = self.in_code
        self.end_code()
        self.end()
        text = squash(text)
        is_bullet = text in _BULLETS or (plain_bullets and text in _PLAIN_BULLETS)
        if is_bullet or _NUMBER.match(text):
            self._is_item, self._number = True, "" if is_bullet else text
        elif len(text) > LONGEST_TERM:
            self._return_to_section()
            self._page.paragraph(text)
        elif text:
            self._write_terms()
            self._open, self._is_item, self._terms = True, False, [text]
        if in_code:
            self.begin_code()

    def another_term(self, text: str) -> None:
        """Add a term that shares its description with the previous term."""
        if self._terms and not self._words and len(text) + sum(map(len, self._terms)) <= LONGEST_TERM:
            self._terms.append(squash(text))
        else:
            self.term(text)

    def item(self) -> None:
        """Begin an item."""
        self.end()
        self._is_item, self._number = True, ""

    def close(self) -> None:
        """End all open blocks, at the end of the page."""
        self.end_code()
        self.end()
        self._write_terms()

    def indent(self, *, terms: bool = True) -> None:
        """Indent by one level; with ``terms``, a short emphasised line just before becomes a term."""
        text = squash("".join(self._words)) if self._code is None else ""
        if terms and self._looks_like_term(text):
            self._write_terms()
            self._words, self._join_next, self._open = [], True, False
            self.term(text)
            self._write_terms()
            self._push(_Level(True, False))
        else:
            self.end()
            self._write_terms()
            self._push(_Level(self._open, self._open))
        self._open = False

    def _push(self, level: _Level) -> None:
        self._levels.append(level)
        self._term_levels += level.of_term

    def _looks_like_term(self, text: str) -> bool:
        plausible = (
            bool(text) and len(text) <= LONGEST_TERM and not text.endswith(_PUNCTUATION) and not (self._is_item or self._open)
        )
        return plausible and not _BULLET.match(text) and (self._starts_marked or len(text.split()) <= _FEW_WORDS)

    def outdent(self) -> None:
        """End one level of indentation."""
        self.end()
        self._write_terms()
        if self._levels:
            level = self._levels.pop()
            self._term_levels -= level.of_term
            self._open = level.continues

    def begin_code(self) -> None:
        """Begin a code block; the lines that follow are kept as they are."""
        if self._code is None:
            self.end()
            self._code, self._join_next = [], False

    def end_code(self) -> None:
        """End the code block; lines are joined into paragraphs again."""
        if self._code is not None:
            lines, self._code, self._join_next = self._code, None, True
            if any(line.strip() for line in lines):
                self._return_to_section()
            self._page.code("\n".join(lines))

    def row(self, cells: list[str]) -> None:
        """Add a table row."""
        self._return_to_section()
        self._page.row(cells)

    @property
    def _depth(self) -> int:
        return 1 + min(self._term_levels, _DEEPEST)

    def _write_terms(self) -> None:
        """Write the collected terms as one heading."""
        terms, self._terms = self._terms, []
        if terms:
            self._write_heading(self._section + self._depth, ", ".join(dict.fromkeys(terms)))

    def _write_heading(self, level: int, text: str) -> None:
        if text := squash(text):
            self._trail = [entry for entry in self._trail if entry[0] < level] + [(level, text)]
            self._page.heading(level, text)

    def _return_to_section(self) -> None:
        self._write_terms()
        level = self._section + self._depth - 1 + self._open
        if self._trail and self._trail[-1][0] > level:
            self._trail = [entry for entry in self._trail if entry[0] <= level]
            if self._trail:
                self._page.heading(*self._trail[-1])
