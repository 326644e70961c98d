"""Plain text and reStructuredText → page text: finds headings, releases of news files, items, code and paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.documents.page_writer import Document, PageText, squash
from pipeline.documents.plaintext.line_shapes import (
    UNDERLINE,
    are_fields,
    asked_lines,
    begins_field,
    indent_of,
    is_code,
    is_columns,
    is_rule,
    is_term,
    is_underline,
    release_in_prose,
    release_of,
    without_mode_line,
)
from pipeline.documents.plaintext.print_artifacts import with_whole_words, without_page_edges

_UNDERLINES = "=-~^\"'`#*+:."
_NUMBERED = re.compile(r"(\d{1,3}(?:\.\d{1,3}){0,4})\.?[ \t]{1,4}([A-Z][^.!?:;,]{2,70})\Z")
_PART = re.compile(r"\d{1,3}[.)]")
_ITEM = re.compile(r"[ \t]*(?:[-*•–+o]|\(?\d{1,3}[.)]|\(?[a-z][.)])[ \t]+(\S.*)")
_DIRECTIVE = re.compile(r"\.\. (?:\|[^|]{1,100}\| )?([\w:-]{1,50})::[ \t]*(.*)")
_ROLE = re.compile(r":[a-zA-Z][\w:.+-]{0,40}:`([^`]{1,300})`")
_TARGETED = re.compile(r"`([^`<>]{1,300}?)\s*<[^`<>]{1,500}>`__?")
_LITERAL = re.compile(r"``([^`\n]{1,300})``|`([^`\n]{1,300})`_{0,2}")
_CODE_DIRECTIVES = frozenset(("code-block", "code", "sourcecode", "parsed-literal", "highlight", "doctest", "testcode", "math"))
_RST_FIELD = re.compile(r"[ \t]*:([^:\n]{1,60}):[ \t]+(\S.*)")
_OPTION = re.compile(r"[ \t]*(-{1,2}\w[^\s,]{0,60}(?:(?:, | |,)[^\s]{1,60}){0,4}) {2,}(\S.*)")
_STARS = re.compile(r"(\*{1,5})[ \t]+(\S.*)")
_NEWS = re.compile(r"\b(?:news|changelog|changes|history|releases)\b", re.IGNORECASE)
_NEWS_WORD = re.compile(r"\b(?:NEWS|ChangeLog|Changelog|CHANGES|Changes|History)\b")
_FAQ = re.compile(r"(?:\b|_)FAQ(?:\b|_)|frequently asked questions", re.IGNORECASE)
_HEAD = 400  # characters at the start of a text that say what it is
_GENERIC_NAME = re.compile(
    r"\b(?:readme|news|changelog|changes|copyright|install|licen[cs]e|todo|authors|copying|thanks|history)\b", re.I
)
_LONGEST_CAPITALS = 60
_LONGEST_TITLE = 100
_LABEL_WORDS = 6
_LEAST_LINES_BELOW = 2  # lines of the text below a title without a blank line between
_TITLE_SHARE = 0.75  # of the longest line below: a line of prose that ends earlier was ended on purpose
_CODE_INDENT = 4


def read_text(source: str, name: str, *, markup: bool = False) -> Document:
    """Return the document in ``source``; with ``markup`` it is reStructuredText, whose marks are removed.

    ``name`` is the title if the document has none. A generic file such as "coreutils NEWS" has a title only in its first line.
    """
    page = PageText()
    reader = _Reader(page, markup, is_news=bool(_NEWS.search(name)), is_faq=bool(_FAQ.search(name + source[:_HEAD])))
    reader.read(list(_paragraphs(with_whole_words(without_page_edges(source).expandtabs(8)))))
    is_generic = bool(_GENERIC_NAME.search(name))
    title = (
        reader.title
        or ("" if is_generic else reader.first_heading)
        or ("" if name.isdecimal() else name)
        or page.first_heading
        or name
    )
    return Document(title, page.rendered(title), "text/x-rst" if markup else "text/plain")


def _paragraphs(source: str) -> Iterator[list[str]]:
    lines: list[str] = []
    for line in source.split("\n"):
        if line.strip():
            lines.append(line.rstrip())
        elif lines:
            yield lines
            lines = []
    if lines:
        yield lines


class _Reader:
    """Reads the paragraphs (lines without a blank line between them) in order and writes their blocks.

    ``title`` is the heading that the document begins with; ``first_heading`` the first that names no release, if it has no number
    and only a few blocks are before it. Both may be "".
    """

    def __init__(self, page: PageText, markup: bool, *, is_news: bool, is_faq: bool) -> None:
        self._page = page
        self._markup = markup
        self._is_news = is_news
        self._is_faq = is_faq
        self._is_outline = self._is_starred = False  # headings are marked with stars; so are the releases' headings
        self._levels: list[str] = []
        self._base = 0  # the level of the releases' headings, once one was found
        self._code_follows = False
        self._ignored = False
        self._after_colon = False
        self._indent = 0
        self._started = False
        self.title = self.first_heading = ""
        self._has_heading = False

    def read(self, paragraphs: list[list[str]]) -> None:
        """Write all blocks."""
        self._is_outline = not self._markup and any(lines[0].startswith("** ") for lines in paragraphs)
        for lines, following in zip(paragraphs, [*paragraphs[1:], [""]], strict=False):
            self._write_paragraph(lines, following)
            self._started = True

    def _write_paragraph(self, lines: list[str], following: list[str]) -> None:
        """Write the blocks of one paragraph's ``lines``."""
        if self._markup and (self._consume_literal(lines) or self._consume_directive(lines)):
            return
        if not self._markup:
            lines = self._take_plain_headings(lines, following)
        lines = self._take_underlined_headings(lines) if lines else []
        if not lines:
            return
        self._code_follows = self._markup and lines[-1].endswith("::")
        if len(lines) == 1 and self._write_if_heading(lines[0].strip()):
            return
        if lines := [line for line in lines if not is_rule(line)]:
            self._write_body(lines)

    def _take_plain_headings(self, lines: list[str], following: list[str]) -> list[str]:
        """Write the headings that plain text marks by words or stars; return the lines that are left."""
        first, alone = lines[0], len(lines) == 1
        underlined = not alone and bool(UNDERLINE.match(lines[1]))
        release = "" if underlined else release_of(first)
        has_mode = not self._started and alone and without_mode_line(first) != first
        if has_mode or (not underlined and not release and self._is_title_of_news(lines)):
            self._add_heading(1, without_mode_line(first).strip().rstrip("."))
            return lines[1:]
        if release and (alone or self._is_news):
            self._is_starred = first.startswith("*")
            self._add_release(release)
            return lines[1:]
        if self._is_news and (release_told := release_in_prose(" ".join(lines[:3]))):
            self._add_release(release_told)
            return [line for line in lines if not UNDERLINE.match(line)]
        if self._is_outline and (stars := _STARS.match(first)):
            return self._take_outline_line(lines, following, len(stars[1]), stars[2])
        if len(lines) > 1 and not underlined and self._opens_items(lines):
            self._add_heading(self._base + 1 if self._base else len(self._levels) + 1, _ITEM.sub(r"\1", first).rstrip(": "))
            return lines[1:]
        if not self._started and _is_title_line(lines):
            self._add_heading(1, first.strip())
            return lines[1:]
        if asked := asked_lines(lines, is_faq=self._is_faq):
            self._add_heading(max(len(self._levels), self._base) + 1, squash(" ".join(lines[:asked])))
            return lines[asked:]
        if len(lines) > 1 and first.endswith(":") and _is_capitals(first.strip()[:-1]):
            self._write_if_heading(first.strip())
            return lines[1:]
        return lines

    def _add_release(self, text: str) -> None:
        self._base = self._base or (2 if self.title else 1)
        self._add_heading(self._base, text, is_release=True)

    def _is_title_of_news(self, lines: list[str]) -> bool:
        first = lines[0].strip()
        return not self._started and self._is_news and len(first) <= _LONGEST_TITLE and bool(_NEWS_WORD.search(first))

    def _take_outline_line(self, lines: list[str], following: list[str], depth: int, text: str) -> list[str]:
        """Read a line that begins with stars: it is a heading if text or deeper stars follow it, else an item."""
        has_body = len(lines) == 1 and bool(following[0].strip()) and not _STARS.match(following[0])
        opening = _STARS.match(following[0])
        leads = len(lines) == 1 and opening is not None and len(opening[1]) > depth
        is_heading = (self._is_starred or not self._base) if depth == 1 else has_body or leads
        if is_heading or self._opens_items(lines):
            above = self._base - 1 if self._is_starred else self._base or (1 if self.title else 0)
            self._add_heading(above + depth, text.rstrip(": "))
            return lines[1:]
        return [f"- {text}", *lines[1:]]

    def _opens_items(self, lines: list[str]) -> bool:
        """Return whether the first line looks like an item but is a label above items that are indented more."""
        if not self._is_news or len(lines) < 2 or lines[0][:1].isspace() or not lines[1][:1].isspace():
            return False
        first, second = _ITEM.match(lines[0]), _ITEM.match(lines[1])
        return first is not None and second is not None and len(first[1].split()) <= _LABEL_WORDS and not first[1].endswith(".")

    def _write_body(self, lines: list[str]) -> None:
        """Write lines that are no headings: code, fields, a term with its description, items, a paragraph."""
        after_colon, self._after_colon = self._after_colon, lines[-1].endswith(":")
        indent = indent_of(lines)
        is_further_in = indent >= self._indent + _CODE_INDENT and not _ITEM.match(lines[0])
        if (
            not self._markup
            and not _OPTION.match(lines[0])
            and ((is_further_in and is_code(lines, after_colon)) or is_columns(lines))
        ):
            self._page.code("\n".join(line[indent:] for line in lines))
            return
        self._indent = indent if not _ITEM.match(lines[0]) else self._indent
        if is_term(lines, markup=self._markup) and not any(_ITEM.match(line) for line in lines):
            self._page.item(self._unmarked(f"{lines[0].strip().rstrip(':')}: {' '.join(lines[1:])}"))
            return
        for kind, text in _runs(lines, in_fields=are_fields(lines), in_rst=self._markup):
            (self._page.item if kind == "item" else self._page.paragraph)(self._unmarked(text))

    def _add_heading(self, level: int, text: str, *, is_release: bool = False) -> None:
        text = self._unmarked(text).strip("* ") or text
        if not self._started and not is_release and not self.title:
            self.title = text
        if not is_release and not release_of(text):
            self._take_first_heading(text)
        self._page.heading(level, text)

    def _take_first_heading(self, text: str) -> None:
        """Keep the first heading if it may be the title: at the document's start, and no numbered part of it."""
        if not self._has_heading and self._page.is_at_start and not _PART.match(text):
            self.first_heading = text
        self._has_heading = True

    def _consume_literal(self, lines: list[str]) -> bool:
        """Write or drop ``lines`` if they belong to the code or directive before them; return whether they do."""
        if not lines[0].startswith(" "):
            self._code_follows = self._ignored = False
        if self._code_follows:
            self._page.code("\n".join(lines))
        return self._code_follows or self._ignored

    def _consume_directive(self, lines: list[str]) -> bool:
        if not lines[0].lstrip().startswith(".. "):
            return False
        found = _DIRECTIVE.match(lines[0].lstrip())
        self._code_follows = bool(found and found[1] in _CODE_DIRECTIVES)
        self._ignored = not found or found[1] in ("toctree", "index", "image", "figure", "contents", "include")
        if found and not self._code_follows and not self._ignored:
            self._page.paragraph(self._unmarked(" ".join([found[2], *(line.strip() for line in lines[1:] if line[:1] == " ")])))
        return True

    def _take_underlined_headings(self, lines: list[str]) -> list[str]:
        """Write the headings that have a line of signs under (and over) them; return the lines that are left."""
        if len(lines) > 2 and UNDERLINE.match(lines[0]) and lines[0] == lines[2]:
            self._add_underlined(lines[0][0] * 2, lines[1])
            return lines[3:]
        left: list[str] = []
        for line in lines:
            if left and is_underline(line, left[-1]) and len(left) == 1:
                self._add_underlined(line[0], left.pop())
            else:
                left.append(line)
        return left

    def _add_underlined(self, mark: str, text: str) -> None:
        if mark not in self._levels:
            self._levels.append(mark)
        self._add_heading(1 + self._levels.index(mark), without_mode_line(text), is_release=bool(release_of(text)))

    def _write_if_heading(self, line: str) -> bool:
        numbered = _NUMBERED.match(line)
        if not numbered and not _is_capitals(line.removesuffix(":")):
            return False
        depth = numbered[1].count(".") if numbered else 0
        self._add_heading(max(len(self._levels), self._base) + 1 + depth, line.rstrip(":"))
        return True

    def _unmarked(self, text: str) -> str:
        if not self._markup:
            return text
        text = _TARGETED.sub(r"\1", _ROLE.sub(lambda found: found[1].lstrip("~!"), text))
        return _LITERAL.sub(lambda found: found[1] or found[2], text).replace("::", ":").replace("**", "")


def _is_title_line(lines: list[str]) -> bool:
    """Return whether the first line is a title above a text: short, without an end mark, broken although more would have fit."""
    first, rest = lines[0].strip(), [line.strip() for line in lines[1:]]
    if len(rest) < _LEAST_LINES_BELOW or not first[:1].isupper() or not rest[0][:1].isupper() or first[-1] in ".,;:!?-":
        return False
    if _ITEM.match(lines[0]) or is_columns(lines) or are_fields(lines):
        return False
    return len(first) + 1 + len(rest[0].split()[0]) <= _TITLE_SHARE * max(map(len, rest))


def _is_capitals(line: str) -> bool:
    letters = [letter for letter in line if letter.isalpha()]
    short = len(line) <= _LONGEST_CAPITALS and len(letters) >= 4 and line[-1] not in ".,;:!?"
    return short and line == line.upper() and line != line.lower() and 2 * len(letters) > len(line)


def _runs(lines: list[str], *, in_fields: bool, in_rst: bool) -> Iterator[tuple[str, str]]:
    """Yield ``(kind, text)`` of items and paragraphs; a line that begins no item continues the one before it."""
    kind, run = "paragraph", [""]
    for line in lines:
        if in_rst and (field := _RST_FIELD.match(line)):
            opened = f"{field[1]}: {field[2]}"
        elif option := _OPTION.match(line):
            opened = f"{option[1]}: {option[2]}"
        elif in_fields and begins_field(line):
            opened = line
        else:
            opened = found[1] if (found := _ITEM.match(line)) else ""
        if opened:
            yield kind, squash(" ".join(run))
            kind, run = "item", [opened]
        else:
            run.append(line)
    yield kind, squash(" ".join(run))
