"""What changes in a workspace: ``changes`` for whoever builds from it, and ``Feed`` with the events themselves.

Both look again and again, at the states of files and at the marks of the store, so they notice what any machine records and what
is saved on any file system.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from pipeline.domain.events.records import KINDS, Kind, Record
from pipeline.errors import LogError, StoreUnreachable
from pipeline.ports import EventStore

LOOK_S = 0.4
_QUIET_S = 0.1  # after a change: editors save in several steps
_SHARE = 5  # a look at a large log takes its time; so many times that long is waited


def changes(store: EventStore, templates: Path, look_s: float = LOOK_S) -> Iterator[frozenset[str]]:
    """Yield nothing at once, and then, whenever there are some, the paths of changed templates and the ids of changed streams.

    A store that cannot be read is a change, and so is its return: whoever builds says what is wrong with it.
    """

    def look() -> Mapping[str, str]:
        found = dict[str, str]()
        for path in templates.rglob("*"):
            with suppress(OSError):  # it was removed meanwhile
                if path.is_file() and not path.name.startswith("."):
                    found[str(path)] = f"{path.stat().st_mtime_ns} {path.stat().st_size}"
        try:
            return found | dict(store.marks(KINDS))
        except LogError as error:
            return found | {"": error.message}

    before = look()
    yield frozenset()
    while True:
        began = time.monotonic()
        if look() != before:
            time.sleep(min(_QUIET_S, look_s))
            now = look()
            changed = frozenset(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
            before = now
            if changed:
                yield changed
        time.sleep(max(look_s, _SHARE * (time.monotonic() - began)))


AT_ONCE = 10_000  # about so many events are returned by one call


class Feed:
    """The events of a store that are stored from now on: each once, those of one stream in the order of their versions.

    Belongs to one thread at a time. What was stored while the store did not answer comes next.
    """

    def __init__(self, store: EventStore, kinds: Sequence[Kind] = ("session", "batch")) -> None:
        self._store, self._kinds = store, kinds
        self._marks = dict(store.marks(kinds))
        self._seen: dict[str, int] = {}

    def read(self) -> Sequence[Record]:
        """Return the events that were stored since the last call, ordered by time.

        Raises:
            StoreUnreachable: the next call goes on behind what was returned so far.
            LogError: a stream cannot be read; it is left out until it changes again.
        """
        found: list[Record] = []
        for name, mark in self._store.marks(self._kinds).items():
            before = self._marks.get(name)
            if mark == before:
                continue
            try:
                seen = self._seen[name] if name in self._seen else self._store.version_at(name, before) if before else 0
                records = self._store.load(name, after=seen)
            except LogError as error:
                if found:
                    break  # what was found is returned first
                if not isinstance(error, StoreUnreachable):
                    self._marks[name] = mark
                raise
            self._marks[name], self._seen[name] = mark, records[-1].version if records else seen
            found += records
            if len(found) > AT_ONCE:
                break
        return sorted(found, key=lambda record: (record.at, record.session_id, record.version))
