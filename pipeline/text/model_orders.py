"""Sentences that give orders to a language model, as pages do that want to steer it (prompt injection)."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from pathlib import Path

from pipeline.system.files import read_text

_LONGEST = 1_000_000
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
    present = tuple(row for row in _orders() if any(one in lower for one in row[0]) and row[1].search(lower))
    return (lambda text: _gives_orders(text, present)) if present else lambda _text: False


def _gives_orders(text: str, orders: Orders) -> bool:
    lower = text[:_LONGEST].lower()
    possible = [order for beginnings, order in orders if any(one in lower for one in beginnings)]
    unquoted = _QUOTED.sub(" ", lower) if possible else ""
    return any(order.search(unquoted) for order in possible)


@cache
def _orders() -> Orders:
    """Return the pattern of each kind of order, with plain texts of which it begins with one."""
    lines = read_text(Path(__file__).with_suffix(".txt")).splitlines()
    rows = (line.split("\t") for line in lines if not line.startswith("#"))
    # Orders are told by their words: a page that wants to steer a model is asked by no other means what it means.
    return tuple((tuple(beginnings.split("/")), re.compile(order)) for beginnings, order in rows)
