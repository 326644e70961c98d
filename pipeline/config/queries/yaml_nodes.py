"""Parses YAML bytes into nodes with positions, from the parser's event stream: its objects would hide anchors, aliases, tags
and quotes, and take ten times as long.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pipeline.config.queries.problems import UNREADABLE, Problems
from pipeline.config.queries.syntax_errors import Lines, explain

Event = Any  # the parser's events: their stubs say nothing of style, tag or value

MAX_BYTES = 1_048_576
MAX_DEPTH = 20

_ENTRY = re.compile(r"[\r\n] *- ")
_LINE_END = re.compile(r"[\r\n]")
_CONFLICT = re.compile(r"^<{7} .*?^={7}$.*?^>{7} .*?$", re.MULTILINE | re.DOTALL)


@dataclass(slots=True)
class Node:
    """A part of the file. ``line`` and ``column`` count from 1; ``start`` and ``end`` are offsets in characters."""

    line: int
    column: int
    start: int
    end: int


@dataclass(slots=True)
class Scalar(Node):
    """A text; ``written`` is its source, with quotation marks.

    ``tail`` is what a ``#`` right after it cuts off (one blank between), else "". ``runs_on`` says that a later line of it
    starts with ``- ``: most likely an entry that was indented too far.
    """

    value: str
    plain: bool
    written: str
    tail: str = ""
    runs_on: bool = False

    @property
    def empty(self) -> bool:
        """Whether nothing is written here."""
        return self.plain and not self.value


@dataclass(slots=True)
class Listing(Node):
    """A list, in block style or in brackets (``flow``)."""

    flow: bool
    children: list[Node] = field(default_factory=list)


@dataclass(slots=True)
class Mapping(Node):
    """Keys and values, alternating in ``children``."""

    flow: bool
    children: list[Node] = field(default_factory=list)

    @property
    def pairs(self) -> Iterator[tuple[Node, Node]]:
        """The keys with their values; a key whose value was not reached is left out."""
        return zip(self.children[::2], self.children[1::2], strict=False)


class Refused(Node):
    """Something already reported: an alias."""


def decoded(data: bytes, faults: Problems) -> str | None:
    """Return the file's text without a byte order mark; what YAML cannot hold is reported and replaced."""
    if len(data) > MAX_BYTES:
        faults.add_at(1, 1, "the file is larger than 1 MB", "keep fewer questions in it; what is done needs no entry")
        return None
    try:
        text = data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8").removeprefix("\ufeff")
        faults.add_at(*Lines(before).place(len(before)), "the file is not UTF-8 text", "save it in the encoding UTF-8")
        return None
    if "\0" in text:
        faults.add_at(
            *Lines(text).place(text.index("\0")), "the file is not text: it holds a zero byte", "save it as text, in UTF-8"
        )
        return None
    if _hold_conflicts(text, faults):
        return None
    return _readable(text, faults)


def _hold_conflicts(text: str, faults: Problems) -> bool:
    """Return whether git left two versions in the file; all other errors in it follow from that."""
    lines = Lines(text)
    hint = "keep what you want of both versions, and delete the lines that start with <<<<<<<, ||||||| , ======= and >>>>>>>"
    found = list(_CONFLICT.finditer(text.replace("\r\n", " \n")))
    for match in found:
        line = lines.place(match.start())[0]
        until = lines.place(match.end())[0]
        faults.add_at(line, 1, f"conflict marks of git, up to line {until}: two versions that nobody has merged", hint)
    return bool(found)


def _readable(text: str, faults: Problems) -> str:
    lines = Lines(text)

    def replaced(match: re.Match[str]) -> str:
        faults.add_at(*lines.place(match.start()), f"a control character (U+{ord(match[0][0]):04X})", "delete it")
        return "\ufffd" * len(match[0])

    return UNREADABLE.sub(replaced, text)


def nodes(text: str, faults: Problems) -> tuple[Node | None, bool]:
    """Return the file's root node (None: nothing in it), and whether the whole file could be read.

    After a fault in the syntax, what was closed before it is returned, so that its errors can be reported as well.
    """
    import yaml

    builder = _Builder(text, faults)
    try:
        for event in yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if not builder.take(event):
                return builder.root, False
    except yaml.MarkedYAMLError as error:
        explain(error, text, faults)
        return builder.closed(), False
    return builder.root, True


class _Builder:
    """Makes nodes of events."""

    def __init__(self, text: str, faults: Problems) -> None:
        self.root: Node | None = None
        self._text = text
        self._faults = faults
        self._open: list[Listing | Mapping] = []
        self._documents = 0

    def take(self, event: Event) -> bool:
        """Process one event; return whether to continue."""
        kind = type(event).__name__
        if kind == "ScalarEvent":
            self._attach(self._scalar(event))
        elif kind in {"SequenceStartEvent", "MappingStartEvent"}:
            return self._enter(event, Listing if kind.startswith("S") else Mapping)
        elif kind in {"SequenceEndEvent", "MappingEndEvent"}:
            self._open.pop().end = event.end_mark.index
        elif kind == "AliasEvent":
            self._alias(event)
        elif kind == "DocumentStartEvent":
            return self._document(event)
        return True

    def closed(self) -> Node | None:
        """Return the root without the entry that was being read: a half entry would show faults it has not."""
        for parent, child in zip(self._open, self._open[1:], strict=False):
            if isinstance(child, Mapping):
                parent.children.pop()
                break
        return self.root

    def _scalar(self, event: Event) -> Scalar:
        self._refuse_properties(event)
        written = self._text[event.start_mark.index : event.end_mark.index]
        node = Scalar(*_span(event), event.value, not event.style and event.tag is None, written)
        if node.plain:
            cut = self._text[node.end : node.end + 2] in {" #", "\t#"}
            node.tail = self._text[node.end : self._line_end(node.end)] if cut else ""
            node.runs_on = bool(_ENTRY.search(self._text, node.start, node.end))
        return node

    def _line_end(self, offset: int) -> int:
        found = _LINE_END.search(self._text, offset)
        return found.start() if found else len(self._text)

    def _enter(self, event: Event, kind: type[Listing] | type[Mapping]) -> bool:
        self._refuse_properties(event)
        node = kind(*_span(event), bool(event.flow_style))
        if len(self._open) >= MAX_DEPTH:
            self._faults.add(node, f"lists and mappings are nested more than {MAX_DEPTH} deep", "write it flat")
            return False
        self._attach(node)
        self._open.append(node)
        return True

    def _attach(self, node: Node) -> None:
        if self._open:
            self._open[-1].children.append(node)
        else:
            self.root = node

    def _alias(self, event: Event) -> None:
        node = Refused(*_span(event))
        self._faults.add(node, "a text that starts with * is read as an alias", 'write it out, or put it in quotes: "*…"')
        self._attach(node)

    def _refuse_properties(self, event: Event) -> None:
        line, column, _, _ = _span(event)
        if event.anchor is not None:
            self._faults.add_at(line, column, "a text that starts with & is read as an anchor", 'put it in quotes: "&…"')
        elif event.tag is not None:
            self._faults.add_at(line, column, "a text that starts with ! is read as a tag", 'put it in quotes: "!…"')

    def _document(self, event: Event) -> bool:
        self._documents += 1
        if self._documents > 1:
            line, column, _, _ = _span(event)
            self._faults.add_at(line, column, "a second document starts here", "remove the line ---")
        return self._documents == 1


def _span(event: Event) -> tuple[int, int, int, int]:
    start = event.start_mark
    return start.line + 1, start.column + 1, start.index, event.end_mark.index
