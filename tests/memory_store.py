"""The port ``EventStore`` over dictionaries: each stream is a list of records, each object its bytes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pipeline.domain.events.stream_records import Kind, Record, kind_of
from pipeline.errors import EventRejected, ObjectMissing, VersionConflict
from pipeline.store.tombstone_filter import StoredStreams
from pipeline.text.cleaning import digest_of


class MemoryObjects(dict[str, bytes]):
    """The port ``Objects`` over a dictionary."""

    def put(self, data: bytes) -> str:
        self[digest_of(data)] = data
        return digest_of(data)

    def get(self, digest: str) -> bytes:  # type: ignore[override]
        try:
            return self[digest]
        except KeyError:
            raise ObjectMissing(f"{digest} is not stored") from None

    def size(self, digest: str) -> int:
        return len(self[digest]) if digest in self else 0

    def ids(self) -> Iterator[str]:
        return iter(sorted(self))

    def remove(self, digests: Iterable[str]) -> None:
        for digest in digests:
            self.pop(digest, None)


class MemoryStore(StoredStreams):
    """The port ``EventStore`` over dictionaries."""

    objects = MemoryObjects()  # of the class; each store has its own

    def __init__(self) -> None:
        super().__init__()
        self.streams: dict[str, list[Record]] = {}
        self.objects = MemoryObjects()
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

    def stored_ids(self, kind: Kind, *, traces: bool = False) -> list[str]:
        return sorted(name for name in self.streams if kind_of(name) == kind)

    def stored_marks(self, kinds: Sequence[Kind]) -> Mapping[str, str]:
        found = (name for kind in kinds for name in self.stored_ids(kind) if self.streams[name])
        return {name: f"{len(self.streams[name])}-{hash(tuple(self.streams[name]))}" for name in found}

    def stored_records(self, stream: str, after: int = 0) -> Sequence[Record]:
        return tuple(self.streams.get(stream, ())[after:])

    def version_at(self, stream: str, mark: str) -> int:
        return int(mark.partition("-")[0])

    def written_off(self) -> frozenset[str]:
        return frozenset(self.given_up)

    def remove_stream(self, stream: str) -> None:
        self.streams.pop(stream, None)

    def strike(self, stream: str, change: Callable[[Record], Record]) -> None:
        self.streams[stream] = [change(record) for record in self.streams[stream]]

    def take_over(self, session_id: str) -> None:
        pass

    def release(self, session_id: str) -> None:
        pass
