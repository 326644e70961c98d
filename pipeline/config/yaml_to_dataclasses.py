"""Reads YAML into dataclasses: text → nodes with positions → values, or all faults with line, column and what to write instead.

The annotations of a dataclass say how each field is read: the type's own way (``timedelta``: 7d), or the reader in ``Annotated``,
behind which may stand the field's other name in the file.
"""

from __future__ import annotations

import json
import logging
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from datetime import time, timedelta
from difflib import get_close_matches
from functools import cache, partial
from typing import Annotated, Any, Literal, TypeVar, cast, get_args, get_origin, get_type_hints

import yaml
from yaml import MappingNode, Node, ScalarNode, SequenceNode

from pipeline.text.times import clock_of, length_of

_QUOTES = 'put the text in quotes: "…"'
_WHOLE = 'put the whole text in double quotes: "…", and write \\" for one inside'
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
T = TypeVar("T")

# The parser's words → ours. The first that fits; True: the fault lies where the unfinished part began.
_SYNTAX = (
    ("but found another document", False, "a second document starts here", "remove the line ---"),
    ("mapping values are not allowed", False, "a text with a colon and a space is read as key and value", _QUOTES),
    ("could not find expected ':'", True, "a key without its colon", "write `key: value`, or indent the line under its text"),
    ("found unexpected end of stream", True, "a quotation mark that is never closed", "close it"),
    ("found unknown escape", False, "an unknown escape in a text in double quotes", "write the backslash twice: \\\\"),
    ("expected ',' or", True, "a bracket that is not closed, or more text after it", "close it with ] or }, or " + _QUOTES),
    ("expected '-' indicator", False, "this does not go on the list", "start each entry with `- ` in one column, or " + _QUOTES),
    ("expected key", False, "this does not line up with the lines above", "indent it as its neighbours are, or " + _QUOTES),
)
_SIGNS = tuple("*&!>|@`%")  # no text begins with one of them: alias, anchor, tag, text over several lines, reserved ones
_START = yaml.Mark("", 0, 0, 0, None, 0)
# What YAML takes a text without quotes for.
_MEANINGS = {"bool": "a yes/no value", "null": "nothing", "timestamp": "a date", "int": "a number", "float": "a number"}


@dataclass(frozen=True, slots=True, order=True)
class Fault:
    """One fault. ``line`` and ``column`` count from 1, in characters; ``hint`` says what to write instead."""

    line: int
    column: int
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message} → {self.hint}"


class Faults(ValueError):
    """What is wrong with a node and the nodes in it."""

    def __init__(self, found: Sequence[Fault]) -> None:
        self.found = tuple(found)


@contextmanager
def noted(found: list[Fault]) -> Iterator[None]:
    """Add the faults that are raised inside to ``found``."""
    try:
        yield
    except Faults as error:
        found += error.found


def fault_at(place: Node | yaml.Mark, message: str, hint: str) -> Faults:
    """Return a fault at a place, or where a node begins."""
    mark = place.start_mark if isinstance(place, Node) else place
    return Faults([Fault(mark.line + 1, mark.column + 1, message, hint)])


def line_of(node: Node) -> int:
    """Return the line where a node begins, counted from 1."""
    return int(node.start_mark.line) + 1


def is_empty(node: Node) -> bool:
    """Return whether nothing is written here."""
    return isinstance(node, ScalarNode) and not node.style and not node.value


Reader = Callable[[Node], Any]
# Keys of earlier versions, and what to write today: each is read over where it has no meaning any more, with one notice.
REMOVED = {
    "work": "write roles: {read: …}",
    "searxng_url": "write search_urls: {searxng: …}",
    "snapshot_every": "nothing takes its place",
    **dict.fromkeys(("workers", "concurrency"), "limits: {concurrency: …} says how much is done at once"),
    "context_tokens": "write reasoner: {context: …}",
    "max_workers": "write perspectives: …",
    **dict.fromkeys(("budget_tokens", "budget_calls"), "write budget_usd: …"),
    **dict.fromkeys(("tokens", "calls"), "limits: {tokens: …, calls: …} cap a night"),
    "dimensions": "the model says how long its vectors are",
    "questions": "mcp: {cost_usd: …} caps what other programs queue",
    "each_usd": "each may cost 0.25 USD, and mcp: {cost_usd: …} caps all that other programs queue",
    "timeout": "write limits: {deadline: …}, or run it with --deadline",
    "originals": "research forget IMPORT removes an import with its original",
    "machine": "set RESEARCH_MACHINE in the environment or in .env",
}
_log = logging.getLogger("pipeline.config")


def _decoded(data: bytes) -> str:
    """Return the file's text without a byte order mark.

    Raises:
        Faults: it is not text that YAML can hold, or git left two versions in it.
    """
    text = data.decode(errors="surrogateescape").removeprefix("\ufeff")
    start = f"\n{text}".find("\n<<<<<<< ")
    if start >= 0 and "\n>>>>>>> " in text[start:]:
        hint = "keep what you want of both, and delete the lines that start with <<<<<<<, ||||||| , ======= and >>>>>>>"
        raise _fault_after(text[:start], "conflict marks of git: two versions that nobody has merged", hint)
    bad = next((at for at, char in enumerate(text) if not char.isprintable() and not _is_readable(char)), None)
    if bad is not None:
        what = f"a control character, or a byte that is not UTF-8 (U+{ord(text[bad]):04X})"
        raise _fault_after(text[:bad], what, "delete it, or save the file in the encoding UTF-8")
    return text


def _is_readable(char: str) -> bool:
    """Whether YAML takes a character that is not printable, and as itself: white space and marks, not controls or line ends."""
    return char in "\t\n\r" or (unicodedata.category(char) not in {"Cc", "Cs", "Zl", "Zp"} and char not in "\ufeff\ufffe\uffff")


def _fault_after(before: str, message: str, hint: str) -> Faults:
    lines = f"{before}\0".replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return Faults([Fault(len(lines), len(lines[-1]), message, hint)])


def nodes(data: bytes) -> tuple[Node | None, str, list[Fault]]:
    """Return the root node (None: nothing in it), the file's text without a byte order mark, and the fault in it or its syntax.

    After one, the root is that of the text before the entry that has it, so that errors in earlier entries are reported as well.
    """
    found, root, text = list[Fault](), None, ""
    with noted(found):
        text = _decoded(data)
        try:
            for token in yaml.scan(text, Loader=_LOADER):
                if isinstance(token, yaml.AnchorToken | yaml.TagToken):
                    raise yaml.MarkedYAMLError(problem_mark=token.start_mark)
            root = yaml.compose(text, Loader=_LOADER)
        except yaml.MarkedYAMLError as error:
            found += _explained(error, text).found
            lines = text.splitlines(keepends=True)
            starts = (at for at in range(min(found[0].line, len(lines)) - 1, 0, -1) if lines[at].lstrip(" ")[:2] == "- ")
            with suppress(yaml.MarkedYAMLError):
                root = yaml.compose("".join(lines[: next(starts, 0)]), Loader=_LOADER)
    return root, text, found


def _explained(error: yaml.MarkedYAMLError, text: str) -> Faults:
    """Return the fault that stopped the parser, in plain language."""
    problem, mark = error.problem or "", error.problem_mark or _START
    start = error.context_mark or mark
    before = text[text.rfind("\n", 0, mark.index) + 1 : mark.index]
    if ("cannot start any token" in problem or "tab character" in problem) and "\t" in before + text[mark.index : mark.index + 1]:
        return fault_at(mark, "a tab; YAML takes only spaces for indentation", "write spaces")
    if ("expected key" in problem or "indicator" in problem) and before.rstrip(" ").endswith(('"', "'", "]", "}")):
        return fault_at(mark, "more text after a closing quotation mark or bracket", _WHOLE)
    for words, at_start, message, hint in _SYNTAX:
        if words in problem:
            return fault_at(start if at_start else mark, message, hint)
    for place in (start, mark):
        if (sign := text[place.index : place.index + 1]) in _SIGNS:
            return fault_at(place, f"a text cannot start with {sign} unquoted", _QUOTES)
    return fault_at(mark, f"this is not valid YAML: {problem}", _QUOTES)


def quoted(value: object) -> str:
    """Return a text in double quotes, a number or a list as YAML on one line: whatever is in it, it is read as it is here."""
    safe = json.dumps(value, ensure_ascii=False)
    return "".join(char if char.isprintable() or _is_readable(char) else f"\\u{ord(char):04x}" for char in safe)


def shown(text: str) -> str:
    """Return ``text`` in quotes on one line, at most 60 characters, for a message."""
    plain = "".join(char if char.isprintable() else " " for char in text)
    return f'"{plain}"' if len(plain) <= 60 else f'"{plain[:59]}…"'


def kind(node: Node) -> str:
    """Return what a node is, in words."""
    if isinstance(node, ScalarNode):
        return f"the text {shown(node.value)}"
    return f"{'a' if node.value else 'an empty'} {'list' if isinstance(node, SequenceNode) else 'mapping'}"


def near(word: str, words: tuple[str, ...]) -> str:
    """Return the one of ``words`` that was probably meant, or ""."""
    return next(iter(get_close_matches(word[:40].casefold(), words, n=1, cutoff=0.6)), "")


def _unknown(node: Node, what: str, meant: str, otherwise: str) -> Faults:
    return fault_at(node, f"{what} is not known here", f"did you mean {meant}?" if meant else otherwise)


def scalar(node: Node, wanted: str) -> ScalarNode:
    """Return the node if it is a single value; ``wanted`` says what to write. This and the readers raise Faults."""
    if isinstance(node, ScalarNode):
        return node
    raise fault_at(node, f"{kind(node)} where one value belongs", wanted)


def text(node: Node, wanted: str = "write a text") -> str:
    """Return a text on one line, white space collapsed; what YAML may take for something else must be quoted."""
    found = scalar(node, wanted)
    meaning = "" if found.style or not found.value else _MEANINGS.get(found.tag.rpartition(":")[2], "")
    if meaning:
        raise fault_at(node, f"{shown(found.value)} without quotes is {meaning}, not text", f"write {quoted(found.value)}")
    line = " ".join(found.value.split())
    # Controls, marks that turn the writing direction, and halves of characters.
    for char in line:
        if unicodedata.category(char) in {"Cc", "Cs"} or char in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069":
            raise fault_at(node, f"a control character (U+{ord(char):04X}) in the text", "delete it")
    if not line:
        raise fault_at(node, "an empty text", wanted)
    return line


def text_that(is_valid: Callable[[str], object], fault: str, wanted: str) -> Reader:
    """Return a reader of a text that has a form; the message about one that has not repeats it where ``fault`` has ``{}``."""

    def read(node: Node) -> str:
        found = text(node, wanted)
        if not is_valid(found):
            raise fault_at(node, fault.format(shown(found)), wanted)
        return found

    return read


def choice(*words: str, wanted: str = "") -> Reader:
    """Return a reader of one of ``words``."""
    listed = wanted or f"write {' or '.join(words)}"

    def read(node: Node) -> str:
        found: str = scalar(node, listed).value
        if found not in words:
            raise _unknown(node, shown(found), near(found, words), listed)
        return found

    return read


def single(convert: Callable[[str], Any], wanted: str) -> Reader:
    """Return a reader of one value, ``wanted`` in words; of a text that is none, ``convert`` makes None or a ValueError."""

    def read(node: Node) -> Any:
        said = scalar(node, f"write {wanted}").value
        with suppress(ValueError):
            if (value := convert(said)) is not None:
                return value
        raise fault_at(node, f"{shown(said)} is not {wanted.partition(', such as')[0]}", f"write {wanted}")

    return read


def number(low: float, high: float, wanted: str, of: Callable[[str], float] = float) -> Reader:
    """Return a reader of a number from ``low`` to ``high``."""

    def convert(said: str) -> float | None:
        value = of(said)
        return value if low <= value <= high else None

    return single(convert, wanted)


def whole(low: int, high: int) -> Reader:
    """Return a reader of a whole number from ``low`` to ``high``."""
    return number(low, high, f"a whole number from {low} to {high}", int)


def _length(said: str) -> timedelta | None:
    found = length_of(said.strip())
    return found if found and found <= timedelta(days=3_650) else None


money = number(1e-9, 999_999_999, "an amount above zero, such as 2.50")  # in USD
duration = single(_length, "a length of time from 1s to 3650d, such as 90m, 12h or 7d")
_yes_or_no = single({"true": True, "false": False}.get, "true or false")
clock = single(clock_of, 'a time of day, such as "06:30" or "06:30 Europe/Berlin"')


def listing(each: Reader, wanted: str = "write a list: [a, b]", *, some: bool = False) -> Reader:
    """Return a reader of a list whose entries ``each`` reads, each value once; ``some``: not of an empty one."""

    def read(node: Node) -> tuple[Any, ...]:
        if not isinstance(node, SequenceNode) or (some and not node.value):
            raise fault_at(node, f"{kind(node)} where a list belongs", wanted)
        values, found = dict[Any, None](), list[Fault]()
        for child in node.value:
            with noted(found):
                values[each(child)] = None
        if found:
            raise Faults(found)
        return tuple(values)

    return read


def pairs(each: Reader, keys: Sequence[str] = ()) -> Reader:
    """Return a reader of a mapping as pairs of key and value; ``keys`` are those it may have, () for any."""

    def read(node: Node) -> tuple[tuple[str, Any], ...]:
        pairs_of_node = node.value if isinstance(node, MappingNode) else []
        known = keys or [key.value for key, _ in pairs_of_node if isinstance(key, ScalarNode)]
        return tuple(members(node, dict.fromkeys(known, each)).items())

    return read


def either(words: Reader, otherwise: Reader) -> Reader:
    """Return a reader of a single value or, for a list or a mapping, of something else."""
    return lambda node: words(node) if isinstance(node, ScalarNode) else otherwise(node)


def record(cls: type[T], node: Node, found: list[Fault] | None = None, **more: object) -> T:
    """Return the ``cls`` that a mapping describes; with ``found``, its faults are added there, and their fields left out.

    Raises:
        Faults: all that is wrong with its fields; or one without a default is missing.
    """
    keys = keys_of(cast("Any", cls))
    values = members(node, {key: read for key, (_, read) in keys.items()}, found)
    for key, (field, _) in keys.items():
        if field.default is MISSING and key not in values and key not in more:
            raise fault_at(node, f"{key} is missing here", f"write {{{key}: …}}")
    return cls(**{**more, **{keys[key][0].name: value for key, value in values.items()}})


@cache
def notice(name: str) -> None:
    """Say once that a key is of an earlier version, and what to write today."""
    _log.warning("queries.yaml: the key %s is of an earlier version: %s", name, REMOVED[name])


def members(
    node: Node, readers: Mapping[str, Reader], found: list[Fault] | None = None, *, empty: bool = False
) -> dict[str, Any]:
    """Return the values of known keys. Keys that are unknown, given twice or, unless ``empty``, without a value are faults.

    Faults are added to ``found``, and the other values returned; without it they are raised.
    """
    if not isinstance(node, MappingNode):
        raise fault_at(node, f"{kind(node)} where a mapping belongs", f"write {{{next(iter(readers), 'key')}: …}}")
    seen, values, faults = dict[str, int](), dict[str, Any](), list[Fault]() if found is None else found
    for key, value in node.value:
        with noted(faults):
            name: str = scalar(key, "write a key, such as `mode:`").value
            if name in seen:
                raise fault_at(key, f"the key {shown(name)} is given twice, first in line {seen[name]}", "keep one of the two")
            seen[name] = line_of(key)
            if name in REMOVED and name not in readers:
                notice(name)
                continue
            if name not in readers:
                known = f"known are: {', '.join(readers)}"
                raise _unknown(key, f"the key {shown(name)}", near(name, tuple(readers)), known)
            if is_empty(value) and not empty:
                raise fault_at(value, f"{name} has no value", "write one, or remove the line")
            values[name] = readers[name](value)
    if faults and found is None:
        raise Faults(faults)
    return values


@cache
def keys_of(cls: Any) -> dict[str, tuple[Field[Any], Reader]]:
    """Return the keys of the mapping that a dataclass is read from, each with its field and reader.

    A field whose reader is None does not stand in the file.
    """
    found = {}
    hints = get_type_hints(cls, include_extras=True)
    for field in fields(cls):
        (_, *names) = getattr(hints[field.name], "__metadata__", [None])
        if reader := _reader(hints[field.name]):
            found[names[0] if names else field.name] = field, reader
    return found


def _reader(hint: Any) -> Any:
    if get_origin(hint) is Annotated:
        return hint.__metadata__[0]
    if get_origin(hint) is Literal:
        return choice(*get_args(hint))
    if is_dataclass(hint):
        return partial(record, cast("type", hint))
    if parts := get_args(hint):  # a list of the first, or that or nothing
        return listing(_reader(parts[0])) if get_origin(hint) is tuple else _reader(parts[0])
    return {str: text, float: money, timedelta: duration, time: clock, bool: _yes_or_no, int: whole(1, 999_999_999)}[hint]
