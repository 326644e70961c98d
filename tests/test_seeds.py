"""What a day draws of a product of cases."""

from __future__ import annotations

from itertools import combinations, product

import pytest

from tests import seeds

LISTS = ("abcd", range(5), ("early", "later", "always"))


def on_day(day: int, monkeypatch: pytest.MonkeyPatch) -> list[tuple[object, ...]]:
    monkeypatch.setattr(seeds, "SEED", day)
    monkeypatch.setattr(seeds, "FULL", False)
    return seeds.drawn(3, *LISTS)


def test_each_day_draws_every_pair_of_entries(monkeypatch: pytest.MonkeyPatch) -> None:
    for day in range(700_000, 700_003):
        cases = on_day(day, monkeypatch)
        for one, other in combinations(range(3), 2):
            assert {(case[one], case[other]) for case in cases} == set(product(LISTS[one], LISTS[other]))


def test_three_days_draw_every_case_once(monkeypatch: pytest.MonkeyPatch) -> None:
    cases = [case for day in range(3) for case in on_day(day, monkeypatch)]
    assert sorted(map(str, cases)) == sorted(map(str, product(*LISTS)))


def test_the_whole_product_is_there_for_whoever_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeds, "FULL", True)
    assert seeds.drawn(3, *LISTS) == list(product(*LISTS))
