"""Plain text and manual pages → page: paragraphs, lists, numbered and underlined headings; columns stay as they are.

Manual pages are read by ``mandoc`` where it is installed, else as plain text. One may ask for other files to be shown in it. Such
requests are taken out; and as they may be hidden, the extraction process has no folder in which mandoc could find one: mandoc
itself refuses names that lead out of its folder.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from html import escape, unescape

from pipeline.documents.page_writer import PageText, squash
from pipeline.errors import ReadFailed
from pipeline.ports import Page
from pipeline.text.words import word_count

_SET_IN, _WRAPPED = 2, 45  # columns further in than the text around; least length of a line that is wrapped
# "1. Scope", "2.3  Limits", "Chapter 4": a number makes a line a heading only where it stands alone.
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?[ \t]+\S.{0,99}\Z")
_UNDERLINES = "=-~^\"'`#*+_:."
# The signs that open an item: "-", "•", "1.", "(2)"; plain text has no other mark of a list.
_BULLET = re.compile(r"(?:[-*•·o+]|\(?\d{1,2}[.)])[ \t]+(?=\S)")
_COLUMNS = re.compile(r"\S(?: {3,}|\t)\S")  # words set apart: a table or a drawing, whose line breaks carry meaning

_MANUAL = re.compile(r"^[.'][ \t]*(?:TH|Dd|SH|Sh)\b", re.MULTILINE)  # the requests that a manual page consists of


def is_manual(source: str) -> bool:
    """Return whether ``source`` has the requests that a manual page consists of."""
    return bool(_MANUAL.search(source))


def read_text(source: str, name: str) -> Page:
    """Return the document in ``source``; ``name`` is the title if its first line is none."""
    page = PageText()
    title = ""
    levels: list[str] = []
    groups = list(_groups(source.replace("\f", "\n\n").expandtabs(8)))
    usual = Counter(map(_indent, groups)).most_common(1)[0][0] if groups else 0
    for number, lines in enumerate(groups):
        heading, rest = _heading(lines, levels)
        if heading:
            title = title or (heading[1] if number == 0 else "")
            page.add("heading", heading[1], heading[0])
        if rest:
            _write(page, rest, usual)
    text = page.rendered(title or name)
    words = word_count(source)
    return Page("", title or name, text, "text/plain", visible=words, stored=words)


def _groups(source: str) -> Iterator[list[str]]:
    group: list[str] = []
    for line in (*source.split("\n"), ""):
        if line.strip():
            group.append(line.rstrip())
        elif group:
            yield group
            group = []


def _heading(lines: list[str], levels: list[str]) -> tuple[tuple[int, str] | None, list[str]]:
    """Return level and text of the heading that ``lines`` begin with, if they do, and the other lines."""
    marks = [line.strip() for line in lines[:3]]
    if len(lines) > 2 and _is_underline(marks[0]) and marks[0] == marks[2]:
        lines, marks = lines[1:], marks[1:]
    if len(lines) > 1 and _is_underline(marks[1]) and not _is_underline(marks[0]) and len(marks[1]) >= len(marks[0]) - 2:
        if marks[1][0] not in levels:
            levels.append(marks[1][0])
        return (1 + levels.index(marks[1][0]), marks[0]), lines[2:]
    found = _NUMBERED.match(marks[0])
    alone = len(lines) == 1 and found and marks[0][-1] not in ".,;:!?" and not _COLUMNS.search(marks[0])
    return ((len(levels) + 1 + found[1].count("."), squash(marks[0])), []) if alone and found else (None, lines)


def _is_underline(line: str) -> bool:
    return len(line) > 2 and line[0] in _UNDERLINES and not line.strip(line[0])


def _indent(lines: list[str]) -> int:
    return min(len(line) - len(line.lstrip()) for line in lines)


def _write(page: PageText, lines: list[str], usual: int) -> None:
    """Add some lines to the page; lines further in than ``usual`` that are no wrapped text are commands or the like."""
    indent = _indent(lines)
    lines = [line[indent:] for line in lines]
    is_set_in = indent >= usual + _SET_IN and not _BULLET.match(lines[0])
    is_wrapped = len(lines) > 1 and min(map(len, lines[:-1])) > _WRAPPED
    has_columns = 2 * sum(bool(_COLUMNS.search(line)) for line in lines) > len(lines)
    if any(map(_is_underline, lines)) or has_columns or (is_set_in and len(lines) > 1 and not is_wrapped):
        page.add("code", "\n".join(lines))
        return
    started: list[str] = []
    in_item = False
    for line in (*lines, None):
        bullet = _BULLET.match(line.lstrip()) if line is not None else None
        if line is None or bullet:
            page.add("item" if in_item else "paragraph", "\n".join(started))
            started, in_item = [], True
        if line is not None:
            started.append(line.lstrip()[bullet.end() :] if bullet and not line.lstrip()[0].isdigit() else line)


_PLACES = "/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin:/opt/local/bin"
_SECONDS = 8
_INCLUDES = ("so", "mso", "soquiet", "open", "sy", "pso")  # a name may hide in a string: this is not what keeps files unread
_HEADINGS, _BREAKS = ("SH", "SS", "Sh", "Ss"), ("PP", "P", "LP", "Pp", "TP", "IP", "HP", "sp", "br")
# Roff's escapes in the usual cases, for a machine without mandoc, so that the words remain.
_ESCAPE = re.compile(r"\\(?:f(?:\[[^\]\n]*\]|\(..|.)|[&|^/,%:]|s[-+]?\d|\*(?:\(..|\[[^\]\n]*\]|.))")


@cache
def mandoc() -> str:
    """Return the path of ``mandoc``, or "" if it is not installed."""
    return shutil.which("mandoc", path=_PLACES) or ""


def read_manual(source: str, name: str) -> Page:
    """Return the document in the roff text ``source``; ``name`` is the title if it has none.

    Raises:
        ReadFailed: it holds no text, or only the name of another page.
    """
    own = "\n".join(line for line in source.split("\n") if _request(line)[0] not in _INCLUDES)
    if not is_manual(own):
        raise ReadFailed("it is only a reference to another manual page" if own != source else "it holds no text")
    if not mandoc():
        plain = ""
        for macro, rest in map(_request, own.split("\n")):
            parted = "\n\n" if macro in _HEADINGS + _BREAKS else ""
            plain += f"{parted}{_ESCAPE.sub('', rest) if macro not in _BREAKS else ''}{parted}\n"
        return read_text(plain.replace("\\-", "-").replace("\\(aq", "'").replace("\\e", "\\"), name)
    command = [mandoc(), "-T", "html", "-K", "utf-8", "-O", "fragment"]
    try:
        shown = subprocess.run(command, input=own.encode(), capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
    except (subprocess.TimeoutExpired, OSError) as error:
        raise ReadFailed(f"mandoc did not read it ({type(error).__name__})") from error
    head, _, html = shown.stdout.decode("utf-8", "replace").partition('<div class="manual-text">')
    from pipeline.documents.html_reader import read_html

    document = read_html(f"<title>{escape(name)}</title>{html.rpartition('<table class=')[0]}", name, all_is_content=True)
    title = _title(head, document.text) or name
    return replace(document, title=title, text=f"# {title}\n" + document.text.partition("\n")[2], media_type="text/troff")


def _request(line: str) -> tuple[str, str]:
    """Return the name of the request or macro that a line of roff consists of, "" without one, and the rest of the line."""
    line = line.partition('\\"')[0]
    if line[:1] not in (".", "'"):
        return "", line
    name, _, rest = line[1:].lstrip().partition(" ")
    return name, rest.strip().strip('"')


def _title(head: str, text: str) -> str:
    """Return "ls(1): list directory contents": the table that mandoc puts above a page, and the page's first section."""
    head = unescape(head.partition('class="head-ltitle">')[2].partition("</")[0].strip())
    head = head.lower() if head.partition("(")[0].isupper() else head
    about = text.partition("{#NAME}\n\n")[2].partition("\n")[0]
    does = next((about.partition(dash)[2] for dash in (" — ", " – ", " - ") if dash in about), "").strip(" .")
    return squash(f"{head}: {does}" if does else head)
