"""Manual pages in the macros of man(7) or mdoc(7) → page text.

Sections and the terms of option lists become headings, so that every option has an anchor. The text that a terminal's
formatter would print is kept without its fonts and layout.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.documents.manual.manual_block_builder import Blocks
from pipeline.documents.manual.manual_head import Head
from pipeline.documents.manual.mdoc import Mdoc
from pipeline.documents.manual.roff import Line, Roff
from pipeline.documents.manual.roff_escapes import plain
from pipeline.documents.manual.roff_table import rows
from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed

_MDOC = re.compile(r"^\.[ \t]*Dd\b", re.MULTILINE)
_MAN = re.compile(r"^[.'][ \t]*TH\b", re.MULTILINE)
_REDIRECT = re.compile(r"(?:[.'][ \t]*\\\".*\n|[ \t]*\n){0,50}[.'][ \t]*so[ \t]+([^\s]{1,200})\s*\Z")
_MARKED = re.compile(r"\\f[^RP1]|\\-|-|\\m|<")
_CONTINUES = re.compile(r"(?<!\\)\\c[ \t]*\Z")
_SPACED = frozenset(("B", "I", "R", "SM", "SB", "CW", "q"))
_JOINED = frozenset(("BR", "BI", "IB", "IR", "RB", "RI"))


def read_manual(source: str, name: str) -> Document:
    """Return the manual page in the roff text ``source``; ``name`` is its name if the page declares none.

    Raises:
        ReadFailed: the page only refers to another page, or holds no text.
    """
    if redirect := _REDIRECT.match(source):
        raise ReadFailed(f"it only refers to another page, {redirect[1]}")
    page = PageText()
    reader = Mdoc(page) if _MDOC.search(source) and not _MAN.search(source) else _Man(page)
    head = reader.read(source)
    if page.empty:
        raise ReadFailed("it holds no text")
    title = head.title(name)
    return Document(title, page.rendered(title), "text/troff", "", head.published)


class _Man:
    """Reads pages in the macros of man(7), with the additions of pod2man, docutils and DocBook."""

    def __init__(self, page: PageText) -> None:
        self._blocks = Blocks(page)
        self._head = Head()
        self._expected = ""  # the macro whose text comes next: "TP" a term, "SH" or "SS" a heading
        self._term: list[str] = []
        self._link_target = ""
        self._in_name = False
        self._compact = False  # terms that follow each other without space share a description
        self._requests: dict[str, Callable[[Line], None]] = {
            "TH": self._th, "SH": self._heading, "SS": self._heading, "Sh": self._heading, "Ss": self._heading,
            "TP": self._tp, "TQ": self._tq, "IP": self._ip, "PD": self._pd, "HP": self._paragraph,
            **dict.fromkeys(("PP", "P", "LP"), self._paragraph), **dict.fromkeys(("sp", "Sp", "br", "in", "ti"), self._break),
            **dict.fromkeys(("RS", "INDENT"), lambda _: self._blocks.indent()),
            **dict.fromkeys(("RE", "UNINDENT"), lambda _: self._blocks.outdent()),
            **dict.fromkeys(("nf", "EX", "Vb"), lambda _: self._blocks.begin_code()),
            **dict.fromkeys(("fi", "EE", "Ve"), lambda _: self._blocks.end_code()),
            **dict.fromkeys(("UR", "MT"), self._link_begins), **dict.fromkeys(("UE", "ME"), self._link_ends),
            "URL": self._url, "MTO": self._url, "SY": self._synopsis, "YS": lambda _: self._blocks.end(), "OP": self._option,
            "TS": self._table, "EQ": lambda _: None, "EN": lambda _: None, "IX": lambda _: None, "nop": self._nop,
        }  # fmt: skip

    def read(self, source: str) -> Head:
        """Write all blocks; return the page's metadata."""
        self._roff = Roff(source, {*self._requests, *_SPACED, *_JOINED} - {"q", "CW", "R"})
        for line in self._roff.lines():
            if not line.name:
                self._text(line.rest)
            elif line.name in _SPACED or line.name in _JOINED:
                self._font(line)
            elif request := self._requests.get(line.name):
                request(line)
        self._finish_expected()
        self._blocks.close()
        return self._head

    def _text(self, raw: str) -> None:
        if not raw.strip():
            self._break(Line("sp", ""))
            return
        if raw[0] == " " and not self._blocks.in_code:
            self._blocks.end()
        joined = bool(_CONTINUES.search(raw))
        self._add_text(plain(raw), marked=bool(_MARKED.match(raw)), joined=joined)

    def _add_text(self, text: str, *, marked: bool = False, joined: bool = False) -> None:
        if self._expected:
            self._collect(text, joined)
            return
        if self._in_name:
            self._head.take_description(squash(text))
        self._blocks.text(text, marked=marked, joined=joined)

    def _collect(self, text: str, joined: bool) -> None:
        """Collect the text of the heading or term that the last macro began."""
        self._term.append(text if joined else text + " ")
        if not joined:
            self._finish_expected()

    def _finish_expected(self) -> None:
        expected, self._expected = self._expected, ""
        text, self._term = "".join(self._term), []
        if expected == "TQ" or (expected == "TP" and self._compact):
            self._blocks.another_term(text)
        elif expected == "TP":
            self._blocks.term(text)
        elif expected:
            self._section(expected, text)

    def _section(self, name: str, text: str) -> None:
        self._blocks.heading(1 if name in ("SH", "Sh") else 2, text)
        self._in_name = squash(text).casefold() in ("name", "bezeichnung", "nom", "nombre", "nome")
        self._compact = False

    def _font(self, line: Line) -> None:
        words = line.words()
        if words:
            joined = bool(_CONTINUES.search(line.rest))
            self._add_text(("" if line.name in _JOINED else " ").join(words), marked=line.name[0] in "BI", joined=joined)

    def _nop(self, line: Line) -> None:
        self._text(line.rest)

    def _th(self, line: Line) -> None:
        words = [*line.words(), "", "", ""]
        self._head.name, self._head.section = squash(words[0]), squash(words[1])
        self._head.take_date(words[2])

    def _heading(self, line: Line) -> None:
        self._finish_expected()
        words = line.words()
        if words:
            self._section(line.name, " ".join(words))
        else:
            self._expected = line.name

    def _tp(self, _: Line) -> None:
        self._finish_expected()
        self._expected = "TP"

    def _tq(self, _: Line) -> None:
        self._finish_expected()
        self._expected = "TQ"

    def _ip(self, line: Line) -> None:
        self._finish_expected()
        words = line.words()
        self._blocks.term(words[0] if words else "", plain_bullets=not _MARKED.match(line.rest.lstrip('"')) or words[0] == "-")

    def _pd(self, line: Line) -> None:
        self._compact = line.rest.strip()[:1] == "0"

    def _paragraph(self, _: Line) -> None:
        self._finish_expected()
        self._blocks.paragraph()

    def _break(self, line: Line) -> None:
        if self._expected and not self._term:
            return
        self._finish_expected()
        if self._blocks.in_code and line.name != "br":
            self._blocks.text("")
        self._blocks.end()

    def _link_begins(self, line: Line) -> None:
        self._link_target = "".join(line.words()[:1])

    def _link_ends(self, line: Line) -> None:
        self._add_text(f"<{self._link_target}>" + "".join(line.words()[:1]))

    def _url(self, line: Line) -> None:
        words = [*line.words(), "", "", ""]
        text = f"{words[1]} <{words[0]}>" if words[1] else words[0]
        self._add_text(text + words[2])

    def _synopsis(self, line: Line) -> None:
        self._blocks.end()
        self._add_text(" ".join(line.words()))

    def _option(self, line: Line) -> None:
        self._add_text(f"[{' '.join(line.words())}]")

    def _table(self, _: Line) -> None:
        self._finish_expected()
        was_code = self._blocks.in_code
        self._blocks.end_code()
        self._blocks.end()
        for cells in rows(self._roff.lines_until("TE")):
            self._blocks.row(cells)
        if was_code:
            self._blocks.begin_code()
