"""Events as canonical JSON, and back: one union on ``type``; old shapes are lifted when read, newer major schemas refused."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from difflib import get_close_matches
from types import MappingProxyType
from typing import Annotated, Any, get_args

from pydantic import Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from pipeline.domain.events import batch_events as n
from pipeline.domain.events import import_events as i
from pipeline.domain.events import memory_events as m
from pipeline.domain.events import pruning_events as p
from pipeline.domain.events import session_events as e
from pipeline.domain.events import talk_events as t
from pipeline.domain.events import vault_events as v
from pipeline.domain.events.session_events import EventBase
from pipeline.errors import LogDamaged, SchemaTooNew, UsageError
from pipeline.text.normalise import one_line

_SCHEMA_IN_RECORD = re.compile(rb'"schema_version":"(\d+)\.(\d+)"')

SessionEvent = Annotated[
    e.RunStarted
    | e.ResearchStarted
    | e.EarlierRecalled
    | e.MemoryRecalled
    | e.TopicSurveyed
    | e.PlanCreated
    | e.PlanExtended
    | e.ApprovalRequested
    | e.ApprovalGiven
    | e.WorkerStarted
    | e.WorkerThought
    | e.SearchCompleted
    | e.PageRead
    | e.FactsObserved
    | e.WorkerEvaluated
    | e.ContextFolded
    | e.WorkerCompleted
    | e.WorkerFailed
    | e.AnalysisStarted
    | e.FactsValidated
    | e.ContradictionsFound
    | e.GapLookedUp
    | e.AnalysisCompleted
    | e.SynthesisStarted
    | e.PassagesChosen
    | e.GapsFound
    | e.ReportWritten
    | e.OutlineCreated
    | e.SectionWritten
    | e.ClaimsChecked
    | e.ReportRevised
    | e.ReportEdited
    | e.ChangesFound
    | e.ReportGenerated
    | e.ResearchCompleted
    | e.ResearchFailed
    | e.ResearchCancelled
    | e.ResearchReopened
    | e.StepFailed
    | e.BudgetExhausted
    | e.SettingsChanged
    | e.CallSent
    | e.BranchMerged
    | e.HandoffInitiated
    | e.HandoffAccepted
    | e.HandoffCompleted
    | n.BatchStarted
    | n.QuerySkipped
    | n.PassagesEmbedded
    | n.QueryEnded
    | n.BatchEnded
    | n.VaultFailed
    | t.TalkOpened
    | t.MessageAsked
    | t.MessageResolved
    | t.PassagesFound
    | t.PassagesTaken
    | t.PassagesObserved
    | t.AnswerDrafted
    | t.MessageAnswered
    | t.TalkResearched
    | t.TalkClosed
    | m.MemoryStarted
    | m.SessionConsolidated
    | m.EntitiesNamed
    | m.EntityJoined
    | m.MemoryEnded
    | p.ResearchPruned
    | p.SessionPruned
    | p.ObjectsPruned
    | p.SessionForgotten
    | p.PruneEnded
    | p.RecordForgotten
    | v.NoteMoved
    | v.NoteHidden
    | v.NoteRated
    | v.NoteShown
    | i.ResearchImported
    | i.FactsImported
    | i.ReportImported
    | i.MessageImported,
    Field(discriminator="type"),
]

_ADAPTER: TypeAdapter[EventBase] = TypeAdapter(SessionEvent)

Lift = Any  # Callable[[dict[str, Any]], dict[str, Any]]; one per (major, minor) that changed a shape
LIFTS: Mapping[tuple[int, int], Lift] = MappingProxyType({})


def refuse_unknown_types(types: Iterable[str]) -> None:
    """Refuse names that are neither a type of events nor the part of one before its dot.

    Raises:
        UsageError: one is not.
    """
    known = {model.model_fields["type"].default for model in get_args(get_args(SessionEvent)[0])}
    groups = {kind.partition(".")[0] for kind in known}
    for wanted in types:
        if wanted not in known | groups:
            near = get_close_matches(wanted[:40], sorted(known | groups), n=1, cutoff=0.6)
            hint = f"did you mean {near[0]}?" if near else f"types begin with {', '.join(sorted(groups))}"
            raise UsageError(f"no event has the type {one_line(wanted, 60)!r}", hint=hint)


def encode(event: EventBase) -> bytes:
    """Return the event's canonical JSON: one object, fields in declared order, UTF-8, no white space, no line end."""
    return event.model_dump_json().encode()


def decode(data: bytes) -> EventBase:
    """Return the event that ``data``, one JSON object, holds.

    Raises:
        LogDamaged: it is no event: not JSON, a known type with missing or ill-typed fields, or its time is none.
        SchemaTooNew: it opens a run that a newer major version of this program wrote.
    """
    try:
        event = _ADAPTER.validate_json(data)
    except ValidationError as error:
        event = _decode_other(data, error)
    if isinstance(event, e.RunStarted):
        _refuse_newer(event)
    if event.at:
        _refuse_bad_time(event)
    return event


def decode_all(datas: Iterable[bytes]) -> Iterator[EventBase]:
    """Yield the events of one stream in order, lifting those written under an older schema."""
    if not LIFTS:
        yield from map(decode, datas)
        return
    schema = (e.SCHEMA_MAJOR, e.SCHEMA_MINOR)
    for data in datas:
        if data.find(b'"type":"run.started"', 0, 400) > 0 and (found := _SCHEMA_IN_RECORD.search(data)):
            schema = (int(found[1]), int(found[2]))
        yield decode(data) if schema not in LIFTS else decode(_lifted(data, schema))


def _lifted(data: bytes, schema: tuple[int, int]) -> bytes:
    import json

    return json.dumps(LIFTS[schema](from_json(data)), ensure_ascii=False).encode()


def _decode_other(data: bytes, error: ValidationError) -> EventBase:
    faults = error.errors(include_url=False)
    event = None
    try:
        event = e.UnknownEvent.model_validate_json(data)
        if any(fault["type"] == "union_tag_invalid" for fault in faults):
            return event
    except ValidationError as envelope_error:
        faults = envelope_error.errors(include_url=False)
    where = ".".join(str(part) for part in faults[0]["loc"])
    raise _damaged(event, f"{where or 'line'}: {faults[0]['msg']}") from error


def _refuse_bad_time(event: EventBase) -> None:
    try:
        if datetime.fromisoformat(event.at).tzinfo is not None:
            return
    except ValueError:
        pass
    raise _damaged(event, f"at: {event.at!r} is no time")


def _damaged(event: EventBase | None, why: str) -> LogDamaged:
    where = f"version {event.version} of {event.session_id}" if event else "a record"
    hint = "the record was not written by this program; bring the log back from a backup or from git"
    return LogDamaged(f"{where} is no event: {why}", hint=hint)


def _refuse_newer(event: e.RunStarted) -> None:
    schema = event.schema_version
    major = schema.partition(".")[0]
    if not major.isdigit() or int(major) > e.SCHEMA_MAJOR:
        raise SchemaTooNew(
            f"the log of {event.session_id} was written with event schema {schema}; this program reads up to {e.SCHEMA_MAJOR}.x",
            hint="upgrade night-research on this machine",
        )
