"""The simulation of nights, against what queueing theory says of simple stations."""

from __future__ import annotations

import pytest

from bench.scaling_model import Visit, arrivals, simulate

HOUR = 3_600.0


@pytest.mark.parametrize("load", [0.3, 0.5, 0.7])
def test_a_station_with_one_server_waits_as_long_as_the_formula_says(load: float) -> None:
    visits, within = 40_000, 40_000.0  # one a second
    station = simulate(arrivals(visits, 7, within), [Visit("s", load)], {"s": 1}, 7).stations["s"]
    assert station.utilisation(within) == pytest.approx(load, rel=0.03)
    assert station.mean_wait() == pytest.approx(load * load / (1 - load), rel=0.15)  # M/M/1: ρ·S ÷ (1 - ρ)


def test_two_servers_wait_less_than_one_that_is_as_busy() -> None:
    due = list(arrivals(20_000, 3, 20_000.0))
    one = simulate(due, [Visit("s", 0.8)], {"s": 1}, 3).stations["s"]
    two = simulate(due, [Visit("s", 1.6)], {"s": 2}, 3).stations["s"]
    assert two.utilisation() == pytest.approx(one.utilisation(), rel=0.05)
    assert two.mean_wait() < one.mean_wait()


def test_every_visit_is_served_once_and_no_work_is_lost() -> None:
    route = [Visit("a", 2.0), Visit("", 5.0), Visit("b", 1.0), Visit("a", 1.0)]
    night = simulate(arrivals(500, 1, HOUR), route, {"a": 2, "b": 1}, 1)
    assert (len(night.stations["a"].waits), len(night.stations["b"].waits)) == (1_000, 500)
    assert night.stations["a"].free == 2
    assert night.end_s >= HOUR * 0.9


def test_what_is_due_at_once_waits_for_all_before_it() -> None:
    night = simulate(arrivals(100, 1, 0.0), [Visit("s", 10.0)], {"s": 1}, 1)
    assert night.end_s == pytest.approx(night.stations["s"].busy_s)
    assert night.stations["s"].late_wait() > 0.8 * night.end_s


def test_the_same_seed_gives_the_same_night() -> None:
    def one() -> object:
        night = simulate(arrivals(200, 5, HOUR), [Visit("a", 3.0), Visit("b", 1.0)], {"a": 1, "b": 1}, 5)
        return night.end_s, night.stations["a"].waits

    assert one() == one()
