from __future__ import annotations

import asyncio

import pytest

from pipeline.net.robots import HostPoliteness
from tests.net.clocks import Clock


def test_requests_to_one_host_are_apart_and_those_to_another_do_not_wait() -> None:
    clock = Clock()
    turns = HostPoliteness(2.0, clock, clock.sleep)

    async def scenario() -> None:
        async with turns.turn("a.org"):
            clock.now += 5
        async with turns.turn("b.org"):
            pass
        async with turns.turn("a.org"):
            pass
        async with turns.turn("a.org", pause_s=7.0):
            pass

    asyncio.run(scenario())
    assert clock.slept == [2.0, 7.0]


def test_no_pause_is_made_once_it_is_over() -> None:
    clock = Clock()
    turns = HostPoliteness(2.0, clock, clock.sleep)

    async def scenario() -> None:
        async with turns.turn("a.org"):
            pass
        clock.now += 3
        async with turns.turn("a.org"):
            pass

    asyncio.run(scenario())
    assert clock.slept == []


def test_one_host_is_never_asked_twice_at_once() -> None:
    clock = Clock()
    turns = HostPoliteness(0.0, clock, clock.sleep)
    inside: list[int] = []

    async def one() -> None:
        async with turns.turn("a.org"):
            inside.append(1)
            assert len(inside) == 1
            await asyncio.sleep(0)
            inside.pop()

    async def scenario() -> None:
        await asyncio.gather(*(one() for _ in range(20)))

    asyncio.run(scenario())


def test_a_turn_that_ends_in_an_error_ends() -> None:
    clock = Clock()
    turns = HostPoliteness(1.0, clock, clock.sleep)

    async def scenario() -> None:
        with pytest.raises(KeyError):
            async with turns.turn("a.org"):
                raise KeyError
        async with turns.turn("a.org"):
            pass

    asyncio.run(scenario())
    assert clock.slept == [1.0]
