"""Many workspaces' lives: nights with faults, kills, power cuts and signals, then clean ones; each day other ones.

A failure names its seeds. To look at one again: ``python -m bench.simulate --seed N``.
"""

from __future__ import annotations

import pytest

from tests.seeds import FULL, SEED
from tests.simulation.lives import happenings, lived

LIVES, AT_ONCE = 1_000 if FULL else 20, 5


@pytest.mark.parametrize("first", range(0, LIVES, AT_ONCE))
def test_whatever_the_nights_bring_every_promise_is_kept(first: int) -> None:
    seeds = range(SEED * LIVES + first, SEED * LIVES + first + AT_ONCE)
    broken = {seed: wrong for seed in seeds if (wrong := lived(seed))}
    assert broken == {}


def test_lives_hold_the_trouble_they_are_meant_to_hold() -> None:
    """Deaths, power cuts, disks that refuse, signals and finished reports all come up in some dozen lives."""
    wanted = {"died", "unwritable", "signal", "complete", "failed", "failed step", "cap", "resumed", "consolidated", "asked back"}
    for seed in (39, 12, *range(80)):  # the first two have what is rare
        wanted -= happenings(seed)
        if not wanted:
            break
    assert wanted == set()
