"""The port ``EventStore`` over dictionaries: each stream is a list of records, each object its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pipeline.domain.events.records import Kind, Record, Snapshot, Tombstones, kind_of, tombstones_of
from pipeline.errors import EventRejected, ObjectMissing, VersionConflict
from pipeline.store.files import PolledSubscription
from pipeline.store.segments import envelope_of
from pipeline.text.normalise import digest_of


class MemoryStore:
    """The port ``EventStore`` over dictionaries."""

    def __init__(self) -> None:
        self.streams: dict[str, list[Record]] = {}
        self.objects: dict[str, bytes] = {}
        self.snapshots: dict[str, Snapshot] = {}
        self.given_up: set[str] = set()

    def append(self, session_id: str, records: Sequence[Record], expected_version: int) -> int:
        stream = self.streams.setdefault(session_id, [])
        known = {record.id: record.data for record in stream}
        if any(record.id in known and known[record.id] != record.data for record in records):
            raise EventRejected("the id is stored with other content")
        fresh = [record for record in records if record.id not in known]
        if fresh and expected_version + len(records) - len(fresh) != len(stream):
            raise VersionConflict(f"{session_id} is at version {len(stream)}, not {expected_version}")
        stream.extend(fresh)
        return len(stream)

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        if pruned := self.tombstones().sessions.get(session_id):
            kept = (envelope_of(line) for line in self.objects[pruned.report].splitlines())
            return tuple(record for record in kept if record and record.version > after)
        return tuple(self.streams.get(session_id, ())[after:])

    def tombstones(self) -> Tombstones:
        return tombstones_of(record for name in self.ids("prune") for record in self.streams[name])

    def size_of(self, stream: str) -> int:
        return sum(len(record.data) for record in self.streams.get(stream, ()))

    def object_size(self, digest: str) -> int:
        return len(self.objects.get(digest, b""))

    def remove_stream(self, stream: str) -> None:
        self.streams.pop(stream, None)
        self.snapshots.pop(stream, None)

    def remove_objects(self, digests: Iterable[str]) -> None:
        for digest in digests:
            self.objects.pop(digest, None)

    def leftovers(self) -> Iterator[str]:
        stones = self.tombstones()
        return (name for name in sorted(self.streams) if name in stones.sessions or stones.is_forgotten(name))

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        self.streams[stream] = [change(record) for record in self.streams[stream]]

    def session_ids(self) -> Iterator[str]:
        return self.ids("session")

    def ids(self, kind: Kind) -> Iterator[str]:
        names = {name for name in self.streams if kind_of(name) == kind}
        if kind == "session":
            stones = self.tombstones()
            names = {name for name in names if not stones.is_forgotten(name)} | stones.sessions.keys()
        return iter(sorted(names))

    def subscribe(self, kinds: Sequence[Kind] = ("session", "batch"), *, from_start: bool = False) -> PolledSubscription:
        return PolledSubscription(self, kinds, None if from_start else lambda _name, mark: int(mark.partition("-")[0]))

    def take_over(self, session_id: str) -> None:
        pass

    def branched(self, streams: Iterable[str]) -> set[str]:
        return set()

    def join(self, session_id: str) -> Sequence[Record]:
        return ()

    def beside(self, session_id: str) -> Sequence[Record]:
        return ()

    def written_off(self) -> set[str]:
        return self.given_up

    def marks(self, kinds: Sequence[Kind] = ("session", "batch")) -> Mapping[str, str]:
        pruned = self.tombstones().sessions
        return {
            name: f"pruned:{pruned[name].report}" if name in pruned else self._mark(name)
            for kind in kinds
            for name in self.ids(kind)
            if name in pruned or self.streams[name]
        }

    def _mark(self, name: str) -> str:
        struck = sum(record.type == "record.forgotten" for record in self.streams[name])
        return f"{len(self.streams[name])}{f'-{struck}' if struck else ''}"

    def load_snapshot(self, session_id: str, fold_id: str) -> Snapshot | None:
        snapshot = self.snapshots.get(session_id)
        return snapshot if snapshot and snapshot.fold_id == fold_id else None

    def save_snapshot(self, session_id: str, snapshot: Snapshot) -> None:
        self.snapshots[session_id] = snapshot

    def put(self, data: bytes) -> str:
        self.objects[digest_of(data)] = data
        return digest_of(data)

    def get(self, digest: str) -> bytes:
        try:
            return self.objects[digest]
        except KeyError:
            raise ObjectMissing(f"{digest} is not stored") from None

    def release(self, session_id: str) -> None:
        pass
