"""Following the event log while a run writes it. Reads without a lock, and returns each event once, after it is stored."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from pipeline.domain.events.json_codec import decode
from pipeline.domain.events.records import Record
from pipeline.domain.events.session_events import EventBase
from pipeline.ports import EventStore

ENDINGS = frozenset({"research.completed", "research.failed", "research.cancelled"})


@dataclass
class LogTail:
    """Follows one stream from the version ``after`` or, without a name, all streams from the time ``since`` (as in events).

    ``last`` is the last event that was returned.
    """

    store: EventStore
    name: str = ""
    after: int = 0
    since: str = ""
    last: EventBase | None = None
    _marks: dict[str, str] = field(default_factory=dict)
    _seen: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.name:
            self._marks = dict(self.store.marks())

    def new(self) -> tuple[EventBase, ...]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            LogError: a stream cannot be read.
        """
        if self.name:
            found = list(self.store.load(self.name, after=self.after))
            self.after = found[-1].version if found else self.after
        else:
            found = sorted(self._new_records(), key=lambda record: (record.at, record.session_id, record.version))
        events = tuple(decode(record.data) for record in found)
        self.last = events[-1] if events else self.last
        return events

    def _new_records(self) -> Iterator[Record]:
        marks = dict(self.store.marks())
        for name in (name for name in marks if marks[name] != self._marks.get(name)):
            for record in self.store.load(name, after=self._seen.get(name, 0)):
                self._seen[name] = record.version
                if record.at >= self.since:
                    yield record
        self._marks = marks


def is_over(last: EventBase | None) -> bool:
    """Return whether ``last``, the last event of a session, ends it."""
    return last is not None and last.type in ENDINGS
