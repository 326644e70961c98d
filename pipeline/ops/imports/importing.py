"""Records an import: the original as an object first, then the events that name it. Done twice, it writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from pipeline.domain.events.event_base import EventBase
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.imports.identity import import_event_id, item_event_id, stream_id
from pipeline.domain.imports.import_events import ImportFinding, ResearchImported
from pipeline.domain.imports.parsed import ParsedImport
from pipeline.domain.imports.state import ImportState, import_of
from pipeline.domain.session import record_of, stamped
from pipeline.engine.run_context import RunContext
from pipeline.ops.pruning.imported import forgotten_name
from pipeline.ports import EventStore
from pipeline.text.normalise import counted, digest_of
from pipeline.text.times import timestamp

AT_ONCE = 500  # events of one append
MOST_FINDINGS = 1_000  # that are recorded of one session
_ENVELOPE = {"id", "session_id", "version", "at", "run_id"}
Outcome = Literal["new", "changed", "unchanged", "forgotten"]


@dataclass(frozen=True, slots=True)
class Imported:
    """What became of one session: its stream, and how many events were written now. ``parsed`` is what was read."""

    stream: str
    outcome: Outcome
    events: int
    parsed: ParsedImport


def outcome_of(store: EventStore, parsed: ParsedImport, tags: Sequence[str]) -> Imported:
    """Return what importing a session would do. Nothing is written.

    Raises:
        LogError: the stream of an earlier import cannot be read.
    """
    state = _known(store, parsed)
    stones = store.tombstones()
    if stones.is_forgotten(state.id) or stones.query_forgotten(forgotten_name(state.id)):
        return Imported(state.id, "forgotten", 0, parsed)
    drafts = list(_missing(state, parsed, tags, digest_of(parsed.original)))
    outcome: Outcome = "unchanged" if not drafts else "changed" if state.version else "new"
    return Imported(state.id, outcome, len(drafts), parsed)


def import_session(store: EventStore, context: RunContext, parsed: ParsedImport, tags: Sequence[str]) -> Imported:
    """Record what is not recorded yet of a session, ``AT_ONCE`` events in each append. The next import goes on after a crash.

    Raises:
        LogError: the stream cannot be read or written.
    """
    done = outcome_of(store, parsed, tags)
    if done.events:
        state = _known(store, parsed)
        drafts = list(_missing(state, parsed, tags, store.put(parsed.original)))
        try:
            _append(store, context, state, drafts)
        finally:
            store.release(state.id)
    return done


def _known(store: EventStore, parsed: ParsedImport) -> ImportState:
    """What the log holds of a session already."""
    words = parsed.question or parsed.title
    stream = stream_id(parsed.kind, parsed.original_id, words, store.ids("import"))
    return import_of(stream, decode_all(record.data for record in store.load(stream)))


def _missing(state: ImportState, parsed: ParsedImport, tags: Sequence[str], digest: str) -> Iterator[EventBase]:
    """Yield the drafts that are not recorded yet, each with its id."""
    said = _said(state, parsed, tags, digest)
    if not state.imports or _content(state.said) != _content(said):
        yield said.model_copy(update={"id": import_event_id(parsed.kind, parsed.original_id, state.imports)})
    for item in parsed.tally.items:
        before = state.items.get(item.ordinal)
        if before is None or _content(before) != _content(item):
            revision = state.revisions.get(item.ordinal, 0)
            yield item.model_copy(update={"id": item_event_id(parsed.kind, parsed.original_id, item.ordinal, revision)})


def _said(state: ImportState, parsed: ParsedImport, tags: Sequence[str], digest: str) -> ResearchImported:
    return ResearchImported(
        kind=parsed.kind,
        original_id=parsed.original_id,
        origin=parsed.origin,
        digest=digest,
        ordinals=len(parsed.tally.items),
        counts=parsed.tally.counts,
        form=parsed.form,
        files=parsed.files,
        question=parsed.question,
        title=parsed.title,
        status=parsed.status,
        finished=parsed.finished,
        created=parsed.created,
        updated=parsed.updated,
        tags=tuple(dict.fromkeys((*state.tags, *tags))),
        queue=parsed.queue,
        findings=_first(parsed.tally.findings),
    )


def _first(findings: Sequence[ImportFinding]) -> tuple[ImportFinding, ...]:
    """Return the findings, of very many the first; a last one then counts the others and the records that they left out."""
    rest = findings[MOST_FINDINGS:]
    if not rest:
        return tuple(findings)
    what = f"{counted(len(rest), 'more finding')} of this kind or another; the import printed them"
    left_out = sum(one.records for one in rest)
    return (*findings[:MOST_FINDINGS], ImportFinding(where="…", what=what, records=left_out))


def _content(event: EventBase) -> EventBase:
    """An event without its envelope, to compare what it says."""
    return event.model_copy(update=dict.fromkeys(_ENVELOPE - {"version"}, "") | {"version": 0})


def _append(store: EventStore, context: RunContext, state: ImportState, drafts: Sequence[EventBase]) -> None:
    version, at = state.version, timestamp(context.now())
    ready = [context.agent.model_copy(update={"id": context.new_id()}), *drafts]
    for start in range(0, len(ready), AT_ONCE):
        part = enumerate(ready[start : start + AT_ONCE], version + 1)
        events = [stamped(one, state.id, number, context.run_id, one.id, at) for number, one in part]
        version = store.append(state.id, [record_of(event) for event in events], version)
