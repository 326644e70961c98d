"""Lives that two or three machines went on with apart. ``python -m bench.simulate --pairs`` lives thousands of them."""

from __future__ import annotations

import shutil
from itertools import permutations
from pathlib import Path

import pytest

from pipeline.domain.session import ResearchSession
from tests.fakes import report_bytes
from tests.seeds import FULL, SEED
from tests.simulation.branches import apart, chains, lived_apart, store_in, unite
from tests.simulation.life import life
from tests.simulation.lives import workspace

PAIRS, AT_ONCE = 160 if FULL else 8, 4


@pytest.mark.parametrize("first", range(0, PAIRS, AT_ONCE))
def test_lives_on_two_machines_become_one_log_whoever_unites_them(first: int) -> None:
    seeds = range(SEED * PAIRS + first, SEED * PAIRS + first + AT_ONCE)
    assert {seed: pair.wrong for seed in seeds if (pair := lived_apart(seed)).wrong} == {}


def test_a_page_is_not_observed_again_when_a_search_that_failed_here_was_answered_on_the_other_machine() -> None:
    assert lived_apart(27029).wrong == []


def test_pairs_of_lives_hold_what_they_are_meant_to_hold() -> None:
    wanted = {"adopted", "same", "conflicts"}
    for seed in (28, *range(20)):  # the first has what is rare
        wanted -= lived_apart(seed).met
        if not wanted:
            break
    assert wanted == set()


def test_three_branches_come_to_one_log_in_whatever_order_they_arrive() -> None:
    """Each order copies and joins one log after the other, so the merges on the way differ; what they lead to does not."""
    with workspace() as root, life(3, root) as found:
        roots = list(apart(found, 3))
        unions = [_arrived(order, root.parent / f"order-{number}") for number, order in enumerate(permutations(roots))]
        read = [chains(store_in(union)) for union in unions]
        assert all(log == read[0] for log in read)
        states = [[ResearchSession.open(store_in(union), name).state for name in read[0]] for union in unions]
        assert len({tuple((state.spent.usd, report_bytes(state)) for state in log) for log in states}) == 1


def _arrived(order: tuple[Path, ...], into: Path) -> Path:
    unite([order[0]], into)
    for other in order[1:]:
        met = into.with_name(f"{into.name}+")
        unite([into, other], met)
        shutil.rmtree(into)
        met.rename(into)
    return into
