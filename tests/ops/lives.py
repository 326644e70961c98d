"""Random lives of a log: sessions, consolidations, prunes and wishes to forget, any of them killed or refused half-way.

What must hold after each act is held against what was ever recorded.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pipeline.batch.memory_consolidation import consolidate, due_sessions, read_memory
from pipeline.batch.session_index import read_all
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.events.stream_records import Record
from pipeline.domain.session import state_of
from pipeline.domain.summary import Summary
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import LogUnwritable
from pipeline.ops.forgetting import (
    PRUNABLE,
    Known,
    finish,
    forget,
    forgetting,
    kept_events,
    leftovers,
    plan,
    prune,
    read_usage,
    used_by,
)
from pipeline.store import verification
from pipeline.store.file_store import FileStore
from pipeline.text.cleaning import digest_of
from pipeline.vault import build_vault
from tests.fakes import MemoryStore, Ticks
from tests.faults.filesystem import close_below, faulty
from tests.store.samples import files_in
from tests.vault.builders import PAGES, TEMPLATES, Story

HARMLESS = {"torn", "leftover"}
RECURRING = frozenset({"q0"})


class Killed(BaseException):
    """The process is gone at this point."""


def kill() -> None:
    raise Killed


@dataclass
class Life:
    """A log below ``root`` and all that was ever recorded in it. ``day`` goes on with each session."""

    root: Path
    chance: Random
    day: int = 0
    recorded: dict[str, list[Record]] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    pruned: set[str] = field(default_factory=set)

    @property
    def store(self) -> FileStore:
        """The log as a new process sees it."""
        return FileStore(self.root / "events")

    @property
    def now(self) -> datetime:
        """The present, some days after the latest session."""
        return datetime(2026, 1, 1, 3, tzinfo=UTC) + timedelta(days=self.day)

    def context(self) -> RunContext:
        """A run at the present."""
        ticks = Ticks(prefix=f"run{self.chance.getrandbits(40):010x}", moment=self.now)
        return RunContext(ticks.prefix, RunStarted(host="here", process=1, program="test"), now=ticks.now, new_id=ticks.new_id)

    def research(self, query: int | None = None, ending: str = "") -> None:
        """A night with one session on one of three questions, which ends with a report, fails, or is interrupted."""
        self.day += self.chance.randint(1, 9)
        query = self.chance.randrange(3) if query is None else query
        ending = ending or self.chance.choice(["report"] * 4 + ["failed", "open"])
        name = f"{self.now:%Y-%m-%d}-q{query}-{len(self.recorded):04x}"
        same = [x for x in self.recorded if f"-q{query}-" in x and x not in self.forgotten]
        records, objects = session(query, ending, self.chance.randrange(3))
        old = b"2026-11-21-session-0000"
        renamed = [self._renamed(record, old, name, same[-1] if same else "") for record in records]
        store = self.store
        for data in objects:
            store.objects.put(data)
        self.recorded[name] = renamed
        store.append(name, renamed, 0)
        store.release(name)
        self._night(store, name, query)

    def _night(self, store: FileStore, name: str, query: int) -> None:
        at, batch = f"{self.now:%Y-%m-%d}T03:00:00.000Z", f"batch-{self.now:%Y-%m-%d}t030000-{len(self.recorded):04x}"
        said: tuple[dict[str, Any], ...] = (
            {"type": "run.started", "host": "here", "process": 1, "program": "test"},
            {"type": "batch.started", "due": [f"q{query}"], "queries": {f"q{query}": f"What of {query}?"}},
            {"type": "query.ended", "query_id": f"q{query}", "query": f"What of {query}?", "session": name, "status": "x"},
        )  # fmt: skip
        records = []
        for version, one in enumerate(said, start=1):
            envelope = {"id": f"{batch}-{version}", "session_id": batch, "version": version, "type": one["type"], "at": at}
            data = json.dumps({**envelope, "run_id": "run-b", **one}, separators=(",", ":")).encode()
            records.append(Record(f"{batch}-{version}", batch, version, str(one["type"]), at, "run-b", data))
        store.append(batch, records, 0)
        store.release(batch)

    def _renamed(self, record: Record, old: bytes, name: str, previous: str) -> Record:
        day = f"{self.now:%Y-%m-%d}T".encode()
        data = record.data.replace(old, name.encode()).replace(b"2026-11-21T", day)
        data = data.replace(b'"previous_session":""', b'"previous_session":"%b"' % previous.encode())
        at, run = record.at.replace("2026-11-21T", day.decode()), record.run_id
        return Record(record.id.replace(old.decode(), name), name, record.version, record.type, at, run, data)

    def consolidate(self) -> None:
        """Consolidate what ended."""
        store = self.store
        asyncio.run(consolidate(store, self.context(), read_all(store).sessions))

    def prune(self) -> None:
        """Finish what was interrupted, then prune by some ages."""
        store, context = self.store, self.context()
        finish(store, context)
        ages = {kind: self.chance.choice([None, timedelta(days=self.chance.randint(0, 12))]) for kind in PRUNABLE[:3]}
        known = self.known(store)
        prune(store, context, plan(known, ages, self.now), known.usage)

    def known(self, store: FileStore) -> Known:
        """What a prune decides by."""
        summaries = read_all(store).sessions
        due = {one.session for one in due_sessions(read_memory(store), summaries)}
        return Known(summaries, due, RECURRING, read_usage(store), store.tombstones().sessions)

    def forget(self) -> None:
        """A person wishes one of the sessions away."""
        store = self.store
        finish(store, self.context())
        there = [one for one in read_all(store).sessions if one.id not in self.forgotten]
        if there:
            one = self.chance.choice(there)
            self.forgotten.add(one.id)
            forget(store, self.context(), forgetting(store, one.id, one.query, one.query_id))

    def act(self) -> list[str]:
        """Do one thing, one time in three with a kill or a failure at some file operation; return what broke."""
        wished = set(self.forgotten)
        acts = [self.research] * 3 + [self.consolidate] * 2 + [self.prune] * 3 + [self.forget]
        what: Callable[[], None] = self.chance.choice(acts)
        before = {one.id: one for one in read_all(self.store).sessions} if what == self.prune else {}
        consolidated = {x: one.up_to for x, one in read_memory(self.store).sessions.items()} if what == self.prune else {}
        if self.chance.random() < 1 / 3:
            self._cut_short(what)
        else:
            what()
        for name in self.forgotten - wished:
            if not self.store.tombstones().is_forgotten(name):  # cut short before its tombstone: nothing has happened
                self.forgotten.discard(name)
        return self.broken(before, consolidated)

    def _cut_short(self, what: Callable[[], None]) -> None:
        recorded = set(self.recorded)

        fault = self.chance.choice(["EIO", "ENOSPC", "short"])
        happens = kill if self.chance.random() < 0.5 else None
        try:
            with faulty(self.root, self.chance.randint(1, 30), fault, happens):  # type: ignore[arg-type]
                what()
        except (Killed, LogUnwritable):
            close_below(self.root)
        for name in set(self.recorded) - recorded:
            if not self.store.load(name):
                del self.recorded[name]  # never acknowledged

    def broken(self, before: dict[str, Summary], consolidated: dict[str, int]) -> list[str]:
        """Return every promise that does not hold."""
        store = self.store
        stones = store.tombstones()
        wrong = [f"{name} was pruned although {why}" for name in stones.sessions.keys() - self.pruned - self.forgotten
                 if (why := self._may_not(before[name], before, consolidated))]  # fmt: skip
        self.pruned |= stones.sessions.keys()
        for name in self.recorded.keys() - self.forgotten:
            wrong += self._differing(store, name, pruned=name in stones.sessions)
        wrong += [f"{name} is forgotten and still there" for name in self.forgotten & set(store.ids("session"))]
        findings = verification.verify(self.root / "events")
        return wrong + [str(finding) for finding in findings if finding.kind not in HARMLESS]

    def _may_not(self, one: Summary, all_of: dict[str, Summary], consolidated: dict[str, int]) -> str:
        if not one.ended:
            return "it has not ended"
        if one.tokens and consolidated.get(one.id) != one.version:
            return "it is not consolidated"
        same = sorted((other.started_at, other.id) for other in all_of.values() if other.query_id == one.query_id)
        recurs = len(same) > 1 or one.query_id in RECURRING
        return "it is the latest on a recurring question" if recurs and same[-1][1] == one.id else ""

    def _differing(self, store: FileStore, name: str, *, pruned: bool) -> list[str]:
        """What a session has lost: nothing, or, if it was pruned, all but what is kept."""
        whole = self.recorded[name]
        found = [record.data for record in store.load(name)]
        if not pruned:
            used = used_by(found)
            gone = [x for x in used.all if not store.objects.size(x) and x not in store.tombstones().objects]
            cited = [x for x in used.cited if not store.objects.size(x)]
            lost = [f"{name} lost records"] if found != [record.data for record in whole] else []
            return lost + [f"{name} lost {digest[:8]}" for digest in (*gone, *cited)]
        history = tuple(decode_all(record.data for record in whole))
        kept = [encode(event) for event in kept_events(history, state_of(name, history))]
        return [f"{name} does not have what was to be kept"] if found != kept else []

    def ended(self) -> list[str]:
        """A last clean prune: nothing may be left of what is gone, and no word of what is forgotten."""
        self.consolidate()
        self.prune()
        store, stones = self.store, self.store.tombstones()
        wrong = [f"left over: {name}" for name in leftovers(store)]
        wrong += [str(finding) for finding in verification.verify(self.root / "events") if finding.kind != "torn"]
        wrong += [f"unfinished: {x}" for x in store.ids("prune") if store.load(x)[-1].type != "prune.ended"]
        elsewhere = [record.data for kind in ("batch", "memory", "prune") for x in store.ids(kind) for record in store.load(x)]
        wrong += [f"a record names {name}" for name in self.forgotten if any(name.encode() in data for data in elsewhere)]
        named = {x for name in store.ids("session") for x in used_by(r.data for r in store.load(name)).all}
        return wrong + [f"still stored: {x[:8]}" for x in stones.objects if store.objects.size(x) and x not in named]

    def vault(self, state: str = "state") -> dict[str, bytes]:
        """The files of the vault after a build that remembers the last one with the same ``state``."""
        vault = self.root / f"vault-{state}"
        build_vault(self.store, templates=TEMPLATES, vault=vault, state_dir=self.root / state)
        return files_in(vault)


@cache
def session(query: int, ending: str, pages: int) -> tuple[list[Record], tuple[bytes, ...]]:
    """The records of one session, and the pages and exchanges that they name; some of the pages are read by others too."""
    store = MemoryStore()
    urls = tuple(f"{url}-{(pages + n) % 3}" for n, url in enumerate(PAGES))
    story = Story(store, id="2026-11-21-session-0000", query=f"What of question {query}?", query_id=f"q{query}", pages=urls)
    texts = {url: "\n\n".join(fact.quote for fact in story.facts if fact.url == url) + f"\n\n{url} {query}" for url in urls}
    story.texts = texts
    digests = {url: digest_of(text.encode()) for url, text in texts.items()}
    story.facts = tuple(fact.model_copy(update={"digest": digests[fact.url]}) for fact in story.facts)
    story.begin().planned()
    if ending != "open":
        story.gathered()
        story.failed() if ending == "failed" else story.analysed().reported()
    exchange = f"asked about {query}, {ending}, {pages}".encode()
    records = [_with_objects(record, digests, digest_of(exchange)) for record in store.load(story.id)]
    return records, (*(text.encode() for text in texts.values()), exchange)


def _with_objects(record: Record, digests: dict[str, str], exchange: str) -> Record:
    """The record with an exchange, and the true digests of pages in its references."""
    said = json.loads(record.data)
    for entry in said.get("references", ()):
        entry["digest"] = digests[entry["url"]]
    if record.type == "facts.observed":
        said["exchange"] = exchange
    (event,) = decode_all([json.dumps(said).encode()])
    return record._replace(data=encode(event))


def lived(seed: int, root: Path, *, acts: int = 12, vault: bool = False) -> list[str]:
    """Live one life; return the first promises that broke. ``vault``: it is built in between, and from nothing at the end."""
    life = Life(root, Random(seed))
    for number in range(acts):
        if wrong := life.act():
            return [f"act {number + 1}: {what}" for what in wrong]
        if vault and life.chance.random() < 0.4:
            life.vault()
    if wrong := life.ended():
        return [f"at the end: {what}" for what in wrong]
    return ["the vault differs from one built from nothing"] if vault and life.vault() != life.vault("fresh") else []
