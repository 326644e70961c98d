"""What the night has cost before this run: its cap counts every run of the night, also those that were killed.

The log says it, so a restart finds it and nothing beside the log has to be kept. A call in flight at a kill counts at its worst.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from pipeline.domain import Summary
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_events import BatchStarted
from pipeline.domain.session import state_of
from pipeline.domain.state import cost_of
from pipeline.domain.values import Cost, minus, total
from pipeline.errors import LogError
from pipeline.ports import EventStore
from pipeline.text.times import night_start, timestamp

_COSTING = ("passages.embedded", "session.consolidated", "entities.named", "memory.ended")


def spent_tonight(store: EventStore, sessions: Iterable[Summary], now: datetime, zone: str) -> Cost:
    """Return the cost of all work recorded since the night began at noon, without what runs were granted beside the cap.

    ``sessions`` are all that can be read; one whose log turns out to be unreadable is left out, and ``research verify`` names it.
    """
    begin = timestamp(night_start(now, zone))
    costs: list[Cost] = []
    for one in sessions:
        if not one.ended_at or one.ended_at >= begin:
            costs.append(_of_session(store, one.id, begin))
    granted = 0.0
    for name in (*store.ids("batch"), *store.ids("memory")):
        if _day_in(name) >= begin[:10]:  # ids begin with the time at which the stream began
            records = [record for record in store.load(name) if record.at >= begin]
            for event in decode_all(record.data for record in records if record.type in (*_COSTING, "batch.started")):
                granted += event.granted_usd if isinstance(event, BatchStarted) else 0.0
                costs.append(getattr(event, "cost", Cost()))
    spent = total(costs)
    return spent.model_copy(update={"usd": max(0.0, round(spent.usd - granted, 9))})


def spent_since(store: EventStore, sessions: Iterable[str], begin: str) -> Cost:
    """Return what these sessions have cost since the moment ``begin``, an event's timestamp."""
    return total(_of_session(store, session, begin) for session in sessions)


def _of_session(store: EventStore, session: str, begin: str) -> Cost:
    try:
        records = store.load(session)
        if not records or records[-1].at < begin:
            return Cost()
        before = state_of(session, decode_all(record.data for record in records if record.at < begin))
        return minus(cost_of(state_of(session, decode_all(record.data for record in records))), cost_of(before))
    except LogError:
        return Cost()


def _day_in(name: str) -> str:
    """The day in an id such as ``batch-2026-11-21t021500-3f2a``; in another one, a day after all."""
    day = name.partition("-")[2][:10]
    return day if len(day) == 10 and day[:4].isdigit() else "9999-99-99"
