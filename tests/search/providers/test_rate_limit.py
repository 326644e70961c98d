from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.search.providers.provider import Pace, Pacer, pace_of
from tests.net.clocks import Clock


@pytest.mark.parametrize(
    ("headers", "pace"),
    [
        ({}, Pace()),
        ({"policy": "1;w=1, 15000;w=2592000", "remaining": "1, 1000", "reset": "1, 1419704"}, Pace(1.0, 0.0)),
        ({"policy": "50;w=1, 15000;w=2592000", "remaining": "0, 1000", "reset": "1, 1419704"}, Pace(0.02, 1.0)),
        ({"remaining": "1, 0", "reset": "1, 1419704"}, Pace()),
        ({"remaining": "0", "reset": "30"}, Pace(0.0, 30.0)),
        ({"remaining": "0", "reset": "61"}, Pace()),
        ({"policy": "0;w=1", "remaining": "-1", "reset": "x"}, Pace()),
        ({"policy": "1;w=0, ;w=, 1e309;w=1", "remaining": "0, 0", "reset": "5"}, Pace(0.0, 5.0)),
    ],
)
def test_headers_say_how_fast(headers: dict[str, str], pace: Pace) -> None:
    assert pace_of({f"x-ratelimit-{name}": value for name, value in headers.items()}) == pace


@given(st.text(), st.text(), st.text("0123456789,;=w.- ", max_size=20))
def test_any_headers_are_a_bounded_pace(policy: str, remaining: str, reset: str) -> None:
    pace = pace_of({"x-ratelimit-policy": policy, "x-ratelimit-remaining": remaining, "x-ratelimit-reset": reset})
    assert 0 <= pace.gap_s <= 60
    assert 0 <= pace.pause_s <= 60


def _starts(pacer: Pacer, clock: Clock, calls: int) -> list[float]:
    starts: list[float] = []

    async def work() -> None:
        starts.append(clock.now - 1_000)
        await asyncio.sleep(0)

    async def several() -> None:
        await asyncio.gather(*(pacer.run(work) for _ in range(calls)))

    asyncio.run(several())
    return starts


def test_calls_start_a_gap_apart() -> None:
    clock = Clock()
    assert _starts(Pacer(3.0, clock=clock, sleep=clock.sleep), clock, 4) == [0, 3, 6, 9]


def test_a_pause_and_a_gap_that_were_told_are_kept() -> None:
    clock = Clock()
    pacer = Pacer(clock=clock, sleep=clock.sleep)
    pacer.slow_down(Pace(2.0, 7.0))
    pacer.slow_down(Pace())
    assert _starts(pacer, clock, 3) == [7, 9, 11]


def test_until_the_first_answer_calls_go_one_by_one() -> None:
    pacer = Pacer()
    open_now, most = 0, [0, 0]

    async def work(good: bool) -> None:
        nonlocal open_now
        open_now += 1
        most[good] = max(most[good], open_now)
        await asyncio.sleep(0)
        open_now -= 1
        if not good:
            raise ValueError

    async def several() -> None:
        await asyncio.gather(*(pacer.run(lambda: work(False)) for _ in range(4)), return_exceptions=True)
        await pacer.run(lambda: work(True))
        await asyncio.gather(*(pacer.run(lambda: work(True)) for _ in range(4)))

    asyncio.run(several())
    assert most == [1, 4]
