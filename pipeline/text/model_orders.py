"""Sentences that give orders to a language model, as pages do that want to steer it (prompt injection)."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

_LONGEST = 1_000_000
# A text about such orders quotes them.
_QUOTED = re.compile(r"“[^”\n]{1,300}”|„[^“”\n]{1,300}[“”]|«[^»\n]{1,300}»|\"[^\"\n]{1,300}\"|「[^」\n]{1,300}」|`[^`\n]{1,300}`")


@lru_cache(maxsize=256)
def gives_orders(text: str) -> bool:
    """Return whether ``text`` gives an order to a language model outside of quotation marks and code."""
    return bool(_order().search(_QUOTED.sub(" ", text[:_LONGEST].lower())))


def orders_in(text: str) -> int:
    """Return how many orders to a language model ``text`` contains, quoted ones too."""
    return sum(1 for _ in _order().finditer(text[:_LONGEST].lower()))


@cache
def _order() -> re.Pattern[str]:
    lines = Path(__file__).with_suffix(".txt").read_text("utf-8").splitlines()
    return re.compile("|".join(line for line in lines if line and not line.startswith("#")))
