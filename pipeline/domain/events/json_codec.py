"""Events as canonical JSON, and back: one union on ``type``; newer major schemas are refused."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Annotated, Any, Union, cast, get_args

from pydantic import Field, TypeAdapter, ValidationError

from pipeline.domain.events import import_events, night_events, session_events, talk_events, upkeep_events
from pipeline.domain.events.session_events import SCHEMA_MAJOR, EventBase, RunStarted, UnknownEvent
from pipeline.errors import LogDamaged, SchemaTooNew, UsageError
from pipeline.text.cleaning import one_line

MODELS: dict[str, type[EventBase]] = {
    kind: model
    for module in (session_events, night_events, talk_events, upkeep_events, import_events)
    for model in vars(module).values()
    if isinstance(model, type) and issubclass(model, EventBase)
    for kind in get_args(model.model_fields["type"].annotation)
}
ANY_EVENT = cast(Any, Annotated)[cast(Any, Union)[tuple(dict.fromkeys(MODELS.values()))], Field(discriminator="type")]
_ADAPTER: TypeAdapter[EventBase] = TypeAdapter(ANY_EVENT)


def refuse_unknown_types(types: Iterable[str]) -> None:
    """Refuse names that are neither a type of events nor the part of one before its dot.

    Raises:
        UsageError: one is not.
    """
    groups = {kind.partition(".")[0] for kind in MODELS}
    for wanted in types:
        if wanted not in {*MODELS, *groups}:
            near = get_close_matches(wanted[:40], sorted({*MODELS, *groups}), n=1, cutoff=0.6)
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
        faults = error.errors(include_url=False)
        try:
            event = UnknownEvent.model_validate_json(data)
        except ValidationError as envelope_error:
            raise _damaged(None, envelope_error.errors(include_url=False)) from error
        if not any(fault["type"] == "union_tag_invalid" for fault in faults):
            raise _damaged(event, faults) from error
    if isinstance(event, RunStarted):
        major = event.schema_version.partition(".")[0]
        if not major.isdigit() or int(major) > SCHEMA_MAJOR:
            written = f"the log of {event.session_id} was written with event schema {event.schema_version}"
            hint = "upgrade night-research on this machine"
            raise SchemaTooNew(f"{written}; this program reads up to {SCHEMA_MAJOR}.x", hint=hint)
    if event.at:
        try:
            has_zone = datetime.fromisoformat(event.at).tzinfo is not None
        except ValueError:
            has_zone = False
        if not has_zone:
            raise _damaged(event, (), f"at: {event.at!r} is no time")
    return event


def decode_all(datas: Iterable[bytes]) -> Iterator[EventBase]:
    """Return the events of one stream in order."""
    return map(decode, datas)


def _damaged(event: EventBase | None, faults: Sequence[Any], why: str = "") -> LogDamaged:
    why = why or f"{'.'.join(str(part) for part in faults[0]['loc']) or 'line'}: {faults[0]['msg']}"
    where = f"version {event.version} of {event.session_id}" if event else "a record"
    hint = "the record was not written by this program; bring the log back from a backup or from git"
    return LogDamaged(f"{where} is no event: {why}", hint=hint)
