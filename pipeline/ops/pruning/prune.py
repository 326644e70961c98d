"""Prunes: quotes checked → report stored → tombstone durable → files removed.

A crash in between is finished by the next prune.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Literal

from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.pruning_events import ObjectsPruned, PruneEnded, SessionPruned
from pipeline.domain.events.records import Kind
from pipeline.domain.pruning.kept_events import kept_events
from pipeline.domain.session import state_of
from pipeline.domain.state import SessionState
from pipeline.engine.run_context import RunContext
from pipeline.engine.stream_log import StreamLog
from pipeline.errors import LogDamaged, LogError, LogUnwritable
from pipeline.ops import citation_audit
from pipeline.ops.pruning.selection import PrunePlan
from pipeline.ops.pruning.usage import Usage, used_by
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of
from pipeline.text.times import timestamp

AT_ONCE = 500  # objects under one tombstone
_NAMING: tuple[Kind, ...] = ("session", "batch", "talk", "import")  # the streams that name objects


@dataclass
class Pruned:
    """The outcome: counts, the bytes that were freed, checked quotes, and what was left and why."""

    sessions: list[str] = field(default_factory=list)
    pages: int = 0
    exchanges: int = 0
    originals: int = 0
    bytes: int = 0
    quotes: int = 0
    left: dict[str, str] = field(default_factory=dict)


def new_prune_id(at: str) -> str:
    """Return an id for a prune that starts at ``at``, an event's timestamp; ids sort by time."""
    return f"prune-{at[:19].replace(':', '').lower()}-{secrets.token_hex(2)}"


def prune(store: EventStore, context: RunContext, plan: PrunePlan, usage: Usage) -> Pruned:
    """Prune what the plan names; what fails its check stays, and is named in the outcome. Nothing else may write meanwhile.

    Raises:
        LogUnwritable: the disk refuses; the next prune goes on.
        LogError: the stream of the prune cannot be written.
    """
    work = _Prune(store, context, usage)
    if plan.sessions or plan.pages or plan.exchanges or plan.originals:
        try:
            work.run(plan)
        finally:
            store.release(work.log.id)
    return work.done


class _Prune:
    def __init__(self, store: EventStore, context: RunContext, usage: Usage) -> None:
        self.store, self.usage, self.done = store, usage, Pruned()
        self.log = StreamLog(store, context, new_prune_id(timestamp(context.now())))
        self._users = usage.users()

    def run(self, plan: PrunePlan) -> None:
        for name in plan.sessions:
            try:
                self._session(name)
            except LogUnwritable:
                raise
            except LogError as error:
                self.done.left[name] = error.message
        self._pages(plan.pages)
        self._objects("exchanges", plan.exchanges)
        self._objects("originals", plan.originals)
        if self.log.version:
            self.log.record(PruneEnded())

    def _session(self, name: str) -> None:
        """Prune one session, with the exchanges and pages that nothing else uses."""
        records = self.store.load(name)
        history = tuple(decode_all(record.data for record in records))
        state = state_of(name, history)
        quotes = _checked_quotes(state, self.store)
        kept = kept_events(history, state)
        report = b"".join(encode(event) + b"\n" for event in kept)
        _refuse_other_report(state, report)
        objects = self._exclusive(name, report)
        size = self.store.size_of(name) + sum(map(self.store.object_size, objects))
        tombstone = SessionPruned(
            session=name, up_to=state.version, head=digest_of(records[-1].data), report=self.store.put(report),
            quotes=quotes, objects=objects, bytes=size,
        )  # fmt: skip
        self.log.record(tombstone)
        self.store.remove_stream(name)
        self.store.remove_objects(objects)
        self.done.sessions.append(name)
        self.done.quotes += quotes
        self.done.bytes += size - self.store.object_size(tombstone.report)

    def _exclusive(self, name: str, report: bytes) -> tuple[str, ...]:
        """The stored objects that this session alone names, except the pages of what is kept of it."""
        if self.usage.unreadable:
            return ()
        kept = used_by(report.splitlines()).all | self.usage.others
        mine = self.usage.sessions[name].all - kept
        for digest in mine:
            self._users[digest] = self._users[digest] - {name}
        return tuple(sorted(digest for digest in mine if not self._users[digest] and self.store.object_size(digest)))

    def _pages(self, pages: Sequence[str]) -> None:
        """Prune pages whose quotes are all there; one that lacks a quote stays, because that must be looked into."""
        stored = [digest for digest in pages if self.store.object_size(digest)]
        if stored:
            sound, quotes = self._sound_pages(stored)
            self.done.quotes += quotes
            self._objects("pages", sound, quotes)

    def _sound_pages(self, pages: Sequence[str]) -> tuple[list[str], int]:
        wanted, bad, quotes = set(pages), set(), 0
        for name in sorted(name for name, used in self.usage.sessions.items() if used.pages & wanted):
            state = state_of(name, decode_all(record.data for record in self.store.load(name)))
            state.facts = {key: fact for key, fact in state.facts.items() if fact.digest in wanted}
            wrong = {entry.where for entry in citation_audit.check(state, self.store).unsupported}
            bad |= {fact.digest for key, fact in state.facts.items() if key in wrong}
            quotes += len(state.facts)
        self.done.left |= {f"page {digest[:12]}": "a quote is not in it; see research verify" for digest in sorted(bad)}
        return [digest for digest in pages if digest not in bad], quotes

    def _objects(self, kind: Literal["pages", "exchanges", "originals"], digests: Iterable[str], quotes: int = 0) -> None:
        """Prune objects, some hundreds under each tombstone."""
        left = iter([digest for digest in digests if self.store.object_size(digest)])
        while some := tuple(islice(left, AT_ONCE)):
            size = sum(map(self.store.object_size, some))
            self.log.record(ObjectsPruned(kind=kind, objects=some, quotes=quotes, bytes=size))
            self.store.remove_objects(some)
            self.done.bytes += size
            setattr(self.done, kind, getattr(self.done, kind) + len(some))
            quotes = 0


def _checked_quotes(state: SessionState, store: EventStore) -> int:
    """Count the session's quotes; each is in its stored page.

    Raises:
        LogDamaged: one is not, or its page is missing.
    """
    checked = citation_audit.check(state, store)
    facts = {entry.where for entry in checked.unsupported} & state.facts.keys()
    if facts:
        raise LogDamaged(f"{len(facts)} of its quotes are not in their stored pages", hint="research verify lists them")
    return checked.quotes


def _refuse_other_report(state: SessionState, report: bytes) -> None:
    """Make sure that what is kept gives the same report.

    Raises:
        LogDamaged: it does not; the session must stay.
    """
    kept = state_of(state.id, decode_all(report.splitlines()))
    same = (kept.report, kept.changes, kept.status, kept.version) == (state.report, state.changes, state.status, state.version)
    if not same:
        raise LogDamaged(f"what would be kept of {state.id} does not give its report", hint="please report it")


def finish(store: EventStore, context: RunContext) -> int:
    """Remove what tombstones name and what is still there, or there again unused; return how many prunes were interrupted.

    A prune without an end gets one. Its tombstones count once its records are known to be on the disk.

    Raises:
        LogError: a stream of a prune cannot be read or written.
        LogUnwritable: the disk refuses; the next prune goes on.
    """
    unfinished = [name for name in store.ids("prune") if not any(x.type == "prune.ended" for x in store.load(name))]
    logs = [StreamLog(store, context, name, len(store.load(name))) for name in unfinished]
    try:
        for log in logs:
            log.record(context.agent)  # only when this is durable, what came before it is too
        for name in list(store.leftovers()):
            store.remove_stream(name)
        store.remove_objects(_still_pruned(store))
        for log in logs:
            log.record(PruneEnded())
    finally:
        for name in unfinished:
            store.release(name)
    return len(unfinished)


def _still_pruned(store: EventStore) -> list[str]:
    """The objects that are there although a tombstone names them, and that no stream has named since."""
    stones = store.tombstones().objects
    there = {digest for digest in stones if store.object_size(digest)}
    if there:
        for stream in (name for kind in _NAMING for name in store.ids(kind)):
            for record in store.load(stream):
                there -= {digest for digest in used_by([record.data]).all & there if record.at > stones[digest].at}
    return sorted(there)
