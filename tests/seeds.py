"""What a run of the suite draws: a seed of the day, and, of long products of cases, a part.

``SUITE_SEED=N`` fixes the seed; every run prints its own. ``SUITE=full`` takes the products whole: ``python -m bench.release``
does that.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import product
from typing import Any

SEED = int(os.environ.get("SUITE_SEED") or datetime.now(UTC).date().toordinal())
FULL = os.environ.get("SUITE") == "full"


def drawn(of: int, *lists: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return one in ``of`` of the cases that these lists make together; another part each day, and after ``of`` days all.

    With three lists of at least ``of`` entries, every pair of entries of any two is drawn each day.
    """
    cases = product(*map(enumerate, lists))
    return [tuple(entry for _, entry in case) for case in cases if FULL or (sum(at for at, _ in case) + SEED) % of == 0]
