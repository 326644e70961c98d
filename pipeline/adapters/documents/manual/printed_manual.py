"""Manual pages as a terminal shows them (``man foo > foo.txt``, or man2html's ``pre``) → page text.

Layout carries the structure: sections are capitals at the left margin, subsections are indented by less than the text, and a
term's description is indented more than the term.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from pipeline.adapters.documents.manual.manual_head import Head, title_of
from pipeline.adapters.documents.page_writer import Document, PageText, squash
from pipeline.adapters.documents.plaintext.line_shapes import indent_of, is_code, is_columns
from pipeline.adapters.documents.plaintext.print_artifacts import with_whole_words

_SECTION = re.compile(r"[A-Z][A-Z0-9 ,/&'()_-]{2,60}\Z")
_EDGE = re.compile(r"\S{1,60}\(\w{1,4}\)\s.*\S\(\w{1,4}\)\Z")  # TOOL(1)  Name of the book  TOOL(1)
_NAMED = re.compile(r"(\S{1,60})\((\w{1,4})\)")
_DESCRIBED = re.compile(r"^NAME[ \t]*\n+((?:[ \t]+\S.*(?:\n|\Z)){1,20})", re.MULTILINE)
_ANOTHER = re.compile(r"\n(?=[ \t]+\S{1,60} [-–—] )")  # of several names of one page
_CUT_WORD = re.compile(r"([-\u2010]\n)([ ]{1,80})([a-z]\S{0,60})[ ]+(?=\S)")
_FEWEST_SECTIONS = 3
_INDENTED_SHARE = 0.7  # least share of lines that are indented
_LONGEST_TERM = 100  # characters
_SHORT_DESCRIPTION = 5  # lines; a term with a longer description becomes a heading
_DEEPER = 3  # columns by which a description is indented at least
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",")


def is_printed_manual(text: str) -> bool:
    """Return whether ``text`` is a manual page as a terminal shows it: sections in capitals, NAME among them, text indented."""
    lines = [line.rstrip() for line in text.split("\n") if line.strip()]
    sections = [line for line in lines if _SECTION.match(line)]
    indented = sum(line[0] == " " for line in lines)
    return len(sections) >= _FEWEST_SECTIONS and "NAME" in sections[:2] and indented >= _INDENTED_SHARE * len(lines)


def read_printed_manual(source: str, name: str) -> Document:
    """Return the manual page that ``source`` shows as a terminal does; ``name`` is its name if its first line has none."""
    page = PageText()
    write_printed_manual(source, page)
    title = title_of(_head(source), name)
    return Document(title, page.rendered(title), "text/plain")


def _head(source: str) -> Head:
    """The name and section of the first line, ``TOOL(1)  Name of the book  TOOL(1)``, and the description under NAME."""
    head = Head()
    text = with_whole_words(source)
    first = next((line.strip() for line in text.split("\n") if line.strip()), "")
    if found := _NAMED.match(first) if _EDGE.match(first) else None:
        head.name, head.section = found[1], found[2]
    if described := _DESCRIBED.search(text):
        head.take_description(squash(_ANOTHER.split(described[1])[0]))
    return head


def write_printed_manual(text: str, page: PageText) -> None:
    """Write the sections, terms, paragraphs and code of the manual page ``text`` to ``page``."""
    # A word that is cut at the end of a line is joined there; the rest of the next line keeps its indentation.
    kept = _CUT_WORD.sub(r"\1\2\3\n\2", text.expandtabs(8))
    lines = [line.rstrip() for line in with_whole_words(kept).split("\n")]
    indents = Counter(indent_of([line]) for line in lines if line[:1] == " ")
    writer = _Writer(page, max(indents, key=lambda indent: (indents[indent], -indent), default=0), indents)
    for block in _blocks(lines):
        writer.write(block)
    writer.end_term()


def _blocks(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield runs of lines without a blank line; a line at the left margin is a run of its own."""
    run: list[str] = []
    for line in lines:
        if run and (not line or line[0] != " "):
            yield run
            run = []
        if line and line[0] != " ":
            yield [line]
        elif line:
            run.append(line)
    if run:
        yield run


class _Writer:
    """Writes one page; ``margin`` is the indentation of a section's text, in columns."""

    def __init__(self, page: PageText, margin: int, indents: Counter[int]) -> None:
        self._page = page
        self._margin = min((i for i in indents if i <= margin and 4 * indents[i] >= indents[margin]), default=margin)
        deeper = {indent: count for indent, count in indents.items() if indent >= self._margin + _DEEPER}
        self._column = max(deeper, key=lambda indent: (deeper[indent], -indent), default=_DEEPER)  # of most descriptions
        self._sections: list[tuple[int, str]] = []
        self._term = ""  # a term whose description is not written yet
        self._described: list[str] = []
        self._in_term = False  # the latest heading is a term
        self._after_colon = False

    def write(self, lines: Sequence[str]) -> None:
        """Write one run of lines."""
        indent = indent_of(lines)
        if not indent:
            self._write_edge(lines[0])
        elif indent < self._margin and len(lines[0]) <= _LONGEST_TERM:
            self._write_section(3, lines[0].strip())
            self._write_text(lines[1:])
        else:
            self._write_text(lines)

    def _write_edge(self, line: str) -> None:
        if _SECTION.match(line):
            self._write_section(2, line)
        elif not _EDGE.match(line):
            self.end_term()
            self._page.paragraph(line)

    def _write_section(self, level: int, text: str) -> None:
        self._in_term = self._in_term and bool(self._term)
        self.end_term()
        self._sections = [entry for entry in self._sections if entry[0] < level] + [(level, text)]
        self._in_term = False
        self._page.heading(level, text)

    def _write_text(self, lines: Sequence[str]) -> None:
        """Write a run of lines: terms with their descriptions, code, or a paragraph."""
        for part in _split_at_terms(lines, self._margin, self._column):
            term, rest = _term_of(part, self._margin, self._column)
            if term or indent_of(part) <= self._margin:
                self.end_term()
            if term:
                self._term, self._described = term, rest
            elif self._term:
                self._open_term()
            if rest and not term:
                self._write_prose(rest)

    def end_term(self) -> None:
        """Write a term with a short description as an item; repeat the section's heading after a term that was a heading."""
        term, self._term = self._term, ""
        if self._in_term and self._sections:
            self._page.heading(*self._sections[-1])
        self._in_term = False
        if term and len(self._described) <= _SHORT_DESCRIPTION:
            self._page.item(f"{term}: {' '.join(line.strip() for line in self._described)}".rstrip(": "))
        elif term:
            self._write_under(term)

    def _open_term(self) -> None:
        """Make the pending term a heading, because its description has several paragraphs."""
        term, self._term = self._term, ""
        self._write_under(term)

    def _write_under(self, term: str) -> None:
        self._page.heading(self._sections[-1][0] + 1 if self._sections else 2, term)
        self._in_term = True
        if self._described:
            self._write_prose(self._described)

    def _write_prose(self, lines: Sequence[str]) -> None:
        if (is_columns(lines) and len(lines) > 2) or (indent_of(lines) > self._margin and is_code(lines, self._after_colon)):
            self._page.code("\n".join(line[indent_of(lines) :] for line in lines))
        else:
            self._page.paragraph(" ".join(lines))
        self._after_colon = lines[-1].endswith(":")


def _split_at_terms(lines: Sequence[str], margin: int, column: int) -> Iterator[list[str]]:
    """Yield the lines in parts, each new one beginning with a term at the margin."""
    part: list[str] = []
    for place, line in enumerate(lines):
        if part and _term_of(lines[place : place + 2], margin, column)[0]:
            yield part
            part = []
        part.append(line)
    if part:
        yield part


def _term_of(lines: Sequence[str], margin: int, column: int) -> tuple[str, list[str]]:
    """Return the term at the margin and the lines of its description; "" and all lines if they begin with no term.

    The description begins where its second line does; if it has one line only, at ``column``.
    """
    first, deeper = lines[0], indent_of(lines[1:2]) if len(lines) > 1 else 0
    if not deeper and first[column - 2 : column] == "  " and first[column : column + 1].strip():
        deeper = column
    if indent_of([first]) != margin or deeper < margin + _DEEPER:
        return "", list(lines)
    if len(first) <= deeper:
        return ("", list(lines)) if _ends_sentence(first) else (first.strip(), list(lines[1:]))
    if first[deeper - 1] == " " != first[deeper]:
        return first[:deeper].strip(), [" " * deeper + first[deeper:], *lines[1:]]
    is_plain = len(first.split()) <= 8 and not _ends_sentence(first) and "  " not in first.strip()
    return (first.strip(), list(lines[1:])) if is_plain else ("", list(lines))


def _ends_sentence(line: str) -> bool:
    return line.endswith(_SENTENCE_ENDS) and not line.endswith("...")
