"""``marked``: the boxes ``useful`` and ``wrong`` below the passages of a report that a person ticked, or took a tick from."""

from __future__ import annotations

import re
from collections.abc import Iterator

NOTED = ", noted"  # stands behind a box whose tick is recorded
# A box as the report's template writes it, and the link to a quote that stands above it.
_BOX = re.compile(r"^[> ]*- \[(?P<tick>[ xX])\] (?P<rating>useful|wrong)(?P<noted>, noted)?\s*$", re.MULTILINE)
_QUOTE = re.compile(r"#\^(q-[A-Za-z0-9-]+)")


def marked(text: str) -> Iterator[tuple[str, str]]:
    """Yield the block id of each passage with a change that is not recorded yet, and the rating: useful, wrong or ""."""
    start, block = 0, ""
    for box in _BOX.finditer(text):
        found = _QUOTE.findall(text, start, box.start())
        start, block = box.end(), found[-1] if found else block
        if block and (box["tick"] != " ") != bool(box["noted"]):
            yield block, box["rating"] if box["tick"] != " " else ""
