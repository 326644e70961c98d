"""What workers asked, what they were acknowledged, and what they were billed, in files that a kill does not empty.

Each line is one ``write`` to a file opened for appending, and carries the machine's monotonic clock, which all processes share.
"""

from __future__ import annotations

import os
import time
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.store.postgres import PostgresStore
from tests.fakes import event_names


class Ledger:
    """Notes of one process, in the folder that all share."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._fd = os.open(folder / f"{os.getpid()}.txt", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def note(self, kind: str, session: str, what: str) -> None:
        os.write(self._fd, f"{kind}\t{time.monotonic_ns()}\t{session}\t{what}\n".encode())


@dataclass
class Account:
    """The notes of all processes: asks and acknowledgements by session with their times, and the sum that was billed."""

    asks: dict[str, list[tuple[int, str]]]
    acks: dict[str, dict[int, tuple[int, str]]]
    billed_nano: int

    @classmethod
    def of(cls, folder: Path) -> Account:
        found = cls({}, {}, 0)
        for path in folder.glob("*.txt"):
            for line in path.read_text().splitlines():
                found._take(*line.split("\t"))
        return found

    def _take(self, kind: str, at: str, session: str, what: str) -> None:
        if kind == "ask":
            self.asks.setdefault(session, []).append((int(at), what))
        elif kind == "ack":
            version, identity = what.split(" ")
            self.acks.setdefault(session, {})[int(version)] = (int(at), identity)
        else:
            self.billed_nano += int(what)

    def broken(self, store: PostgresStore) -> list[str]:
        """Return what was acknowledged and lost, recorded twice, or asked for again after it was acknowledged."""
        return [fault for session in store.ids("session") for fault in self._faults(session, store)]

    def _faults(self, session: str, store: PostgresStore) -> list[str]:
        events = list(decode_all(record.data for record in store.load(session)))  # the chain of hashes is verified
        acks, faults = self.acks.get(session, {}), []
        stored = {event.version: event for event in events}
        faults += [
            f"{session}: version {version} was acknowledged and is lost"
            for version, (_, identity) in acks.items()
            if version not in stored or stored[version].id != identity
        ]
        views = {event.worker_id: event.perspective_id for event in events if isinstance(event, e.WorkerStarted)}
        names = [(name, event.version) for event in events for name in event_names([event], dict(views))]
        faults += [
            f"{session}: {name} is recorded {count} times" for name, count in Counter(n for n, _ in names).items() if count > 1
        ]
        known = {name: acks[version][0] for name, version in names if version in acks}
        faults += [
            f"{session}: {name} was asked for again after it was acknowledged"
            for at, name in self.asks.get(session, ())
            if at > known.get(name, at)
        ]
        return faults
