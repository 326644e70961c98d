"""Manual pages as a terminal shows them (``man foo > foo.txt``, or man2html's ``pre``) → page text.

Layout carries the structure: sections are capitals at the left margin, subsections are indented by less than the text, and a
term's description is indented more than the term.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise, takewhile

from pipeline.documents.manual.manual_head import Head
from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.documents.plaintext.line_shapes import indent_of, is_code, is_columns
from pipeline.documents.plaintext.print_artifacts import with_whole_words

_SECTION = re.compile(r"[A-Z][A-Z0-9 ,/&'()_-]{2,60}\Z")
_EDGE = re.compile(r"(\S{1,60})\((\w{1,8})\)\s.*\S\(\w{1,8}\)\Z")  # TOOL(1)  Name of the book  TOOL(1)
_CUT_WORD = re.compile(r"(-\n)([ ]{1,80})([a-z]\S{0,60})[ ]+(?=\S)")
_OVERSTRIKE = re.compile(r"[^\n]\x08")
_FOOTER = re.compile(r"\S.{0,200} {3}\S{1,60}\(\w{1,8}\)\Z")  # version  date  TOOL(1)
_BAR = re.compile(r"^ {1,8}\|(?:  |$)", re.MULTILINE)
_ESCAPE = re.compile(r"\x1b\[[\d;]{0,20}[mK]")
_BULLET = re.compile(r"(?:[•·∙○*+-]|o|\(?\d{1,2}[.)])(?:\s+|\Z)")
_OWN_LINE = re.compile(r"\S{1,60} [-–—] \S")
_BRACE = re.compile(r"\s*[{}];?")  # code: a function's body begins or ends
_GAP = re.compile(r"(\S{1,40}(?: \S{1,40}){0,3}(?<![.:;,?!])) {2,}(?=\S)")
_MOST_TERM_WORDS = 6
_SYNOPSIS = "SYNOPSIS"
_NARROW = 54  # columns; a formatter fills its lines further than that
_FEWEST_SECTIONS = 3
_MOST_NAME_LINES = 8  # lines under NAME
_INDENTED_SHARE = 0.7  # least share of lines that are indented
_LONGEST_TERM = 100  # characters
_SHORT_DESCRIPTION = 5  # lines; a term with a longer description becomes a heading
_DEEPER = 3  # columns by which a description is indented at least
_SENTENCE_ENDS = (".", "!", "?", ":", ";", ",")


def as_displayed(text: str) -> str:
    """Return ``text`` as a terminal displays it: without bold by overstriking or by escape sequences, tabs as spaces.

    The bars with which Python's ``help`` marks the members of a class become an indentation.
    """
    plain = _ESCAPE.sub("", _OVERSTRIKE.sub("", text)).expandtabs(8)
    return _BAR.sub("        ", plain) if plain.startswith("Help on ") else plain


def is_printed_manual(text: str) -> bool:
    """Return whether ``text`` is a manual page as a terminal shows it: sections in capitals, NAME among them, text indented."""
    lines = [line.rstrip() for line in text.expandtabs(8).split("\n") if line.strip()]
    sections = [line for line in lines if _SECTION.match(line)]
    indented = sum(line[0] == " " for line in lines)
    return len(sections) >= _FEWEST_SECTIONS and "NAME" in sections[:2] and indented >= _INDENTED_SHARE * len(lines)


def read_printed_manual(text: str, name: str) -> Document:
    """Return the document of the manual page ``text``; its title is the page's name, section and one-line description.

    ``name`` is the name if the page has no line under NAME that says what it is called.
    """
    page = PageText()
    write_printed_manual(text, page)
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    head = _head_of(lines, name)
    return Document(head.title(name), page.rendered(head.title(name)), "text/plain", published=head.published)


def _head_of(lines: Sequence[str], name: str) -> Head:
    head = Head()
    if edge := _EDGE.match(lines[0]):
        head.section = edge[2]
        head.take_date(lines[-1])
    start = lines.index("NAME") + 1 if "NAME" in lines else len(lines)
    named = list(takewhile(lambda line: not _SECTION.match(line), lines[start : start + _MOST_NAME_LINES]))
    described = squash(with_whole_words("\n".join(_own_lines(named, name))))
    head.take_names(described, name)
    head.take_description(described)
    return head


def _own_lines(named: Sequence[str], name: str) -> list[str]:
    """Return the lines under NAME without those that describe other names, if each name has a line of its own."""
    starts = [place for place, line in enumerate(named) if _OWN_LINE.match(line)]
    own = next((place for place in starts if named[place].split()[0].casefold() == name.casefold()), 0)
    if len(starts) < 2:
        return list(named)
    return list(named[own : next((place for place in starts if place > own), len(named))])


def write_printed_manual(text: str, page: PageText) -> None:
    """Write the sections, terms, paragraphs and code of the manual page ``text`` to ``page``."""
    # A word that is cut at the end of a line is joined there; the rest of the next line keeps its indentation.
    kept = _CUT_WORD.sub(r"\1\2\3\n\2", text.expandtabs(8))
    lines = [line.rstrip() for line in with_whole_words(kept).split("\n")]
    indents = Counter(indent_of([line]) for line in lines if line[:1] == " ")
    writer = _Writer(page, _margin_of(lines, indents), indents)
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


def _margin_of(lines: Sequence[str], indents: Counter[int]) -> int:
    """Return the indentation of a section's text: that of the line under NAME, or else of most lines."""
    named = next((line for before, line in pairwise(lines) if before == "NAME" and line[:1] == " "), "")
    if named:
        return indent_of([named])
    usual = max(indents, key=lambda indent: (indents[indent], -indent), default=0)
    return min((i for i in indents if i <= usual and 4 * indents[i] >= indents[usual]), default=usual)


class _Writer:
    """Writes one page; ``margin`` is the indentation of a section's text, in columns."""

    def __init__(self, page: PageText, margin: int, indents: Counter[int]) -> None:
        self._page = page
        self._margin = margin
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
        elif not _EDGE.match(line) and not _FOOTER.match(line):
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
        for term, rest, at_margin in _split_at_terms(lines, self._margin, self._column):
            if term or at_margin:
                self.end_term()
            if term:
                self._term, self._described = term, rest
            elif self._term and _BULLET.fullmatch(self._term):
                self.end_term()
            elif self._term:
                self._open_term()
            if rest and not term:
                self._write_prose(rest)

    @property
    def _section(self) -> str:
        return self._sections[-1][1] if self._sections else ""

    def end_term(self) -> None:
        """Write a term with a short description as an item; repeat the section's heading after a term that was a heading."""
        term, self._term = self._term, ""
        if self._in_term and self._sections:
            self._page.heading(*self._sections[-1])
        self._in_term = False
        if _BULLET.fullmatch(term):
            self._page.item(_item_text([term, *self._described]))
        elif term and len(self._described) <= _SHORT_DESCRIPTION:
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
        if (
            any(_BRACE.fullmatch(line) for line in lines)
            or 2 * sum(" # " in line for line in lines) >= len(lines) > 1
            or (is_columns(lines) and len(lines) > 2)
            or (indent_of(lines) > self._margin and is_code(lines, self._after_colon))
            or (len(lines) > 1 and self._section == _SYNOPSIS)
            or _is_broken_by_hand(lines)
        ):
            self._page.code("\n".join(line[indent_of(lines) :] for line in lines))
        elif _BULLET.match(lines[0].lstrip()):
            self._page.item(_item_text(lines))
        elif indent_of(lines[:1]) > self._margin and (described := _nested_term(lines)):
            self._page.item(described)
        else:
            self._page.paragraph(" ".join(lines))
        self._after_colon = lines[-1].endswith(":")


def _item_text(lines: Sequence[str]) -> str:
    """Return the text of a list item without its bullet; a number stays."""
    text = squash(" ".join(lines))
    return text if text[:1] in "(0123456789" else _BULLET.sub("", text, count=1)


def _is_broken_by_hand(lines: Sequence[str]) -> bool:
    """Return whether each of several lines ends although the next word would have fit, as in a synopsis or a list of files."""
    breaks = (len(line) + 1 + len(after.split(None, 1)[0]) <= _NARROW for line, after in pairwise(lines))
    return len(lines) > 1 and all(breaks) and not _BULLET.match(lines[0].lstrip()) and not _nested_term(lines)


def _nested_term(lines: Sequence[str]) -> str:
    """Return a term below another term with its description, "crc32: Calculate …"; "" if the lines are no such term."""
    indent, deeper = indent_of(lines[:1]), indent_of(lines[1:2]) if len(lines) > 1 else 0
    found = _GAP.match(lines[0][indent:])
    if found and (not deeper or deeper == indent + found.end()):
        return f"{found[1]}: {squash(' '.join([lines[0][indent + found.end() :], *lines[1:]]))}"
    is_alone = deeper >= indent + _DEEPER and not _ends_sentence(lines[0]) and len(lines[0].split()) <= _MOST_TERM_WORDS
    return f"{lines[0].strip()}: {squash(' '.join(lines[1:]))}" if is_alone else ""


def _split_at_terms(lines: Sequence[str], margin: int, column: int) -> Iterator[tuple[str, list[str], bool]]:
    """Yield ``(term, other lines, whether it begins at the margin)`` for each part of the lines; the term may be "".

    A term stands at the start of the lines or after another entry. A line after running text continues it, unless it is the end
    of a term of several lines, or the lines above it are broken by hand.
    """
    part: list[str] = []
    term = ""
    for place, line in enumerate(lines):
        last, rest = _term_of(lines[place : place + 2], margin, column) if part or term else ("", [])
        if last:
            above = list(takewhile(lambda one: indent_of([one]) == margin, part))
            if not term and len(above) == len(part) and (joined := _joined_term([*part, last])):
                term, part = joined, rest[: len(rest) - len(lines[place + 1 : place + 2])]
                continue
            if term or len(above) < len(part) or _is_entry(part, line, margin, column):
                yield _as_part(term, part, margin, column)
                term, part = "", []
        part.append(line)
    if part:
        yield _as_part(term, part, margin, column)


def _as_part(term: str, lines: list[str], margin: int, column: int) -> tuple[str, list[str], bool]:
    return (term, lines, True) if term else (*_term_of(lines, margin, column), indent_of(lines) <= margin)


def _is_entry(part: Sequence[str], line: str, margin: int, column: int) -> bool:
    """Return whether ``part``, lines at the margin, ends before ``line``: a term with its text, an item, lines broken by hand."""
    if len(part) == 1 and _term_of(part, margin, column)[0]:
        return True
    is_item = _BULLET.match(line.lstrip()) and (_BULLET.match(part[0].lstrip()) or _ends_sentence(part[-1]))
    return bool(is_item) or _is_broken_by_hand(part)


def _joined_term(lines: Sequence[str]) -> str:
    """Return the lines as one if they are one term or several terms with the same description, else "".

    One term: its bracket is open at the end of a line. Several: names separated by commas, or one in each of several short lines.
    """
    text = squash(" ".join(lines))
    before = lines[:-1]
    if _ends_sentence(lines[-1]) or len(text) > 2 * _LONGEST_TERM:
        return ""
    if len(before) == 1 and before[0].count("(") - before[0].count(")") == 1 == text.count(")") - before[0].count(")"):
        return text if len(text) <= _LONGEST_TERM else ""
    if all(line.endswith(",") for line in before) and not any(
        word.strip(",").isalpha() and word.islower() for word in text.split()
    ):
        return text
    is_short = all(len(line) <= _NARROW or line.lstrip().startswith("--") for line in before)
    is_stack = is_short and not any(" = " in line or _ends_sentence(line) for line in before)
    return ", ".join(line.strip() for line in lines) if is_stack else ""


def _term_of(lines: Sequence[str], margin: int, column: int) -> tuple[str, list[str]]:
    """Return the term at the margin and the lines of its description; "" and all lines if they begin with no term.

    The description begins where its second line does; if it has one line only, at ``column``.
    """
    first, deeper = lines[0], indent_of(lines[1:2]) if len(lines) > 1 else 0
    if not deeper and first[column : column + 1].strip() and _reaches(first, margin, column):
        deeper = column
    if indent_of([first]) != margin or deeper < margin + _DEEPER or _BRACE.fullmatch(first):
        return "", list(lines)
    if len(first) <= deeper:
        return ("", list(lines)) if _ends_sentence(first) else (first.strip(), list(lines[1:]))
    if first[deeper - 1] == " " != first[deeper] and not _is_whole_term(first[:deeper], first[deeper:]):
        return first[:deeper].strip(), [" " * deeper + first[deeper:], *lines[1:]]
    is_plain = len(first.split()) <= 8 and not _ends_sentence(first) and "  " not in first.strip()
    return (first.strip(), list(lines[1:])) if is_plain else ("", list(lines))


def _reaches(first: str, margin: int, column: int) -> bool:
    """Return whether ``column`` follows a gap, or one word that leaves room for a single space."""
    word = first[margin : column - 1]
    fills = first[column - 1] == " " and " " not in word and (word.isupper() or not word.isalpha())
    return first[column - 2 : column] == "  " or fills


def _is_whole_term(before: str, after: str) -> bool:
    """Return whether a line goes on with its term, "-c, --command", where by chance the description's column begins."""
    return not before.endswith("  ") and (before.rstrip().endswith(",") or after.startswith("-"))


def _ends_sentence(line: str) -> bool:
    return line.endswith(_SENTENCE_ENDS) and not line.endswith("...")
