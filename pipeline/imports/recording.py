"""Records an import: the original as an object, then one event that names it. Done twice, it writes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from pipeline.domain.events.import_events import import_of
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_records import import_id
from pipeline.domain.session import record_of, stamped
from pipeline.engine.stop_and_clock import RunContext
from pipeline.imports.converters import Converted
from pipeline.ports import EventStore
from pipeline.text.cleaning import digest_of
from pipeline.text.times import timestamp


class Recorded(NamedTuple):
    """The stream of a session, and what an import makes of it."""

    stream: str
    outcome: Literal["new", "changed", "unchanged", "forgotten"]


def record_import(
    store: EventStore, streams: set[str], context: RunContext, one: Converted, tags: Sequence[str], *, dry: bool = False
) -> Recorded:
    """Record a session unless its stream ends with the same original and tags, or it was forgotten; ``dry``: write nothing.

    ``streams`` are those of all imports of the store; a new one is added.

    Raises:
        LogError: the stream cannot be read or written.
    """
    said = one.said
    tail = _digest(said.kind, said.original_id)[:8]
    known = (name for name in streams if name.endswith(f"-{tail}") and name.startswith(f"import-{said.kind}-"))
    stream = min(known, default=import_id(said.kind, tail, said.question or said.title or said.original_id))
    streams.add(stream)
    stones = store.tombstones()
    if stones.is_forgotten(stream) or stones.query_forgotten(import_id(said.kind, tail)):
        return Recorded(stream, "forgotten")
    records = store.load(stream)
    before = import_of(stream, decode_all(record.data for record in records))
    said = said.model_copy(update={"tags": tuple(dict.fromkeys((*(before.last.tags if before else ()), *tags)))})
    if before and (before.last.digest, before.last.tags) == (said.digest, said.tags):
        return Recorded(stream, "unchanged")
    done = Recorded(stream, "changed" if before else "new")
    if dry:
        return done
    store.objects.put(one.original)
    at, version = timestamp(context.now()), len(records)
    identity = _digest(said.kind, said.original_id, "imported", str(version), said.digest, *said.tags)[:32]
    drafts: tuple[tuple[EventBase, str], ...] = ((context.agent, context.new_id()), (said, identity))
    events = [stamped(draft, stream, version + n, context.run_id, name, at) for n, (draft, name) in enumerate(drafts, 1)]
    try:
        store.append(stream, [record_of(event) for event in events], version)
    finally:
        store.release(stream)
    return done


def _digest(*parts: str) -> str:
    return digest_of("\0".join(parts).encode("utf-8", "replace"))
