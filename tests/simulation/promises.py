"""What must hold after every night, whatever happened in it. Each check returns what is wrong, in words."""

from __future__ import annotations

import random
from collections.abc import Iterator
from datetime import timedelta

from pipeline.batch.memory_consolidation import consolidation_of, memory_events
from pipeline.domain.events import night_events as n
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.session_events import Answered
from pipeline.domain.events.upkeep_events import SessionConsolidated
from pipeline.domain.memory import cost_of_calls, remember
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.errors import LogError
from pipeline.ops import citation_audit
from pipeline.store.file_store import FileStore
from pipeline.store.verification import verify
from tests.fakes import event_names
from tests.simulation.life import MEMORY, Ended, Life
from tests.simulation.talking import talks_in, wrong_in_talks

SLACK_S = 1.0  # times are stored in milliseconds


def recorded(store: FileStore) -> dict[str, set[str]]:
    """Return by session the names of the calls whose answers are in the log."""
    found = {}
    for name in store.ids("session"):
        found[name] = event_names(tuple(decode_all(record.data for record in store.load(name))), {})
    return found


def broken(life: Life, ended: Ended, known: dict[str, set[str]]) -> list[str]:
    """Return every promise that the night broke; ``known`` is what was recorded before it."""
    store = life.store
    try:
        found = [*_lost(life, store), *_asked_again(life, known)]
        found += [str(finding) for finding in verify(life.root) if finding.kind != "torn"]
        for name in store.ids("session"):
            state = ResearchSession.open(store, name).state
            found += [*_misbilled(life, name, cost_of(state)), *_unsupported(state, store)]
        for name, talk in talks_in(store).items():
            found += _misbilled(life, name, talk.cost())
        found += wrong_in_talks(store)
        found += _misbilled(life, MEMORY, cost_of_calls(memory_events(store)))
        found += _shortened_again(store)
        return [*found, *_disagreeing(ended, store), *_late(ended), *_misremembered(life, store)]
    except LogError as error:
        return [f"the log cannot be read: {error}"]


def _lost(life: Life, store: FileStore) -> Iterator[str]:
    names = {name for name, _ in life.acknowledged}
    stored = {(name, record.version): record.data for name in names for record in store.load(name)}
    for (name, version), data in life.acknowledged.items():
        if stored.get((name, version)) != data:
            yield f"{name}: the acknowledged event {version} is lost or altered"


def _asked_again(life: Life, known: dict[str, set[str]]) -> Iterator[str]:
    for session, calls in life.calls.items():
        again = known.get(session, set()) & set(calls)
        yield from (f"{session}: {name} was recorded, and asked again" for name in sorted(again))


def _shortened_again(store: FileStore) -> Iterator[str]:
    """No session is shortened twice by a model at the same version, and each of its sentences cites what the session found."""
    done: set[tuple[str, int]] = set()
    for event in memory_events(store):
        if isinstance(event, SessionConsolidated) and event.step:
            if (event.session, event.up_to) in done:
                yield f"{event.session}: a model shortened it twice"
            done.add((event.session, event.up_to))
            known = ResearchSession.open(store, event.session).state.facts
            if not all(name in known for one in event.episode.sentences for name in one.facts):
                yield f"{event.session}: a sentence in memory cites what the session did not find"


def _misremembered(life: Life, store: FileStore) -> Iterator[str]:
    """What is consolidated is what the session's log says, in every byte, and no order of the streams makes a difference."""
    streams = [list(decode_all(record.data for record in store.load(name))) for name in store.ids("memory")]
    memory = remember(event for events in streams for event in events)
    for name, kept in memory.sessions.items():
        (_, fresh), (_, again) = consolidation_of(store, name), consolidation_of(store, name)
        episode = kept.episode.model_copy(update={"sentences": ()})  # a model's, which no log gives again
        same = {part: getattr(fresh, part) for part in Answered.model_fields}
        own = kept.model_copy(update={**same, "episode": episode})
        if kept.up_to == fresh.up_to and not encode(own) == encode(fresh) == encode(again):
            yield f"{name}: it was consolidated to other bytes than its log gives"
    random.Random(life.seed).shuffle(streams)
    if remember(event for events in streams for event in events) != memory:
        yield "another order of the streams gives another memory"


def _misbilled(life: Life, stream: str, cost: Cost) -> Iterator[str]:
    counted, billed = round(cost.usd * 1e9), life.provider.billed[stream]
    if counted < billed:
        yield f"{stream}: {billed} nano-dollars were billed, the events have {counted}"
    if counted > billed and not life.provider.unheard[stream] and not life.interrupted:
        yield f"{stream}: every reply arrived, {billed} nano-dollars were billed, and the events have {counted}"


def _unsupported(state: SessionState, store: FileStore) -> Iterator[str]:
    yield from (f"{entry.session}: {entry.where}: {entry.why}" for entry in citation_audit.check(state, store).unsupported)
    if state.status == "complete" and not (state.report and state.report.references and state.facts):
        yield f"{state.id} is complete without evidence"


def _disagreeing(ended: Ended, store: FileStore) -> Iterator[str]:
    result = ended.result
    if result is None or not result.batch:
        return
    events = list(decode_all(record.data for record in store.load(result.batch)))
    ends = tuple(event for event in events if isinstance(event, n.QueryEnded))
    last = events[-1]
    if [entry.query_id for entry in ends] != [entry.query_id for entry in result.ended]:
        yield "the night's log and its result name different queries"
    if not isinstance(last, n.BatchEnded) or last.exit_code != result.exit_code:
        yield f"the night's log does not end in its exit code {result.exit_code}"
    elif last.done + last.not_found + last.failed + last.open != len(ends) or last.done != sum(
        entry.status == "complete" for entry in ends
    ):
        yield "the night's sums are not those of its queries"


def _late(ended: Ended) -> Iterator[str]:
    context = ended.context
    if context is None or ended.died:
        return
    grace = timedelta(seconds=context.stop.grace_s + SLACK_S)
    if context.deadline is not None and ended.ended > max(context.deadline, ended.began) + grace:
        yield f"the night ended at {ended.ended}, its deadline was {context.deadline}"
    if ended.asked_at is not None and ended.ended > ended.asked_at + grace:
        yield f"asked to stop at {ended.asked_at}, the night ended at {ended.ended}"
