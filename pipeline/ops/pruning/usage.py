"""Which streams use which stored objects, read from the records themselves."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from pipeline.domain.events.records import Kind
from pipeline.errors import LogError
from pipeline.ports import EventStore

_EXCHANGE = re.compile(rb'"exchange":"([0-9a-f]{64})"')
_PAGE = re.compile(rb'"digest":"([0-9a-f]{64})"')
_REPORT = b'"type":"report.generated"'
_OTHER_KINDS: tuple[Kind, ...] = ("batch", "talk", "import")


@dataclass(frozen=True, slots=True)
class Used:
    """The objects that one session names; ``cited`` are the pages that its report cites."""

    exchanges: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()
    cited: frozenset[str] = frozenset()

    @property
    def all(self) -> frozenset[str]:
        """Its pages and exchanges."""
        return self.exchanges | self.pages


@dataclass(frozen=True, slots=True)
class Usage:
    """The objects of each readable session, those that other streams name, and why the remaining streams cannot be read."""

    sessions: dict[str, Used] = field(default_factory=dict)
    others: frozenset[str] = frozenset()
    unreadable: dict[str, str] = field(default_factory=dict)

    def users(self) -> dict[str, set[str]]:
        """Return the sessions that name each object."""
        found: dict[str, set[str]] = {}
        for name, used in self.sessions.items():
            for digest in used.all:
                found.setdefault(digest, set()).add(name)
        return found


def read_usage(store: EventStore) -> Usage:
    """Read all sessions, nights, talks and imports. What was pruned of a session uses nothing any more."""
    sessions: dict[str, Used] = {}
    unreadable: dict[str, str] = {}
    others: set[str] = set()
    for name in store.ids("session"):
        try:
            sessions[name] = used_by(record.data for record in store.load(name))
        except LogError as error:
            unreadable[name] = error.message
    for name in (name for kind in _OTHER_KINDS for name in store.ids(kind)):
        try:
            others |= used_by(record.data for record in store.load(name)).all
        except LogError as error:
            unreadable[name] = error.message
    return Usage(sessions, frozenset(others), unreadable)


def used_by(events: Iterable[bytes]) -> Used:
    """Return the objects that the events of one stream, as JSON, name."""
    exchanges: set[str] = set()
    pages: set[str] = set()
    cited: set[str] = set()
    for data in events:
        exchanges.update(map(bytes.decode, _EXCHANGE.findall(data)))
        pages.update(map(bytes.decode, _PAGE.findall(data)))
        if _REPORT in data[:400]:
            cited.update(entry.get("digest", "") for entry in json.loads(data).get("references", ()))
    return Used(frozenset(exchanges), frozenset(pages), frozenset(cited - {""}))
