"""Sentences that give orders to a language model, as pages do that want to steer it (prompt injection)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from pathlib import Path

from pipeline.system.files import read_text

_LONGEST = 1_000_000
_GROUP = re.compile(r"\(\?:((?:[^()\\]|\\.|\([^()]*\))*)\)(?![?*+{])")  # with groups of one level inside
_PLAIN = re.compile(r"(?:[^\\()\[\].*+?{}|^$]|\\[^\w\s])+")
# A text about such orders quotes them.
_QUOTED = re.compile(r"“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|\"[^\"\n]{1,300}\"|「[^」\n]{1,300}」|`[^`\n]{1,300}`")


Orders = tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]


@lru_cache(maxsize=256)
def gives_orders(text: str) -> bool:
    """Return whether ``text`` gives an order to a language model outside of quotation marks and code."""
    return _gives_orders(text, _orders())


def order_finder(page: str) -> Callable[[str], bool]:
    """Return ``gives_orders`` for the blocks of ``page``, much faster: most pages hold no order, not even a quoted one."""
    lower = page.replace("\n", " ").lower()
    present = tuple((beginnings, order) for beginnings, order in _orders() if _is_in(lower, beginnings, order))
    return (lambda text: _gives_orders(text, present)) if present else lambda _text: False


def _is_in(page: str, beginnings: Iterable[str], order: re.Pattern[str]) -> bool:
    """Return whether a page, in lower case and on one line, contains an order that begins with one of these texts."""
    return any(one in page and any(order.match(page, at) for at in _places(page, one)) for one in beginnings)


def _places(page: str, text: str) -> Iterator[int]:
    at = page.find(text)
    while at >= 0:
        yield at
        at = page.find(text, at + 1)


def _gives_orders(text: str, orders: Orders) -> bool:
    lower = text[:_LONGEST].lower()
    possible = [order for beginnings, order in orders if any(one in lower for one in beginnings)]
    unquoted = _QUOTED.sub(" ", lower) if possible else ""
    return any(order.search(unquoted) for order in possible)


def orders_in(text: str) -> int:
    """Return how many orders to a language model ``text`` contains, quoted ones too."""
    return sum(1 for _ in _order().finditer(text[:_LONGEST].lower()))


@cache
def _order() -> re.Pattern[str]:
    return re.compile("|".join(_lines()))


@cache
def _lines() -> tuple[str, ...]:
    lines = read_text(Path(__file__).with_suffix(".txt")).splitlines()
    return tuple(line for line in lines if line and not line.startswith("#"))


@cache
def _orders() -> Orders:
    """Return the pattern of each kind of order, with plain texts of which it begins with one."""
    return tuple((_beginnings(line), re.compile(line)) for line in _lines())


def _beginnings(line: str) -> tuple[str, ...]:
    found = {beginning for alternative in _split(line) for beginning in _plain_beginnings(alternative)}
    return tuple(sorted(one for one in found if not any(other != one and one.startswith(other) for other in found)))


def _split(pattern: str) -> list[str]:
    """Return the alternatives of a pattern, split at each ``|`` that is in no group."""
    parts, depth, at = [""], 0, 0
    while at < len(pattern):
        sign = pattern[at : at + 2] if pattern[at] == "\\" else pattern[at]
        depth += {"(": 1, ")": -1}.get(sign, 0)
        if sign == "|" and not depth:
            parts.append("")
        else:
            parts[-1] += sign
        at += len(sign)
    return parts


def _plain_beginnings(pattern: str) -> list[str]:
    """Return the plain texts that a pattern without ``|`` outside of groups may begin with, as far as they are plain."""
    if group := _GROUP.match(pattern):
        rest = _plain_beginnings(pattern[group.end() :]) if pattern[group.end() :] else [""]
        inner = [(_plain_beginnings(option), _PLAIN.fullmatch(option)) for option in _split(group[1])]
        return [one + more for ones, whole in inner for one in ones for more in (rest if whole else [""])]
    plain = _PLAIN.match(pattern)
    text = plain[0] if plain else ""
    left = pattern[len(text) :]
    if left[:1] in ("?", "*", "{"):
        text, left = (text[:-2] if text[-2:-1] == "\\" else text[:-1]), ""
    text = text.replace("\\", "")
    return [text + more for more in _plain_beginnings(left)] if text and _GROUP.match(left) else [text]
