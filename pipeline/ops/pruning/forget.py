"""Forgets a session at a person's wish: its log, what only it uses, and what nights, memory and talks say of it.

Its tombstone names it by a digest. It comes first; whatever a crash leaves of the rest, ``finish_forgetting`` takes away.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pipeline.domain.events.pruning_events import PruneEnded, SessionForgotten
from pipeline.domain.events.records import Kind, Record
from pipeline.domain.events.tombstones import Tombstones
from pipeline.engine.run_context import RunContext
from pipeline.engine.stream_log import StreamLog
from pipeline.errors import LogError
from pipeline.ops.pruning.prune import new_prune_id
from pipeline.ops.pruning.usage import read_usage, used_by
from pipeline.ports import EventStore
from pipeline.text.normalise import digest_of
from pipeline.text.times import timestamp

_STRUCK: tuple[Kind, ...] = ("memory", "batch", "talk", "prune")


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What forgetting a session takes: ``objects`` that only it uses, ``records`` elsewhere that name it, ``talks`` about it.

    ``builds_on`` are the sessions that followed it: their logs repeat some of its facts. ``only`` is true if its query has no
    other session.
    """

    session: str
    query: str
    query_id: str
    objects: tuple[str, ...]
    bytes: int
    records: int
    talks: tuple[str, ...]
    builds_on: tuple[str, ...]
    only: bool


def forgetting(store: EventStore, session: str, query: str, query_id: str) -> Forgetting:
    """Return what forgetting a session would take. Nothing is changed.

    Raises:
        LogError: the session's log cannot be read.
    """
    usage = read_usage(store)
    mine = usage.sessions[session].all
    others = [used.all for name, used in usage.sessions.items() if name != session]
    talks = tuple(_talks_about(store, session))
    objects = mine.difference(usage.others - _named_in(store, talks), *others) if not usage.unreadable else frozenset()
    stored = tuple(sorted(digest for digest in objects | _named_in(store, talks) & mine if store.object_size(digest)))
    followers = [name for name in usage.sessions if name != session and _names(store, name, session)]
    size = store.size_of(session) + sum(map(store.object_size, stored))
    same = sum(_query_of(store, name) == query_id for name in usage.sessions)
    records = sum(session.encode() in record.data for kind in _STRUCK for x in store.ids(kind) for record in store.load(x))
    return Forgetting(session, query, query_id, stored, size, records, talks, tuple(followers), same == 1)


def forget(store: EventStore, context: RunContext, what: Forgetting) -> None:
    """Forget a session for good. Nothing else may write meanwhile.

    Raises:
        LogUnwritable: the disk refuses; the next prune goes on.
        LogError: a stream that names the session cannot be read; it must be repaired first, then the next prune goes on.
    """
    log = StreamLog(store, context, new_prune_id(timestamp(context.now())))
    report = store.tombstones().sessions.get(what.session)
    objects = (*what.objects, *([report.report] if report else []))
    try:
        tombstone = SessionForgotten(
            session=_digest(what.session),
            query=_digest(what.query_id) if what.query_id else "",
            objects=objects,
            bytes=what.bytes,
        )
        log.record(tombstone)
        finish_forgetting(store)
        store.remove_objects(objects)
        log.record(PruneEnded())
    finally:
        store.release(log.id)


def finish_forgetting(store: EventStore) -> None:
    """Take away all that is left of forgotten sessions. Done twice, it changes nothing.

    Raises:
        LogError: a stream cannot be read or rewritten.
    """
    stones = store.tombstones()
    if not stones.forgotten:
        return
    for name in list(store.ids("talk")):
        if _is_about(store.load(name), stones):
            store.remove_stream(name)
    queries = stones.queries.keys() - {_digest(_query_of(store, name)) for name in store.ids("session")}
    facts = _facts_of_forgotten(store, stones)
    changes = (_Names(stones, facts).change, _Strike(stones, queries).change)  # names first: they are told by the statements
    for change in changes:
        for kind in _STRUCK:
            for name in list(store.ids(kind)):
                if any(change(record) != record for record in store.load(name)):
                    store.strike(name, change)
    for name in list(store.leftovers()):
        store.remove_stream(name)


@dataclass(frozen=True, slots=True)
class _Strike:
    """Replaces records that say something of a forgotten session or of a query that has no other session."""

    stones: Tombstones
    queries: Iterable[str]

    def change(self, record: Record) -> Record:
        """Return the record as it may stay."""
        said = json.loads(record.data)
        if record.type in ("session.consolidated", "query.ended", "session.pruned") and self._forgotten(said.get("session")):
            return _struck(record)
        if record.type == "query.skipped" and _digest(said.get("query_id", "")) in self.queries:
            return _struck(record)
        before = json.dumps(said)
        self._clean(record.type, said)
        return record if json.dumps(said) == before else _with(record, said)

    def _clean(self, kind: str, said: dict[str, Any]) -> None:
        if kind == "batch.started":
            for name in ("due", "archived"):
                said[name] = [one for one in said.get(name, ()) if _digest(one) not in self.queries]
        elif kind == "memory.started":
            said["due"] = [one for one in said["due"] if not self._forgotten(one["session"])]
        elif kind == "memory.ended":
            said["failed"] = {name: why for name, why in said.get("failed", {}).items() if not self._forgotten(name)}
        elif kind == "talk.opened":
            said["ids"] = [one for one in said.get("ids", ()) if not self._forgotten(one)]

    def _forgotten(self, session: object) -> bool:
        return isinstance(session, str) and self.stones.is_forgotten(session)


@dataclass(frozen=True, slots=True)
class _Names:
    """Takes statements of forgotten sessions out of the names of entities, and names that nothing else bears."""

    stones: Tombstones
    facts: frozenset[str]

    def change(self, record: Record) -> Record:
        """Return the record as it may stay."""
        if record.type != "entities.named" or not self.facts:
            return record
        said = json.loads(record.data)
        names = []
        for entity in said.get("names", ()):
            left = [one for one in entity.get("statements", ()) if one not in self.facts]
            if left or not entity.get("statements"):
                names.append({**entity, "statements": left})
        return record if names == said.get("names") else _with(record, {**said, "names": names})


def _facts_of_forgotten(store: EventStore, stones: Tombstones) -> frozenset[str]:
    """The statements that only forgotten sessions found."""
    gone: set[str] = set()
    left: set[str] = set()
    for name in store.ids("memory"):
        for record in store.load(name):
            if record.type == "session.consolidated":
                said = json.loads(record.data)
                found = {one["fact"] for one in said.get("statements", ())}
                (gone if stones.is_forgotten(said["session"]) else left).update(found)
    return frozenset(gone - left)


def _struck(record: Record) -> Record:
    return _with(record._replace(type="record.forgotten"), {})


def _with(record: Record, said: dict[str, Any]) -> Record:
    """A record with the same envelope, and other content."""
    envelope = {
        "id": record.id, "session_id": record.session_id, "version": record.version, "type": record.type, "at": record.at,
        "run_id": record.run_id,
    }  # fmt: skip
    data = json.dumps({**envelope, **{name: value for name, value in said.items() if name not in envelope}}, ensure_ascii=False)
    return record._replace(data=json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":")).encode())


def _talks_about(store: EventStore, session: str) -> Iterator[str]:
    """The talks whose scope is this session alone."""
    for name in store.ids("talk"):
        opened = _first(store.load(name), "talk.opened")
        if opened.get("scope") == "session" and list(opened.get("ids", ())) == [session]:
            yield name


def _is_about(records: Iterable[Record], stones: Tombstones) -> bool:
    opened = _first(records, "talk.opened")
    ids = opened.get("ids", ())
    return opened.get("scope") == "session" and bool(ids) and all(map(stones.is_forgotten, ids))


def _named_in(store: EventStore, streams: Iterable[str]) -> frozenset[str]:
    return frozenset(digest for name in streams for digest in used_by(x.data for x in store.load(name)).all)


def _names(store: EventStore, session: str, other: str) -> bool:
    needle = other.encode()
    return any(needle in record.data for record in store.load(session))


def _query_of(store: EventStore, session: str) -> str:
    """The id of a session's query, "" if it cannot be read."""
    try:
        return str(_first(store.load(session), "research.started").get("query_id", ""))
    except LogError:
        return ""


def _first(records: Iterable[Record], kind: str) -> dict[str, Any]:
    """What the first record of a type says; empty without one."""
    return next((dict(json.loads(record.data)) for record in records if record.type == kind), {})


def _digest(text: str) -> str:
    return digest_of(text.encode("utf-8", "replace"))
