"""Makes the log forget: by age what is no longer needed (a prune), or one session or import at a person's wish.

Quotes are checked, the report is stored, the tombstone is durable, and only then files go; what a crash leaves, ``finish`` takes
away. A forgotten session's tombstone names it by a digest.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, get_args

from pipeline.batch.session_index import SessionIndex
from pipeline.domain.events import session_events as e
from pipeline.domain.events.import_events import import_of
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.stream_records import KINDS, Kind, Record, id_digest, import_id, kind_of
from pipeline.domain.events.upkeep_events import ObjectsPruned, PruneEnded, ResearchPruned, SessionForgotten, SessionPruned
from pipeline.domain.page_choice_and_findings import all_facts, contradictions, open_gaps
from pipeline.domain.research_values import Cost, Spent
from pipeline.domain.session import counts_of, models_of, progress, state_of
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.domain.summary import Summary
from pipeline.domain.talk import read_talk
from pipeline.engine.recorder import StreamLog, new_stream
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import LogDamaged, LogError, LogUnwritable
from pipeline.ops import citation_audit
from pipeline.ports import EventStore
from pipeline.text.cleaning import digest_of
from pipeline.text.times import moment_of
from pipeline.vault.identity import session_of

_KEPT = (
    e.RunStarted, e.ResearchStarted, e.SettingsChanged, e.ChangesFound, e.ReportGenerated,
    e.ResearchCompleted, e.ResearchFailed, e.ResearchCancelled, e.ResearchReopened,
)  # fmt: skip
_UNPAID = {"step": "", "cost": Cost(), "exchange": ""}  # what a page cost is in the session's sum


def kept_events(history: Sequence[e.EventBase], state: SessionState) -> tuple[e.EventBase, ...]:
    """Return what is kept of a session that has ended; ``state`` is what ``history`` folds to.

    They keep their versions, so the session stays at its version: one event takes the place of the last that is dropped. The
    same history always gives the same.
    """
    dropped = [event for event in history if not isinstance(event, _KEPT)]
    if state.pruned or not dropped:
        return tuple(history)
    kept: list[e.EventBase] = [event for event in history if isinstance(event, _KEPT)]
    # The facts that are shown anywhere: in the report, as disagreements, as new since the report before.
    shown = b"".join(map(encode, kept)) + repr(contradictions(state)).encode()
    facts = tuple(fact for fact in all_facts(state) if fact.id.encode() in shown)
    names = {fact.id for fact in facts}
    urls = {fact.url for fact in facts} | {entry.url for entry in (state.report.references if state.report else ())}
    claims = {name: bears for name, bears in state.claims.items() if name in names}
    cost = cost_of(state)  # calls that were never answered count at their worst case
    costs = {one.name: getattr(cost, one.name) for one in fields(Spent) if hasattr(cost, one.name)}
    summary = ResearchPruned(
        **{name: getattr(dropped[-1], name) for name in ("id", "session_id", "version", "at", "run_id")},
        counts=counts_of(state) | {"steps": progress(state)[0]},
        spent=Spent(**{**asdict(state.spent), **costs}),
        facts=facts,
        pages=tuple(page.model_copy(update=_UNPAID) for url, page in state.pages.items() if url in urls),
        contradictions=contradictions(state) if any(one.contradictions is not None for one in state.analyses) else None,
        gaps=open_gaps(state) if any(one.gaps is not None for one in state.analyses) else None,
        claims=claims or ({"": True} if state.claims else {}),  # not empty: claims were compared in this session
        run_ends={run.run_id: run.last_at for run in state.runs},
        models=models_of(history),
    )
    return tuple(sorted([*kept, summary], key=lambda event: event.version))


Prunable = Literal["exchanges", "pages", "sessions"]
PRUNABLE: tuple[Prunable, ...] = get_args(Prunable)
OPEN, UNCONSOLIDATED, LATEST = "not ended yet", "not consolidated at its present version", "the latest on a recurring question"
AT_ONCE = 500  # objects under one tombstone
_NAMING: tuple[Kind, ...] = ("session", "batch", "talk", "import")  # the streams that name objects
_STRUCK: tuple[Kind, ...] = ("memory", "batch", "talk", "prune", "vault")  # those that say something of a session
_EXCHANGE = re.compile(rb'"exchange":"([0-9a-f]{64})"')  # canonical JSON: decoding every log only to find these takes minutes
_PAGE = re.compile(rb'"digest":"([0-9a-f]{64})"')
_ENVELOPE = ("id", "session_id", "version", "type", "at", "run_id")


class Used(NamedTuple):
    """The objects that one stream names; ``cited`` are the pages that its report cites."""

    exchanges: frozenset[str]
    pages: frozenset[str]
    cited: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        """Its pages and exchanges."""
        return self.exchanges | self.pages


def used_by(events: Iterable[bytes]) -> Used:
    """Return the objects that the events of one stream, as JSON, name."""
    found: tuple[set[str], set[str], set[str]] = (set(), set(), set())
    for data in events:
        found[0].update(map(bytes.decode, _EXCHANGE.findall(data)))
        found[1].update(map(bytes.decode, _PAGE.findall(data)))
        if b'"type":"report.generated"' in data[:400]:
            found[2].update(entry["digest"] for entry in json.loads(data).get("references", ()) if entry.get("digest"))
    return Used(*map(frozenset, found))


@dataclass
class Usage:
    """The objects that each stream names, how many name each, unreadable streams."""

    streams: dict[str, Used] = field(default_factory=dict)
    users: Counter[str] = field(default_factory=Counter)
    unreadable: list[str] = field(default_factory=list)

    def only(self, streams: Iterable[str]) -> set[str]:
        """Return the objects that no other stream names; none while one cannot be read, because it may name any."""
        mine = Counter(digest for name in streams if name in self.streams for digest in self.streams[name].all)
        return set() if self.unreadable else {digest for digest, times in mine.items() if times == self.users[digest]}


def size_of(records: Iterable[Record]) -> int:
    """Return the bytes of the events of a stream."""
    return sum(len(record.data) for record in records)


def read_usage(store: EventStore) -> Usage:
    """Read all sessions, nights, talks and imports. What was pruned of a session uses nothing any more."""
    usage = Usage()
    for name in (name for kind in _NAMING for name in store.ids(kind)):
        try:
            records = store.load(name)
        except LogError:
            usage.unreadable.append(name)
            continue
        usage.streams[name] = used_by(record.data for record in records)
        usage.users.update(usage.streams[name].all)
    return usage


@dataclass(frozen=True, slots=True)
class Known:
    """What the log and the queue say. ``due`` are the sessions that are not consolidated; ``recurring`` are query ids."""

    summaries: tuple[Summary, ...]
    due: Collection[str]
    recurring: Collection[str]
    usage: Usage
    pruned: Collection[str]


@dataclass(frozen=True, slots=True)
class PrunePlan:
    """The ids of sessions, and the digests of objects, that may go; ``kept`` counts old sessions that stay, by reason."""

    sessions: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    exchanges: tuple[str, ...] = ()
    kept: Mapping[str, int] = field(default_factory=dict)


def plan(known: Known, ages: Mapping[Prunable, timedelta | None], now: datetime) -> PrunePlan:
    """Return what may be pruned at ``now``: of each kind what is at least so old, since the session's end. Pure.

    Never: what is not consolidated at its present version; a session that is open, waits for approval, or is the latest on a
    recurring question; a page that an unpruned report cites; an object that a talk or an unreadable session may name.
    """
    counts, latest = Counter(one.query_id for one in known.summaries), SessionIndex(known.summaries).latest()
    held = {one.id: LATEST for query, one in latest.items() if query in known.recurring or counts[query] > 1}
    held |= dict.fromkeys(known.due, UNCONSOLIDATED)
    held |= {one.id: OPEN for one in known.summaries if not one.ended}

    def is_old(kind: Prunable, at: str) -> bool:
        age = ages.get(kind)
        return age is not None and at != "" and moment_of(at) <= now - age

    old = {kind: {one.id for one in known.summaries if is_old(kind, one.ended_at)} for kind in PRUNABLE}
    sessions, usage = old["sessions"].difference(known.pruned), known.usage
    go = sessions - held.keys()
    cited = {x for name, used in usage.streams.items() if name not in go and name not in known.pruned for x in used.cited}
    of = {name: usage.only(old[name] - held.keys()) for name in ("pages", "exchanges")}
    named = {name: {x for used in usage.streams.values() for x in getattr(used, name)} for name in of}
    return PrunePlan(
        tuple(sorted(go)),
        tuple(sorted(of["pages"] & named["pages"] - cited)),
        tuple(sorted(of["exchanges"] & named["exchanges"])),
        dict(Counter(held[name] for name in sessions | old["exchanges"] if name in held)),
    )


@dataclass
class Pruned:
    """The outcome: ids and counts, the bytes that were freed, checked quotes, and what was left and why."""

    sessions: list[str] = field(default_factory=list)
    pages: int = 0
    exchanges: int = 0
    bytes: int = 0
    quotes: int = 0
    left: dict[str, str] = field(default_factory=dict)


def prune(store: EventStore, context: RunContext, chosen: PrunePlan, usage: Usage) -> Pruned:
    """Prune what the plan names; what fails its check stays, and is named in the outcome. Nothing else may write meanwhile.

    Raises:
        LogUnwritable: the disk refuses; the next prune goes on.
        LogError: the stream of the prune cannot be written.
    """
    log, done = new_stream(store, context, "prune"), Pruned()
    try:
        for name in chosen.sessions:
            try:
                _prune_session(store, log, name, usage, done)
            except LogUnwritable:
                raise
            except LogError as error:
                done.left[name] = error.message
        kinds: tuple[Literal["pages", "exchanges"], ...] = ("pages", "exchanges")
        for kind in kinds:  # some hundreds under each tombstone
            stored = tuple(digest for digest in getattr(chosen, kind) if store.objects.size(digest))
            for start in range(0, len(stored), AT_ONCE):
                some = stored[start : start + AT_ONCE]
                size = sum(map(store.objects.size, some))
                log.record(ObjectsPruned(kind=kind, objects=some, bytes=size))
                store.objects.remove(some)
                done.bytes += size
            setattr(done, kind, len(stored))
        if log.version:
            log.record(PruneEnded())
    finally:
        store.release(log.id)
    return done


def _prune_session(store: EventStore, log: StreamLog, name: str, usage: Usage, done: Pruned) -> None:
    """Prune one session, with the exchanges and pages that nothing else uses, except the pages of what is kept of it.

    Raises:
        LogDamaged: a quote is not in its page, the page is missing, or what would be kept does not give the same report.
    """
    records = store.load(name)
    history = tuple(decode_all(record.data for record in records))
    state = state_of(name, history)
    audit = citation_audit.check(state, store)
    if wrong := {entry.where for entry in audit.unsupported} & state.facts.keys():
        raise LogDamaged(f"{len(wrong)} of its quotes are not in their stored pages", hint="research verify lists them")
    report = b"".join(encode(event) + b"\n" for event in kept_events(history, state))
    kept = state_of(name, decode_all(report.splitlines()))
    if (kept.report, kept.changes, kept.status, kept.version) != (state.report, state.changes, state.status, state.version):
        raise LogDamaged(f"what would be kept of {name} does not give its report", hint="please report it")
    gone = [digest for digest in usage.only([name]) - used_by(report.splitlines()).all if store.objects.size(digest)]
    usage.users.subtract(usage.streams[name].all - used_by(report.splitlines()).all)
    size = size_of(records) + sum(map(store.objects.size, gone))
    tombstone = SessionPruned(
        session=name, up_to=state.version, head=digest_of(records[-1].data), report=store.objects.put(report),
        quotes=audit.quotes, objects=tuple(sorted(gone)), bytes=size,
    )  # fmt: skip
    log.record(tombstone)
    store.remove_stream(name)
    store.objects.remove(tombstone.objects)
    done.sessions.append(name)
    done.quotes += audit.quotes
    done.bytes += size - store.objects.size(tombstone.report)


@dataclass(frozen=True, slots=True)
class Forgetting:
    """What forgetting a session or an import takes: ``objects`` that only it uses, ``talks`` about it.

    ``builds_on`` are the sessions that followed it: their logs repeat some of its facts.
    """

    session: str
    query: str
    query_id: str
    objects: tuple[str, ...]
    bytes: int
    talks: tuple[str, ...] = ()
    builds_on: tuple[str, ...] = ()


def forgetting(store: EventStore, name: str, query: str = "", query_id: str = "") -> Forgetting:
    """Return what forgetting a session, or an import, would take. Nothing is changed.

    Raises:
        LogError: its log cannot be read.
    """
    usage, is_import = read_usage(store), kind_of(name) == "import"
    if is_import:
        found = import_of(name, decode_all(record.data for record in store.load(name)))
        if found:  # a later import of the same is refused by this name, whatever its question is then
            query, query_id = found.last.heading, import_id(found.last.kind, name.rpartition("-")[2])
    talks = tuple(one for one in store.ids("talk") if not is_import and _scope(store, one) == (name,))
    objects = tuple(sorted(digest for digest in usage.only([name, *talks]) if store.objects.size(digest)))
    others = () if is_import else (x for x in usage.streams if kind_of(x) == "session" and x != name)
    followers = tuple(x for x in others if any(name.encode() in record.data for record in store.load(x)))
    size = size_of(store.load(name)) + sum(map(store.objects.size, objects))
    return Forgetting(name, query, query_id, objects, size, talks, followers)


def forget(store: EventStore, context: RunContext, what: Forgetting) -> None:
    """Forget a session or an import for good. Nothing else may write meanwhile.

    Raises:
        LogUnwritable: the disk refuses; the next prune goes on.
        LogError: a stream that names the session cannot be read; it must be repaired first, then the next prune goes on.
    """
    log, report = new_stream(store, context, "prune"), store.tombstones().sessions.get(what.session)
    objects = (*what.objects, *([report.report] if report else []))
    query = id_digest(what.query_id) if what.query_id else ""
    try:
        log.record(SessionForgotten(session=id_digest(what.session), query=query, objects=objects, bytes=what.bytes))
    finally:
        store.release(log.id)
    finish(store, context)


def finish(store: EventStore, context: RunContext) -> int:
    """Take away all that tombstones name and that is still there, or there again unused; return how many had been interrupted.

    Nothing of a forgotten session is left either: records that say something of it lose that, or all. A prune without an end
    gets one; its tombstones count once its records are known to be on the disk. Done twice, it changes nothing.

    Raises:
        LogError: a stream of a prune, or one that names a forgotten session, cannot be read or written.
        LogUnwritable: the disk refuses; the next prune goes on.
    """
    unfinished = [name for name in store.ids("prune") if not any(x.type == "prune.ended" for x in store.load(name))]
    logs = [StreamLog(store, context, name, len(store.load(name))) for name in unfinished]
    try:
        for log in logs:
            log.record()  # only when this is durable, what came before it is too
        if talks := _talks_on_forgotten(store):
            logs.append(new_stream(store, context, "prune"))
            logs[-1].record(*(SessionForgotten(session=id_digest(talk)) for talk in talks))
        _strike_forgotten(store)
        for name in leftovers(store):
            store.remove_stream(name)
        store.objects.remove(_still_pruned(store))
        for log in logs:
            log.record(PruneEnded())
    finally:
        for log in logs:
            store.release(log.id)
    return len(unfinished)


def leftovers(store: EventStore) -> list[str]:
    """Return the ids of pruned and forgotten streams of which something is still there."""
    return [name for kind in KINDS for name in store.ids(kind, removed=True)]


def _still_pruned(store: EventStore) -> list[str]:
    """Return the objects that are there although a tombstone names them, and that no stream has named since."""
    stones = store.tombstones().objects
    there = {digest for digest in stones if store.objects.size(digest)}
    try:
        for stream in (name for kind in _NAMING if there for name in store.ids(kind)):
            for record in store.load(stream):
                there -= {digest for digest in used_by([record.data]).all & there if record.at > stones[digest]}
    except LogError:
        return []  # it may name any of them
    return sorted(there)


def _talks_on_forgotten(store: EventStore) -> list[str]:
    """Return the talks about forgotten sessions; join what another machine added to a talk out of which something was struck."""
    stones, found = store.tombstones(), list[str]()
    for name in list(store.ids("talk")) if stones.forgotten else ():
        try:
            scope = _scope(store, name)
        except LogDamaged:
            store.strike(name, Record._replace)  # each record as it is
            scope = _scope(store, name)
        if scope and all(map(stones.is_forgotten, scope)):
            found.append(name)
    return found


def _strike_forgotten(store: EventStore) -> None:
    """Take away what other streams say of forgotten sessions; nights and what people did to notes of their queries too."""
    stones = store.tombstones()
    if not stones.forgotten:
        return
    queries = stones.queries.keys() - {id_digest(_query_of(store, name)) for name in store.ids("session")}
    names = {kind: stones.forgotten.keys() | (queries if kind in ("batch", "vault") else set()) for kind in _STRUCK}
    for kind in _STRUCK:

        def change(record: Record, gone: Collection[str] = names[kind]) -> Record:
            return _struck(record, gone)

        for name in list(store.ids(kind)):
            if any(change(record) != record for record in store.load(name)):
                store.strike(name, change)


def _struck(record: Record, names: Collection[str]) -> Record:
    """Return a record as it may stay: without the sessions and queries whose ids have these digests, and their notes.

    The rating of a passage or a source stays, for later sessions on its question, and so does the beginning of a talk.
    """
    said = json.loads(record.data)

    def gone(value: object) -> bool:
        return isinstance(value, str) and id_digest(value) in names

    def cleaned(value: Any) -> Any:
        if isinstance(value, list):
            left = (one for one in value if not gone(one))
            return [one | {"session": ""} if isinstance(one, dict) and gone(one.get("session")) else one for one in left]
        return {name: one for name, one in value.items() if not gone(name)} if isinstance(value, dict) else value

    of_note, stays = gone(session_of(said.get("note", ""))), said.get("fact") or said.get("url") or record.type == "talk.opened"
    if gone(said.get("session")) or gone(said.get("query_id")) or (of_note and not stays):
        new = {name: said[name] for name in _ENVELOPE} | {"type": "record.forgotten"}
    else:
        new = {name: cleaned(value) for name, value in said.items()} | ({"note": ""} if of_note else {})
        if record.type == "entities.named":
            new["names"] = []  # of earlier versions, made of the statements of sessions; nothing reads them
    if new == said:
        return record
    return record._replace(type=new["type"], data=json.dumps(new, ensure_ascii=False, separators=(",", ":")).encode())


def _scope(store: EventStore, talk: str) -> tuple[str, ...]:
    """Return the sessions that a talk is about, none if it is about more."""
    state = read_talk(store, talk)
    return state.ids if state.scope == "session" else ()


def _query_of(store: EventStore, session: str) -> str:
    """Return the id of a session's query, "" if it cannot be read."""
    try:
        started = [json.loads(record.data) for record in store.load(session) if record.type == "research.started"]
        return str(started[0]["query_id"]) if started else ""
    except LogError:
        return ""
