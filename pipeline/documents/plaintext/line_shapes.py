"""Recognisers for plain text lines: release headings of news files, code, columns, fields, terms with descriptions."""

from __future__ import annotations

import re
from collections.abc import Sequence

_NUMBER = r"v?\d{1,5}(?:\.\d{1,5}){1,4}[\w.+~:-]{0,40}"
_CHANGES = r"(?:noteworthy changes|user[- ]visible changes|changes|what'?s new|new features|new)\b[^.]{0,40}?"
_RELEASE = re.compile(
    rf"(?:\*[ \t]+)?(?:{_CHANGES}\s(?:(?:release|version)\s+)?{_NUMBER}"
    rf"|(?:version|release)\s+v?\d[\w.+~-]{{0,40}}(?=\s*\Z|\s*[-–—:(,]|\s+(?:released|as of)\b)"
    rf"|[A-Za-z][\w.+-]{{0,40}}\s+(?:\({_NUMBER}\)|(?:version\s+)?{_NUMBER}(?=\s*\Z|\s*[-–—:(,]))"
    rf"|{_NUMBER}(?=\s*\Z|\s*[-–—:(,]|\s+\d{{4}}-)"
    rf")[^\n]{{0,100}}\Z",
    re.IGNORECASE,
)
_STANZA = re.compile(r"([a-z0-9][\w.+-]{0,60} \([^()\s]{1,60}\) [\w. -]{1,60}); urgency=\S.*\Z")
_PROSE = re.compile(r"\b(?:features|changes)\b[^.]{0,40}\b(?:added to|in|to) ([A-Za-z][\w+]{0,40}-\d[\w.-]{0,30}) since\b")
_MODE_LINE = re.compile(r"-\*-.{0,60}-\*-.*")
_CODE = re.compile(
    r"[$#%>] |.*(?:[{};|\\]|\s=\s|==|=>|->|\w\(|\w=\S|<\w+>|&&)|[-/~]\S|\w[\w-]{0,30}(?: -{1,2}[\w-]+| [./~]\S+)|\w+\.\w+\.\w+\Z"
)
_COLUMNS = re.compile(r"\s*\S.*[^\s.!?:;] {3,}\S")
_FIELD = re.compile(r"[A-Z][A-Za-z-]{2,30}:(?:[ \t]|\Z)")
UNDERLINE = re.compile(r"([=\-~^\"'`#*+:.])\1{2,}\s*\Z")
_RULE = re.compile(r"[ \t]*([-=_~*])\1{19,}[ \t]*\Z")
_QUESTION = re.compile(r"(?:\d{1,3}\.\d{1,3}[.):]?|Q(?:uestion)?(?: ?\d{1,3})?[.:)])[ \t]+\S")
_NUMBER_ALONE = re.compile(r"\d{1,3}[.)][ \t]+[A-Z\"'`(]")
_QUESTION_LINES = 5
_FEWEST_COLUMNS = 2
_LONGEST_TERM = 50
_TERM_WORDS = 6


def release_of(line: str) -> str:
    """Return the heading's text if ``line`` names the release that the lines below describe, else ""."""
    line = _MODE_LINE.sub("", line).rstrip()
    if line[:1].isspace() or len(line) > 150:
        return ""
    if stanza := _STANZA.match(line):
        return stanza[1]
    return line.lstrip("* \t") if not line.endswith((".", ",", ";", ":")) and _RELEASE.match(line) else ""


def release_in_prose(line: str) -> str:
    """Return the release named in a sentence such as "changes added to tool-1.2 since", or ""."""
    found = _PROSE.search(line[:300])
    return found[1] if found else ""


def without_mode_line(line: str) -> str:
    """Return ``line`` without an editor's mode line (``-*- outline -*-``)."""
    return _MODE_LINE.sub("", line).rstrip()


def indent_of(lines: Sequence[str]) -> int:
    """Return the smallest indentation of ``lines``, in columns."""
    return min(len(line) - len(line.lstrip()) for line in lines)


def is_columns(lines: Sequence[str]) -> bool:
    """Return whether ``lines`` are set in columns, so that they must not be joined."""
    return len(lines) >= _FEWEST_COLUMNS and 10 * sum(bool(_COLUMNS.match(line[:300])) for line in lines) >= 6 * len(lines)


def is_code(lines: Sequence[str], announced: bool) -> bool:
    """Return whether most of the indented ``lines`` look like code; ``announced``: the text before them ends with a colon."""
    looks = sum(bool(_CODE.match(line.strip()[:300])) for line in lines)
    is_prose = lines[-1].rstrip().endswith((".", "!", "?")) and max(map(len, lines)) > _LONGEST_TERM
    return not is_prose and 2 * looks >= len(lines) and (announced or 4 * looks >= 3 * len(lines))


def are_fields(lines: Sequence[str]) -> bool:
    """Return whether ``lines`` are fields (``Name: value``), at least two of them."""
    return bool(_FIELD.match(lines[0])) and sum(bool(_FIELD.match(line)) for line in lines) > 1


def begins_field(line: str) -> bool:
    """Return whether ``line`` begins a field."""
    return bool(_FIELD.match(line))


def is_term(lines: Sequence[str], *, markup: bool) -> bool:
    """Return whether the first line is a term and the rest, indented more, its description.

    ``markup``: in this markup, deeper indentation always means a description.
    """
    first, rest = lines[0].strip(), lines[1:]
    if not rest or len(first) > _LONGEST_TERM or len(first.split()) > _TERM_WORDS or first.endswith((".", ",", ";", "-")):
        return False
    deeper = indent_of(rest) >= len(lines[0]) - len(lines[0].lstrip()) + 2
    return deeper and (markup or first[0] in "-`'\"/$" or rest[0].strip()[0].isupper())


def is_rule(line: str) -> bool:
    """Return whether ``line`` is drawn across the text to separate its parts."""
    return _RULE.match(line) is not None


def is_underline(line: str, title: str) -> bool:
    """Return whether ``line`` is an underline of about the title's length; a rule below a sentence is none."""
    length = len(title.strip())
    if is_rule(line) and len(line.strip()) > length + 2 and title.rstrip().endswith((".", ":", ";")):
        return False
    return bool(UNDERLINE.match(line)) and length < 150 and len(line.strip()) >= max(3, length - 2)


def asked_lines(lines: Sequence[str], *, is_faq: bool) -> int:
    """Return how many of the first lines are a numbered question, the heading of the answer below; 0 if they begin with none.

    ``is_faq``: the document consists of questions, so a numbered paragraph of a few lines is one also without a question mark.
    Numbered lines one below the other are a list.
    """
    if not _QUESTION.match(lines[0]) and not (is_faq and _NUMBER_ALONE.match(lines[0])):
        return 0
    if sum(bool(_QUESTION.match(line) or _NUMBER_ALONE.match(line)) for line in lines) > 1:
        return 0
    first = lines[:_QUESTION_LINES]
    end = next((place for place, line in enumerate(first, 1) if line.rstrip().endswith("?")), 0)
    is_whole = is_faq and len(lines) < _QUESTION_LINES and bool(_QUESTION.match(lines[0]))
    return end or (len(lines) if is_whole else 0)
