"""Readers of single values: each returns a node's value, or adds an error and returns None."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from datetime import time, timedelta
from difflib import get_close_matches
from functools import lru_cache

from pipeline.config.queries.problems import Problems, quoted, shown
from pipeline.config.queries.yaml_nodes import Listing, Mapping, Node, Refused, Scalar
from pipeline.text.times import clock_of

Reader = Callable[[Node, Problems], object]

# Plain texts that some parser of YAML 1.1 or 1.2 reads as something other than text.
_SWITCH = re.compile(r"(?i:yes|no|on|off|true|false)")
_OTHER = (
    (_SWITCH, "a yes/no value"),
    (re.compile(r"~|null|Null|NULL"), "nothing"),
    (re.compile(r"\d{4}-\d{1,2}-\d{1,2}([Tt ].*)?"), "a date"),
    (re.compile(r"[-+]?\d+(:[0-5]?\d)+(\.\d*)?"), "a number of base 60"),
    (re.compile(r"[-+]?(\d[\d_]*(\.[\d_]*)?([eE][-+]?\d+)?|\.\d[\d_]*|0x[\da-fA-F_]+|0o[0-7_]+|\.(?i:inf|nan))"), "a number"),
)
# Controls but line ends and tabs, marks that turn the writing direction, and halves of characters.
_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_DURATION = re.compile(r"(\d{1,6})([smhd])")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_LONGEST = timedelta(days=3_650)
_BASE_60 = re.compile(r"\d\d:\d\d")
_WHOLE = re.compile(r"[-+]?(0|[1-9]\d{0,8})")
_MONEY = re.compile(r"[-+]?\d{1,9}(\.\d{1,9})?")


def kind(node: Node) -> str:
    """Return what a node is, in words."""
    if isinstance(node, Scalar):
        return "nothing" if node.empty else f"the text {shown(node.value)}"
    return "a list" if isinstance(node, Listing) else "a mapping"


def near(word: str, words: Sequence[str]) -> str:
    """Return the one of ``words`` that was probably meant, or ""."""
    return _near(word[:40].casefold(), tuple(words))


@lru_cache(maxsize=1024)
def _near(word: str, words: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(word, words, n=1, cutoff=0.6)), "")


def scalar(node: Node, faults: Problems, wanted: str) -> Scalar | None:
    """Return the node if it is a single value; ``wanted`` says what to write."""
    if isinstance(node, Scalar):
        return node
    if not isinstance(node, Refused):
        faults.add(node, f"{kind(node)} where one value belongs", wanted)
    return None


def text(node: Node, faults: Problems, wanted: str = "write a text") -> str | None:
    """Return a text on one line, white space collapsed; what YAML may take for something else must be quoted."""
    found = scalar(node, faults, wanted)
    if found is None or (found.plain and _is_other(found, faults)):
        return None
    if control := _CONTROL.search(found.value):
        faults.add(node, f"a control character (U+{ord(control[0]):04X}) in the text", "delete it")
        return None
    line = " ".join(found.value.split())
    if not line:
        faults.add(node, "an empty text", wanted)
    return line or None


def _is_other(node: Scalar, faults: Problems) -> bool:
    for pattern, meaning in _OTHER:
        if pattern.fullmatch(node.value):
            faults.add(node, f"{shown(node.value)} without quotes is {meaning}, not text", f"write {quoted(node.value)}")
            return True
    return False


def as_written(text: str) -> str:
    """Return a text as it must be written in the file: in quotes if YAML would read something else without them."""
    return quoted(text) if any(pattern.fullmatch(text) for pattern, _ in _OTHER) else text


def machine(node: Node, faults: Problems) -> str | None:
    """Return the name of a computer: one word of at most 100 characters."""
    name = text(node, faults, "write the computer's name, such as server")
    if name is None or (len(name) <= 100 and not name.count(" ")):
        return name
    faults.add(node, f"{shown(name)} is no name of a computer", "write one word of at most 100 characters")
    return None


def choice(*words: str) -> Reader:
    """Return a reader of one of ``words``."""
    listed = " or ".join(words)

    def read(node: Node, faults: Problems) -> str | None:
        found = scalar(node, faults, f"write {listed}")
        if found is None:
            return None
        if found.value in words:
            return found.value
        meant = near(found.value, words)
        faults.add(node, f"{shown(found.value)} is not known here", f"did you mean {meant}?" if meant else f"write {listed}")
        return None

    return read


def whole(low: int, high: int) -> Reader:
    """Return a reader of a whole number from ``low`` to ``high``."""
    wanted = f"write a whole number from {low} to {high}"

    def read(node: Node, faults: Problems) -> int | None:
        found = scalar(node, faults, wanted)
        if found is None or not _is_number(found, _WHOLE, faults, wanted):
            return None
        number = int(found.value)
        if not low <= number <= high:
            faults.add(node, f"{number} is out of range", wanted)
            return None
        return number

    return read


def _amount(wanted: str, fault: str, *, zero: bool) -> Reader:
    """Return a reader of an amount in USD, above zero or with ``zero`` also 0."""

    def read(node: Node, faults: Problems) -> float | None:
        found = scalar(node, faults, wanted)
        if found is None or not _is_number(found, _MONEY, faults, wanted):
            return None
        amount = float(found.value)
        if amount > 0 or (zero and amount == 0):
            return amount
        faults.add(node, f"{found.value} {fault}", wanted)
        return None

    return read


money = _amount("write an amount above zero, such as 2.50", "is not above zero", zero=False)
price = _amount("write an amount in USD, such as 0.25, or 0", "is below zero", zero=True)


def _is_number(node: Scalar, pattern: re.Pattern[str], faults: Problems, wanted: str) -> bool:
    if not node.plain and pattern.fullmatch(node.value):
        faults.add(node, "a number in quotes", f"write {node.value} without quotes")
    elif not pattern.fullmatch(node.value):
        faults.add(node, f"{kind(node)} where a number belongs", wanted)
    else:
        return True
    return False


def duration(node: Node, faults: Problems) -> timedelta | None:
    """Read a length of time above zero: a whole number and ``s``, ``m``, ``h`` or ``d``."""
    wanted = "write a number with its unit: 30s, 90m, 12h or 7d"
    found = scalar(node, faults, wanted)
    if found is None:
        return None
    match = _DURATION.fullmatch(found.value.strip())
    length = timedelta(**{_UNITS[match[2]]: int(match[1])}) if match else timedelta()
    if not timedelta() < length <= _LONGEST:
        faults.add(node, f"{kind(node)} is no length of time" + (" from 1s to 3650d" if match else ""), wanted)
        return None
    return length


def clock(node: Node, faults: Problems) -> time | None:
    """Read a time of day, ``"HH:MM"`` in quotes, perhaps with a zone: bare it is a number of base 60 to YAML 1.1."""
    wanted = 'write it in quotes with two digits each: "06:30", or "06:30 Europe/Berlin"'
    found = scalar(node, faults, wanted)
    if found is None:
        return None
    moment = clock_of(found.value)
    if moment and not (found.plain and _BASE_60.fullmatch(found.value)):
        return moment
    if moment:
        faults.add(node, f"the time {found.value} without quotes is a number of base 60", f'write "{found.value}"')
    else:
        faults.add(node, f"{kind(node)} is no time of day", wanted)
    return None


def listing(each: Reader, wanted: str) -> Reader:
    """Return a reader of a list whose entries ``each`` reads; an entry with a fault is left out."""

    def read(node: Node, faults: Problems) -> tuple[object, ...] | None:
        if isinstance(node, Listing):
            values = (each(child, faults) for child in node.children)
            return tuple(dict.fromkeys(value for value in values if value is not None))
        if not isinstance(node, Refused):
            faults.add(node, f"{kind(node)} where a list belongs", wanted)
        return None

    return read


def mapping(node: Mapping, faults: Problems, fields: dict[str, Reader]) -> dict[str, object]:
    """Return the values of a mapping with the keys ``fields``; those with a fault are left out."""
    return {
        key: value
        for key, place in entries(node, faults, tuple(fields))
        if not _is_missing(key, place, faults) and (value := fields[key](place, faults)) is not None
    }


def entries(node: Mapping, faults: Problems, keys: Sequence[str]) -> Iterator[tuple[str, Node]]:
    """Yield known keys with their values; report keys that are unknown or given twice."""
    seen: dict[str, int] = {}
    for key, value in node.pairs:
        name = _key(key, faults)
        if name is None:
            continue
        if name in seen:
            faults.add(key, f"the key {shown(name)} is given twice, first in line {seen[name]}", "keep one of the two")
        elif name in keys:
            yield name, value
        else:
            faults.add(key, f"the key {shown(name)} is not known here", _instead(name, keys))
        seen.setdefault(name, key.line)


def _key(node: Node, faults: Problems) -> str | None:
    if isinstance(node, Refused):
        return None
    if not isinstance(node, Scalar):
        faults.add(node, f"{kind(node)} where a key belongs", "write a key, such as `mode:`")
        return None
    if node.plain and node.value == "<<":
        faults.add(node, "merge keys are not used here", "write the values out")
        return None
    return node.value


def _instead(name: str, keys: Sequence[str]) -> str:
    meant = near(name, keys)
    return f"did you mean {meant}?" if meant else f"known are: {', '.join(keys)}"


def _is_missing(key: str, node: Node, faults: Problems) -> bool:
    missing = isinstance(node, Scalar) and node.empty
    if missing:
        faults.add(node, f"{key} has no value", "write one, or remove the line")
    return missing
