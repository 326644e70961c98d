"""Turns the YAML parser's error messages into plain language with a suggested fix."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import TYPE_CHECKING

from pipeline.config.queries.problems import Problems, quoted

if TYPE_CHECKING:
    from yaml import MarkedYAMLError

_TAB = ("a tab; YAML takes only spaces for indentation", "write spaces")
_WHOLE = 'put the whole text in double quotes: "…", and write \\" for one inside'
_AFTER_CLOSING = re.compile(r"""["'\]}] *\Z""")
_LINE_END = re.compile(r"\r\n|\r|\n")
_TABBED = re.compile(r"^ *(\t)[ \t]*[^\s#]", re.MULTILINE)
_QUOTES = 'put the text in quotes: "…"'
_QUESTION = re.compile(r"(?P<indent> *)(?:- +(?![a-z_]+:(?: |\Z))|(?:- +)?query: +)(?P<text>\S(?:.*\S)?)\s*")
_KEY = re.compile(r"[a-z_]+:(?: |\Z)")
_OPENING = "\"'[{"  # what starts so is a text in quotes or a list already, only not a whole one

# The parser's words → ours. The first that fits; True: the fault lies where the unfinished part began.
_PLAIN = (
    ("mapping values are not allowed", False, "a text with a colon and a space is read as key and value", _QUOTES),
    ("could not find expected ':'", True, "a key without its colon", "write `key: value`, or indent the line under its text"),
    ("found unexpected end of stream", True, "a quotation mark that is never closed", "close it"),
    ("found unknown escape", False, "an unknown escape in a text in double quotes", "write the backslash twice: \\\\"),
    ("expected ',' or ']'", True, "a bracket that is not closed, or more text after a list", "close it with ], or " + _QUOTES),
    ("expected ',' or '}'", True, "a brace that is not closed, or more text after it", "close it with }, or " + _QUOTES),
    ("expected '-' indicator", False, "this does not go on the list", "start each entry with `- ` in one column, or " + _QUOTES),
    ("expected key", False, "this does not line up with the lines above", "indent it as its neighbours are, or " + _QUOTES),
    ("alphabetic or numeric character", True, "a text cannot start with * or & unquoted", _QUOTES),
    ("comment or line break", True, "a text cannot start with > or | unquoted", _QUOTES),
    ("incompatible YAML", False, "an unknown version of YAML", "remove the line %YAML"),
    ("tag", True, "a text cannot start with ! unquoted", _QUOTES),
)


class Lines:
    """Where the lines of a text start."""

    def __init__(self, text: str) -> None:
        self._starts = [0, *(end.end() for end in _LINE_END.finditer(text))]

    def place(self, offset: int) -> tuple[int, int]:
        """Return line and column, both counting from 1, of an offset in characters."""
        line = bisect_right(self._starts, offset)
        return line, offset - self._starts[line - 1] + 1


def explain(error: MarkedYAMLError, text: str, faults: Problems) -> None:
    """Note the fault that stopped the parser."""
    problem, mark = error.problem or "this is not YAML", error.problem_mark or error.context_mark
    line, column, offset = (mark.line + 1, mark.column + 1, mark.index) if mark else (1, 1, 0)
    if "cannot start any token" in problem or "tab character" in problem:
        _explain_start(text, line, column, offset, faults)
        return
    if ("expected key" in problem or "indicator" in problem) and _AFTER_CLOSING.search(
        text, text.rfind("\n", 0, offset) + 1, offset
    ):
        faults.add_at(line, column, "more text after a closing quotation mark or bracket", _WHOLE)
        return
    for words, at_start, message, hint in _PLAIN:
        if words in problem:
            if at_start and error.context_mark:
                line, column = error.context_mark.line + 1, error.context_mark.column + 1
            faults.add_at(line, column, message, _quoting(hint, text, line))
            return
    faults.add_at(line, column, f"this is not valid YAML: {problem}", _quoting(_QUOTES, text, line))


def _quoting(hint: str, text: str, line: int) -> str:
    """The hint with the question itself in quotes, where the line holds one and all of it."""
    lines = _LINE_END.split(text)
    entry = _QUESTION.fullmatch(lines[line - 1]) if line <= len(lines) else None
    if _QUOTES not in hint or entry is None or entry["text"][0] in _OPENING:
        return hint
    after = next((other for other in lines[line:] if other.strip()), "")
    goes_on = len(after) - len(after.lstrip(" ")) > len(entry["indent"]) and not _KEY.match(after.strip())
    return hint if goes_on else hint.replace(_QUOTES, f"put the text in quotes: {quoted(entry['text'])}")


def _explain_start(text: str, line: int, column: int, offset: int, faults: Problems) -> None:
    char = text[offset : offset + 1]
    if char != "\t" and "\t" not in text[text.rfind("\n", 0, offset) + 1 : offset]:
        faults.add_at(line, column, f"a text cannot start with {char} unquoted", _quoting(_QUOTES, text, line))
        return
    faults.add_at(line, column, *_TAB)
    lines = Lines(text)
    for found in _TABBED.finditer(text):
        faults.add_at(*lines.place(found.start(1)), *_TAB)
