"""Records: the results of a session's steps, and the events of streams that are no session. Objects come first.

What is recorded holds no key. Whoever records opens the segment of a run with its agent.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic_core import PydanticSerializationError

from pipeline.domain.events.session_events import EventBase, StepFailed
from pipeline.domain.events.stream_records import Kind, Record, stream_id
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession, record_of, stamped
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import AnswerInvalid, LogError, LogUnwritable, StepError
from pipeline.ports import EventStore
from pipeline.text.cleaning import digest_of, one_line
from pipeline.text.times import timestamp


def encoded(
    context: RunContext, drafts: Sequence[EventBase], stream: str, version: int, *, opened: bool
) -> list[tuple[EventBase, Record]]:
    """Return the drafts as the events that follow ``version``, with their bytes, after the agent of a run that opens the stream.

    Raises:
        AnswerInvalid: one holds half a surrogate pair.
    """
    whole = drafts if opened else (context.agent, *drafts)
    return [_encoded(context, draft, stream, place) for place, draft in enumerate(whole, version + 1)]


def _encoded(context: RunContext, draft: EventBase, stream: str, version: int) -> tuple[EventBase, Record]:
    """Return the draft as the event with that version, without any key, and its bytes, encoded once.

    Raises:
        AnswerInvalid: it holds half a surrogate pair.
    """
    envelope = (stream, version, context.run_id, context.new_id(), timestamp(context.now()))
    event = stamped(draft, *envelope)
    try:
        record = record_of(event)
    except PydanticSerializationError as error:
        raise AnswerInvalid(f"the answer holds text that is not Unicode: {error}") from error
    if (clean := context.redact(record.data)) == record.data:
        return event, record
    event = stamped(type(draft).model_validate_json(clean), *envelope)  # the state must not hold a key either
    return event, record_of(event)


def failed(step: str, error: Exception, *, recoverable: bool, attempt: int = 1, seconds: float | None = None) -> StepFailed:
    """Return a step's error as an event, with what the step cost all the same."""
    known = error if isinstance(error, StepError) else None
    return StepFailed(
        step=step,
        error=type(error).__name__,
        message=one_line(str(error), 2_000) or type(error).__name__,
        recoverable=recoverable,
        attempt=attempt,
        outage=known.outage.service if known and known.outage else "",
        cost=(known.cost if known else None) or Cost(),
        exchange=digest_of(known.exchange) if known and known.exchange else "",
        seconds=seconds,
    )


@dataclass
class StreamLog:
    """The stream of a consolidation, a prune or a talk. ``version`` is that of its last event so far."""

    store: EventStore
    context: RunContext
    id: str
    version: int = 0
    _opened: bool = field(default=False, init=False)

    def record(self, *drafts: EventBase, objects: Sequence[bytes] = ()) -> tuple[EventBase, ...]:
        """Stamp and store, the ``objects`` that they name first; without any, only its agent. Return the stamped events.

        Raises:
            LogError: it could not be stored.
        """
        for data in objects:
            self.store.objects.put(data)
        pairs = encoded(self.context, drafts, self.id, self.version, opened=self._opened)
        self.version = self.store.append(self.id, [record for _, record in pairs], self.version)
        self._opened = True
        return tuple(event for event, _ in pairs)


@dataclass(slots=True)
class _Waiting:
    """Events that are folded but not stored yet."""

    events: list[EventBase] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)


def new_stream(store: EventStore, context: RunContext, kind: Kind) -> StreamLog:
    """Return the log of a new stream of a kind; ids sort by time."""
    return StreamLog(store, context, stream_id(kind, timestamp(context.now()), secrets.token_hex(4)))


class Recorder:
    """The one place that records: objects first, then the events that name them, durable before anything builds on them.

    Waiting for the disk is done in threads, and what comes up meanwhile goes out together in the next append.
    """

    def __init__(self, session: ResearchSession, store: EventStore, context: RunContext) -> None:
        self._session, self._store, self._context = session, store, context
        self._opened = bool(session.state.runs) and session.state.runs[-1].run_id == context.run_id
        self._stored = session.state.version
        self._waiting = _Waiting()
        self._turn = asyncio.Lock()
        self._failure: LogError | None = None

    def record(self, *drafts: EventBase) -> None:
        """Store events in one append, while nothing else is under way.

        Raises:
            CommandRefused: an event does not fit the state.
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        self.take(*drafts)
        if taken := self._taken():
            self._written(taken.events, self._append(taken))

    def take(self, *drafts: EventBase, objects: Iterable[bytes] = ()) -> None:
        """Fold events into the state; the next ``flush`` stores the ``objects`` that they name, and then them.

        Raises:
            CommandRefused: an event does not fit the state.
            AnswerInvalid: one holds half a surrogate pair; none was taken.
        """
        version = self._session.state.version
        pairs = encoded(self._context, drafts, self._session.id, version, opened=self._opened) if drafts else []
        self._opened |= bool(pairs)
        self._waiting.objects += objects
        for event, record in pairs:
            self._session.record(event)
            self._waiting.events.append(event)
            self._waiting.records.append(record)

    async def flush(self) -> None:
        """Return when all that was taken so far is stored.

        Raises:
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        async with self._turn:
            if self._failure is not None:
                raise self._failure
            if not (taken := self._taken()):
                return
            try:
                version = await asyncio.to_thread(self._append, taken)
            except BaseException as error:
                broken = LogUnwritable(f"{self._session.id}: an event before this one was not stored")
                self._failure = error if isinstance(error, LogError) else broken
                raise
            self._written(taken.events, version)

    def _taken(self) -> _Waiting | None:
        taken, self._waiting = self._waiting, _Waiting()
        return taken if taken.events else None

    def _append(self, taken: _Waiting) -> int:
        for data in taken.objects:
            self._store.objects.put(data)
        return self._store.append(self._session.id, taken.records, self._stored)

    def _written(self, events: Sequence[EventBase], version: int) -> None:
        self._stored = version
        for event in events:
            self._context.listener(event, self._session.state)
