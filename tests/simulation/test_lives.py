"""A thousand workspaces' lives: nights with faults, kills, power cuts and signals, then clean ones.

A failure names its seeds. To look at one again: ``python -m bench.simulate --seed N``.
"""

from __future__ import annotations

import pytest

from tests.simulation.lives import happenings, lived, trace

SEEDS, AT_ONCE = 1_000, 25


@pytest.mark.parametrize("first", range(0, SEEDS, AT_ONCE))
def test_whatever_the_nights_bring_every_promise_is_kept(first: int) -> None:
    broken = {seed: wrong for seed in range(first, first + AT_ONCE) if (wrong := lived(seed))}
    assert broken == {}


def test_lives_hold_the_trouble_they_are_meant_to_hold() -> None:
    """Deaths, power cuts, refusals, disks that refuse, signals and finished reports all come up in a few dozen lives."""
    met = {what for seed in range(60) for what in happenings(seed)}
    assert met >= {"died", "unwritable", "signal", "refused", "complete", "failed", "failed step", "cap", "resumed"}


def test_a_seed_is_lived_the_same_way_twice() -> None:
    assert [trace(seed) for seed in (3, 4, 5)] == [trace(seed) for seed in (3, 4, 5)]
