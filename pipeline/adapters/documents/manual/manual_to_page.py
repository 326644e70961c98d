"""Manual pages, written with the macros of man(7) or mdoc(7) → page text.

Sections are headings, and so is each term of a list of options, so that every option can be addressed by itself. What the
formatter of a terminal would print is kept; how it would look is not.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.adapters.documents.manual.manual_blocks import Blocks
from pipeline.adapters.documents.manual.manual_head import Head
from pipeline.adapters.documents.manual.mdoc import Mdoc
from pipeline.adapters.documents.manual.roff import Line, Roff
from pipeline.adapters.documents.manual.roff_escapes import plain
from pipeline.adapters.documents.manual.roff_table import rows
from pipeline.adapters.documents.page_writer import Document, PageText, squash
from pipeline.errors import ReadFailed
from pipeline.text.normalise import one_line

_MDOC = re.compile(r"^\.[ \t]*Dd\b", re.MULTILINE)
_MAN = re.compile(r"^[.'][ \t]*TH\b", re.MULTILINE)
_SENT_ON = re.compile(r"(?:[.'][ \t]*\\\".*\n|[ \t]*\n){0,50}[.'][ \t]*so[ \t]+([^\s]{1,200})\s*\Z")
_MARKED = re.compile(r"\\f[^RP1]|\\-|-|\\m|<")
_CONTINUES = re.compile(r"(?<!\\)\\c[ \t]*\Z")
_SPACED = frozenset(("B", "I", "R", "SM", "SB", "CW", "q"))
_JOINED = frozenset(("BR", "BI", "IB", "IR", "RB", "RI"))
_LONGEST_TITLE = 200


def read_manual(source: str, name: str) -> Document:
    """Return the manual page in ``source``; ``name`` is what it is called when it does not say so itself.

    Raises:
        ReadFailed: it only sends its reader to another page, or holds no text.
    """
    if sent := _SENT_ON.match(source):
        raise ReadFailed(f"it holds nothing but a reference to {sent[1]}")
    page = PageText()
    reader = Mdoc(page) if _MDOC.search(source) and not _MAN.search(source) else _Man(page)
    head = reader.read(source)
    if page.empty:
        raise ReadFailed("it holds no text")
    title = _title(head, name)
    return Document(title, page.finished(title), "text/troff", "", head.published)


def _title(head: Head, name: str) -> str:
    own = head.name or name
    own = name if own.casefold() == name.casefold() else own.lower() if own.isupper() else own
    called = f"{own}({head.section})" if head.section else own
    return one_line(f"{called}: {head.about}" if head.about else called, _LONGEST_TITLE)


class _Man:
    """Reads the macros of man(7), and what pod2man, docutils and DocBook add to them."""

    def __init__(self, page: PageText) -> None:
        self._blocks = Blocks(page)
        self._head = Head()
        self._await = ""  # what the next text is: "TP" a term, "SH" or "SS" a heading
        self._term: list[str] = []
        self._link = ""
        self._in_name = False
        self._near = False  # terms follow each other without space: they share a description
        self._requests: dict[str, Callable[[Line], None]] = {
            "TH": self._th, "SH": self._heading, "SS": self._heading, "Sh": self._heading, "Ss": self._heading,
            "TP": self._tagged, "TQ": self._also, "IP": self._indented, "PD": self._distance, "HP": self._paragraph,
            **dict.fromkeys(("PP", "P", "LP"), self._paragraph), **dict.fromkeys(("sp", "Sp", "br", "in", "ti"), self._break),
            **dict.fromkeys(("RS", "INDENT"), lambda _: self._blocks.indent()),
            **dict.fromkeys(("RE", "UNINDENT"), lambda _: self._blocks.outdent()),
            **dict.fromkeys(("nf", "EX", "Vb"), lambda _: self._blocks.begin_code()),
            **dict.fromkeys(("fi", "EE", "Ve"), lambda _: self._blocks.end_code()),
            **dict.fromkeys(("UR", "MT"), self._link_begins), **dict.fromkeys(("UE", "ME"), self._link_ends),
            "URL": self._url, "MTO": self._url, "SY": self._synopsis, "YS": lambda _: self._blocks.end(), "OP": self._option,
            "TS": self._table, "EQ": lambda _: None, "EN": lambda _: None, "IX": lambda _: None, "nop": self._said_plainly,
        }  # fmt: skip

    def read(self, source: str) -> Head:
        """Write all blocks; return what the page says of itself."""
        self._roff = Roff(source, {*self._requests, *_SPACED, *_JOINED} - {"q", "CW", "R"})
        for line in self._roff.lines():
            if not line.name:
                self._text(line.rest)
            elif line.name in _SPACED or line.name in _JOINED:
                self._font(line)
            elif request := self._requests.get(line.name):
                request(line)
        self._settle()
        self._blocks.close()
        return self._head

    def _text(self, raw: str) -> None:
        if not raw.strip():
            self._break(Line("sp", ""))
            return
        if raw[0] == " " and not self._blocks.in_code:
            self._blocks.end()
        glued = bool(_CONTINUES.search(raw))
        self._say(plain(raw), marked=bool(_MARKED.match(raw)), glued=glued)

    def _say(self, text: str, *, marked: bool = False, glued: bool = False) -> None:
        if self._await:
            self._take(text, glued)
            return
        if self._in_name:
            self._head.described(squash(text))
        self._blocks.text(text, marked=marked, glued=glued)

    def _take(self, text: str, glued: bool) -> None:
        """Take the text that a heading or a tag was waiting for."""
        self._term.append(text if glued else text + " ")
        if not glued:
            self._settle()

    def _settle(self) -> None:
        awaited, self._await = self._await, ""
        text, self._term = "".join(self._term), []
        if awaited == "TQ" or (awaited == "TP" and self._near):
            self._blocks.another_term(text)
        elif awaited == "TP":
            self._blocks.term(text)
        elif awaited:
            self._section(awaited, text)

    def _section(self, name: str, text: str) -> None:
        self._blocks.heading(1 if name in ("SH", "Sh") else 2, text)
        self._in_name = squash(text).casefold() in ("name", "bezeichnung", "nom", "nombre", "nome")
        self._near = False

    def _font(self, line: Line) -> None:
        words = line.words()
        if words:
            glued = bool(_CONTINUES.search(line.rest))
            self._say(("" if line.name in _JOINED else " ").join(words), marked=line.name[0] in "BI", glued=glued)

    def _said_plainly(self, line: Line) -> None:
        self._text(line.rest)

    def _th(self, line: Line) -> None:
        words = [*line.words(), "", "", ""]
        self._head.name, self._head.section = squash(words[0]), squash(words[1])
        self._head.dated(words[2])

    def _heading(self, line: Line) -> None:
        self._settle()
        words = line.words()
        if words:
            self._section(line.name, " ".join(words))
        else:
            self._await = line.name

    def _tagged(self, _: Line) -> None:
        self._settle()
        self._await = "TP"

    def _also(self, _: Line) -> None:
        self._settle()
        self._await = "TQ"

    def _indented(self, line: Line) -> None:
        self._settle()
        words = line.words()
        self._blocks.term(words[0] if words else "", plain_bullets=not _MARKED.match(line.rest.lstrip('"')) or words[0] == "-")

    def _distance(self, line: Line) -> None:
        self._near = line.rest.strip()[:1] == "0"

    def _paragraph(self, _: Line) -> None:
        self._settle()
        self._blocks.paragraph()

    def _break(self, line: Line) -> None:
        if self._await and not self._term:
            return
        self._settle()
        if self._blocks.in_code and line.name != "br":
            self._blocks.text("")
        self._blocks.end()

    def _link_begins(self, line: Line) -> None:
        self._link = "".join(line.words()[:1])

    def _link_ends(self, line: Line) -> None:
        self._say(f"<{self._link}>" + "".join(line.words()[:1]))

    def _url(self, line: Line) -> None:
        words = [*line.words(), "", "", ""]
        text = f"{words[1]} <{words[0]}>" if words[1] else words[0]
        self._say(text + words[2])

    def _synopsis(self, line: Line) -> None:
        self._blocks.end()
        self._say(" ".join(line.words()))

    def _option(self, line: Line) -> None:
        self._say(f"[{' '.join(line.words())}]")

    def _table(self, _: Line) -> None:
        self._settle()
        was_code = self._blocks.in_code
        self._blocks.end_code()
        self._blocks.end()
        for cells in rows(self._roff.until("TE")):
            self._blocks.row(cells)
        if was_code:
            self._blocks.begin_code()
