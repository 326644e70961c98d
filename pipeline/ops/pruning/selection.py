"""Decides what a prune may take. Pure: summaries, usage and the rule in, a plan out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pipeline.domain import Summary
from pipeline.domain.events.tombstones import Tombstones
from pipeline.ops.pruning.usage import Usage
from pipeline.text.times import moment_of

OPEN, UNCONSOLIDATED, LATEST = "not ended yet", "not consolidated at its present version", "the latest on a recurring question"


@dataclass(frozen=True, slots=True)
class Ages:
    """From which age on each kind is pruned, counted from the end of the session, or from the import; None: never."""

    exchanges: timedelta | None = None
    pages: timedelta | None = None
    sessions: timedelta | None = None
    originals: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Known:
    """What the log and the queue say. ``consolidated``: up to which version each session was; ``recurring`` are query ids."""

    summaries: tuple[Summary, ...]
    consolidated: Mapping[str, int]
    recurring: Collection[str]
    usage: Usage
    tombstones: Tombstones


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """The ids of sessions, and the digests of objects, that may be pruned; ``kept`` counts old sessions that stay, by reason."""

    sessions: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)
    originals: tuple[str, ...] = ()


def plan(known: Known, ages: Ages, now: datetime) -> PrunePlan:
    """Return what may be pruned at ``now``.

    Never: what is not consolidated at its present version; a session that is open, waits for approval, or is the latest on a
    recurring question; a page that an unpruned report cites; an object that a talk or an unreadable session may name.
    """
    latest = _latest_recurring(known)
    held = {one.id: why for one in known.summaries if (why := _why_kept(one, known, latest))}
    pruned = known.tombstones.sessions.keys()
    sessions = _old(known.summaries, ages.sessions, now) - pruned
    may_go = tuple(sorted(sessions - held.keys()))
    objects = not known.usage.unreadable  # a stream that cannot be read may name any of them
    cited = {x for name, used in known.usage.sessions.items() if name not in pruned and name not in may_go for x in used.cited}
    pages = _objects(known, _old(known.summaries, ages.pages, now) - held.keys(), "pages") - cited if objects else set()
    exchanges = _objects(known, _old(known.summaries, ages.exchanges, now) - held.keys(), "exchanges") if objects else set()
    oldest = sessions | _old(known.summaries, ages.exchanges, now)
    kept = Counter(held[name] for name in oldest if name in held)
    return PrunePlan(may_go, tuple(sorted(pages)), tuple(sorted(exchanges)), dict(kept))


def _why_kept(one: Summary, known: Known, latest: Collection[str]) -> str:
    if not one.ended:
        return OPEN
    if known.consolidated.get(one.id) != one.version:
        return UNCONSOLIDATED
    return LATEST if one.id in latest else ""


def _latest_recurring(known: Known) -> set[str]:
    """The latest session on each question that recurs by the queue, or that was researched more than once."""
    followed = {one.previous_session for one in known.summaries}
    counts = Counter(one.query_id for one in known.summaries)
    latest: dict[str, Summary] = {}
    for one in sorted(known.summaries, key=lambda one: (one.id not in followed, one.started_at, one.id)):
        latest[one.query_id] = one
    return {one.id for one in latest.values() if one.query_id in known.recurring or counts[one.query_id] > 1}


def _old(summaries: Iterable[Summary], age: timedelta | None, now: datetime) -> set[str]:
    if age is None:
        return set()
    return {one.id for one in summaries if one.ended_at and moment_of(one.ended_at) <= now - age}


def _objects(known: Known, sessions: set[str], kind: str) -> set[str]:
    """The objects of that kind which only these sessions name."""
    usage = known.usage
    mine = {digest for name in sessions & usage.sessions.keys() for digest in getattr(usage.sessions[name], kind)}
    needed = {digest for name, used in usage.sessions.items() if name not in sessions for digest in used.all}
    return mine - needed - usage.others
