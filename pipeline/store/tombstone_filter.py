"""What every event store does alike: what was pruned or forgotten is left out, and cannot go on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from pipeline.domain.events.stream_records import NO_TOMBSTONES, Kind, Record, Tombstones, kind_of, tombstones_of
from pipeline.errors import EventRejected
from pipeline.ports import Objects
from pipeline.store.record_chain import envelope_of


class StoredStreams(ABC):
    """The reading half of the port ``EventStore`` over streams as they are stored."""

    def __init__(self) -> None:
        self._known_prunes: Mapping[str, str] | None = None
        self._tombstones = NO_TOMBSTONES

    @property
    @abstractmethod
    def objects(self) -> Objects:
        """Pages and exchanges."""

    @abstractmethod
    def stored_marks(self, kinds: Sequence[Kind]) -> Mapping[str, str]:
        """Return a mark for each stored stream of these kinds, kind by kind, each sorted."""

    @abstractmethod
    def stored_records(self, stream: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; each is verified."""

    @abstractmethod
    def version_at(self, stream: str, mark: str) -> int:
        """Return the version that a stream had when it had that mark."""

    @abstractmethod
    def written_off(self) -> frozenset[str]:
        """Return the ids of sessions whose log is missing, and whose loss the user has accepted."""

    def stored_ids(self, kind: Kind, *, traces: bool = False) -> Iterable[str]:  # noqa: ARG002 - of which only files leave some
        """Return the ids of all stored streams of a kind, sorted; ``traces``: also those without a record."""
        return list(self.stored_marks([kind]))

    def branched(self, streams: Iterable[str]) -> Collection[str]:  # noqa: ARG002 - only files can be changed by two machines
        """Return those of the streams that two machines continued."""
        return ()

    def join(self, session_id: str) -> Sequence[Record]:  # noqa: ARG002
        """Store how a stream's branches are joined; return the records that do it, none if it has no several branches."""
        return ()

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records of versions above ``after``; of a pruned session those that are kept.

        Raises:
            LogDamaged, LogForked, LogUnreadable: the stream cannot be trusted.
        """
        if kind_of(session_id) == "session" and (pruned := self._stones().sessions.get(session_id)):
            kept = map(envelope_of, self.objects.get(pruned.report).splitlines())
            return [record for record in kept if record and record.version > after]
        return self.stored_records(session_id, after)

    def ids(self, kind: Kind, *, removed: bool = False) -> Iterator[str]:
        """Yield the ids of all streams of a kind, sorted; ``removed``: of those instead that must go, and still are there."""
        names, stones = self.stored_ids(kind, traces=removed), self._stones()
        if removed:
            return (name for name in names if stones.is_forgotten(name) or name in stones.sessions)
        pruned = stones.sessions.keys() if kind == "session" else ()
        left = (name for name in names if not stones.is_forgotten(name))
        return iter(sorted({*left, *pruned})) if pruned else left

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        """Return a mark for each stream of these kinds, by id, kind by kind, each sorted."""
        found, stones = self.stored_marks(kinds), self._stones()
        pruned = {name: f"pruned:{one.report}" for name, one in stones.sessions.items()} if "session" in kinds else {}
        left = {name: mark for name, mark in found.items() if not stones.is_forgotten(name)}
        whole = left | pruned
        return {name: whole[name] for kind in kinds for name in sorted(whole) if kind_of(name) == kind}

    def tombstones(self) -> Tombstones:
        """Return what was pruned, forgotten and written off; the streams of prunes are read again when one has changed.

        A session that went on elsewhere after it was pruned here, and came back, is not pruned.
        """
        return replace(self._stones(), written_off=self.written_off())

    def _stones(self) -> Tombstones:
        marks = dict(self.stored_marks(["prune"]))
        if marks != self._known_prunes:
            found = tombstones_of(record for name in marks for record in self.stored_records(name))
            there = self.stored_marks(["session"]) if found.sessions else {}
            versions = {name: self.version_at(name, there[name]) for name in found.sessions if name in there}
            left = {name: one for name, one in found.sessions.items() if versions.get(name, 0) <= one.up_to}
            self._tombstones, self._known_prunes = replace(found, sessions=left), marks
        return self._tombstones

    def _recorded(self, records: Sequence[Record]) -> None:
        """Take note of what was just appended to the stream of a prune, without reading all tombstones again."""
        self._tombstones = tombstones_of(records, self._tombstones)
        self._known_prunes = dict(self.stored_marks(["prune"]))

    def _refuse_removed(self, stream: str) -> None:
        if stream in (stones := self._stones()).sessions or stones.is_forgotten(stream):
            raise EventRejected(f"{stream} was pruned and cannot go on", hint="research the question in a new session")
