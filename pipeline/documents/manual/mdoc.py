"""Reader for manual pages in the macros of mdoc(7)."""

from __future__ import annotations

import re
from collections.abc import Callable

from pipeline.documents.manual.manual_block_builder import Blocks
from pipeline.documents.manual.manual_head import Head
from pipeline.documents.manual.mdoc_inline import CALLABLE, Inline, Words
from pipeline.documents.manual.roff import Line, Roff
from pipeline.documents.manual.roff_escapes import plain
from pipeline.documents.manual.roff_table import rows
from pipeline.documents.page_writer import PageText, squash

_MONTH_NAMES = "january february march april may june july august september october november december"
_MONTHS = _MONTH_NAMES.split()
_DATE = re.compile(r"(?:\$Mdocdate: )?([A-Z][a-z]{2,8}) (\d{1,2}),? (\d{4})")
_INVISIBLE = "\u2060"
_TERMS = frozenset(("-tag", "-hang", "-ohang", "-inset", "-diag"))


class Mdoc:
    """Reads one mdoc page and writes its blocks to ``page``."""

    def __init__(self, page: PageText) -> None:
        self._blocks = Blocks(page)
        self._head = Head()
        self._inline = Inline()
        self._section = ""
        self._lists: list[str] = []
        self._displays: list[bool] = []  # whether each open display keeps its lines
        self._open_term: Words | None = None  # a term written over several lines
        self._spacing_on = True
        self._requests: dict[str, Callable[[Line], None]] = {
            "Dd": self._date, "Dt": self._set_title, "Sh": self._heading, "Ss": self._heading, "Nd": self._description,
            "Pp": self._paragraph, "Lp": self._paragraph, "sp": self._break, "br": self._break, "PP": self._paragraph,
            "Bl": self._list, "El": self._list_ends, "It": self._item, "Bd": self._display, "Ed": self._display_ends,
            "D1": self._one_line, "Dl": self._one_line, "Nm": self._program_name, "Sm": self._spacing, "Ex": self._exit_status,
            "Rv": self._exit_status, "TS": self._table, "Xc": self._term_ends, "Re": self._break, "Rs": self._break,
            "nf": lambda _: self._blocks.begin_code(), "fi": lambda _: self._blocks.end_code(),
        }  # fmt: skip

    def read(self, source: str) -> Head:
        """Write all blocks; return the page's metadata."""
        self._roff = Roff(source, {*self._requests, *CALLABLE})
        for line in self._roff.lines():
            if not line.name:
                self._text(line.rest)
            elif request := self._requests.get(line.name):
                request(line)
            elif line.name in CALLABLE:
                self._macros([line.name, *_words(line)])
        self._end_term()
        self._blocks.close()
        return self._head

    def _text(self, raw: str) -> None:
        if not raw.strip() and not self._blocks.in_code:
            self._blocks.end()
        elif self._open_term is not None:
            self._open_term.add(plain(raw))
        else:
            self._blocks.text(plain(raw))

    def _macros(self, words: list[str]) -> None:
        """Write a line of macros. After an opening bracket or ``Ns`` the next text is joined without a space."""
        if self._open_term is not None:
            self._inline.write(words, self._open_term)
            if "Xc" in words:
                self._end_term()
            return
        text = self._inline_text(words)
        joined = words[-1] in ("Ns", "Oo", "Do", "So", "Qo", "Po", "Bo", "Bro", "Ao", "Fo", "Pf") or not self._spacing_on
        if words[0] in ("Oc", "Dc", "Sc", "Qc", "Pc", "Bc", "Brc", "Ac", "Fc", "Ns", "Ap"):
            self._blocks.join_next(True)
        if words[0] in ("Ft", "Fo", "Fn", "In", "Vt", "Fd") and self._section.casefold() == "synopsis":
            self._blocks.end()
        self._blocks.text(text, joined=joined)

    def _inline_text(self, arguments: list[str]) -> str:
        words = Words()
        words.spaced = self._spacing_on
        self._inline.write(arguments, words)
        return str(words)

    def _date(self, line: Line) -> None:
        if (found := _DATE.match(line.rest)) and found[1].lower() in _MONTHS:
            self._head.published = f"{found[3]}-{_MONTHS.index(found[1].lower()) + 1:02}-{int(found[2]):02}"

    def _set_title(self, line: Line) -> None:
        words = [*_words(line), "", ""]
        self._head.name, self._head.section = words[0], words[1]

    def _heading(self, line: Line) -> None:
        self._end_term()
        self._lists, self._displays = [], []
        self._section = squash(self._inline_text(_words(line)))
        self._blocks.heading(1 if line.name == "Sh" else 2, self._section)

    def _description(self, line: Line) -> None:
        text = self._inline_text(_words(line))
        self._head.about = self._head.about or squash(text)
        self._blocks.text(f"– {text}")

    def _program_name(self, line: Line) -> None:
        if self._section.casefold() == "synopsis" and self._open_term is None:
            self._blocks.end()
        self._macros(["Nm", *_words(line)])

    def _paragraph(self, _: Line) -> None:
        self._end_term()
        if self._blocks.in_code:
            self._blocks.text("")
        self._blocks.end()

    def _break(self, _: Line) -> None:
        self._blocks.end()

    def _list(self, line: Line) -> None:
        kinds = [word for word in _words(line) if word.startswith("-")]
        self._blocks.indent(terms=False)
        self._lists.append(next((kind for kind in kinds if kind not in ("-compact", "-width", "-offset")), "-item"))

    def _list_ends(self, _: Line) -> None:
        self._end_term()
        if self._lists:
            self._lists.pop()
            self._blocks.outdent()

    def _item(self, line: Line) -> None:
        self._end_term()
        kind = self._lists[-1] if self._lists else "-item"
        if kind == "-column":
            self._cells(line)
        elif kind in _TERMS:
            self._open_term = Words()
            words = _words(line)
            self._inline.write(words, self._open_term)
            if "Xo" not in words:
                self._end_term()
        else:
            self._blocks.item()

    def _cells(self, line: Line) -> None:
        cells: list[list[str]] = [[]]
        for argument in line.rest.replace("\t", " Ta ").split(" Ta "):
            cells.append(_words(Line("It", argument)))
        self._blocks.end()
        self._blocks.row([self._inline_text(cell) if cell else "" for cell in cells[1:]])

    def _end_term(self) -> None:
        term, self._open_term = self._open_term, None
        if term is not None:
            self._blocks.term(str(term))

    def _term_ends(self, line: Line) -> None:
        if self._open_term is not None and line.rest:
            self._inline.write(_words(line), self._open_term)
        self._end_term()

    def _display(self, line: Line) -> None:
        kept = "-literal" in line.rest or "-unfilled" in line.rest
        self._blocks.end()
        self._displays.append(kept)
        if kept:
            self._blocks.begin_code()

    def _display_ends(self, _: Line) -> None:
        self._blocks.end()
        if self._displays and self._displays.pop():
            self._blocks.end_code()

    def _one_line(self, line: Line) -> None:
        was_code = self._blocks.in_code
        self._blocks.begin_code()
        self._blocks.text(self._inline_text(_words(line)))
        if not was_code:
            self._blocks.end_code()

    def _spacing(self, line: Line) -> None:
        self._spacing_on = "off" not in line.rest
        if self._open_term is not None:
            self._open_term.space(self._spacing_on)
        elif self._spacing_on:
            self._blocks.join_next(False)

    def _exit_status(self, line: Line) -> None:
        names = [word for word in _words(line) if not word.startswith("-")] or [self._inline.name]
        if line.name == "Ex":
            self._blocks.text(f"The {' and '.join(names)} utility exits 0 on success, and >0 if an error occurs.")
        else:
            function = f"The {names[0]}() function returns the value 0 if successful; otherwise the value -1 is returned and the"
            self._blocks.text(f"{function} global variable errno is set to indicate the error.")

    def _table(self, _: Line) -> None:
        self._blocks.end()
        for cells in rows(self._roff.lines_until("TE")):
            self._blocks.row(cells)


def _words(line: Line) -> list[str]:
    """Return a line's arguments. An escaped one starts with an invisible sign, so that it is read as no macro or punctuation."""
    return [(_INVISIBLE if "\\&" in raw else "") + plain(raw) for raw in line.arguments()]
