"""What a night has spent, from the log alone: noon to noon, whatever ended its runs."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.batch.night_result import spent_tonight
from pipeline.batch.session_index import read_all
from pipeline.domain.events.night_events import BatchStarted, PassagesEmbedded
from pipeline.domain.events.session_events import CallSent
from pipeline.domain.research_values import Cost
from pipeline.domain.session import record_of, stamped
from pipeline.domain.session_state import cost_of
from pipeline.text.times import night_of, night_start, timestamp
from tests.fakes import START, MemoryStore
from tests.nights import bench, query, queue, sessions


def spent(store: MemoryStore, days: float = 0, zone: str = "UTC") -> Cost:
    return spent_tonight(store, read_all(store).sessions, START + timedelta(days=days), zone)


def test_it_is_what_all_sessions_cost_since_noon_and_nothing_of_the_night_before() -> None:
    night = bench(queue(query("pumps"), query("valves")))
    night.work()
    whole = sum(cost_of(state).usd for state in sessions(night.store).values())
    assert whole > 0
    assert spent(night.store).usd == pytest.approx(whole)
    assert spent(night.store, days=1).usd == 0


def test_a_call_in_flight_counts_at_its_worst_and_a_grant_does_not_count() -> None:
    night = bench(queue(query("pumps")))
    night.work()
    before, (name,) = spent(night.store).usd, list(night.store.ids("session"))
    version, at = len(night.store.load(name)), timestamp(START + timedelta(minutes=5))
    call = stamped(CallSent(step="Plan", worst=Cost(usd=0.5)), name, version + 1, "run-2", "late", at)
    night.store.append(name, [record_of(call)], version)
    assert spent(night.store).usd == pytest.approx(before + 0.5)
    batch = f"batch-{at[:19].replace(':', '').lower()}-ffff"
    parts = (BatchStarted(due=(), granted_usd=0.2), PassagesEmbedded(model="m", passages=1, cost=Cost(usd=0.1)))
    drafts = [stamped(one, batch, n, "run-3", f"id{n}", at) for n, one in enumerate(parts, 1)]
    night.store.append(batch, [record_of(one) for one in drafts], 0)
    assert spent(night.store).usd == pytest.approx(before + 0.5 + 0.1 - 0.2)


def test_a_budget_begins_with_it_so_that_nothing_is_begun_once_the_cap_is_spent() -> None:
    night = bench(queue(query("pumps"), cost_usd=1.0))
    night.batch.spent = Cost(usd=1.2)
    result = night.work()
    assert [event.cause for event in result.skipped] == ["cap"]
    assert not list(night.store.ids("session"))


@pytest.mark.parametrize(("zone", "hour"), [("UTC", 12), ("Europe/Berlin", 11), ("+05:30", 6)])
def test_a_night_lasts_from_noon_to_noon_of_its_time_zone(zone: str, hour: int) -> None:
    noon = START.replace(month=1, day=10, hour=hour, minute=30 if zone == "+05:30" else 0, second=0, microsecond=0)
    assert night_start(noon, zone) == noon
    assert night_start(noon - timedelta(seconds=1), zone) == noon - timedelta(days=1)
    assert night_of(noon, zone) == night_of(noon + timedelta(hours=23), zone)
