"""Records the outcomes of steps: objects first, then the events that refer to them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic_core import PydanticSerializationError

from pipeline.domain.events.records import Record
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession, record_of, stamped
from pipeline.engine.run_context import RunContext
from pipeline.errors import AnswerInvalid, LogError, LogUnwritable
from pipeline.ports import EventStore
from pipeline.research import Outcome
from pipeline.text.times import timestamp


@dataclass(slots=True)
class _Waiting:
    """Events that are folded but not stored yet."""

    events: list[EventBase] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    objects: list[bytes] = field(default_factory=list)


class Recorder:
    """The one place that records: objects first, then the events that name them, durable before anything builds on them.

    Waiting for the disk is done in threads, and what comes up meanwhile goes out together in the next append.
    """

    def __init__(self, session: ResearchSession, store: EventStore, context: RunContext) -> None:
        self._session, self._store, self._context = session, store, context
        self._opened = bool(session.state.runs) and session.state.runs[-1].run_id == context.run_id
        self._stored = self._snapshot_at = session.state.version
        self._waiting = _Waiting()
        self._turn = asyncio.Lock()
        self._failure: LogError | None = None

    def record(self, outcomes: Iterable[Outcome]) -> None:
        """Store the outcomes in one append, while nothing else is under way.

        Raises:
            CommandRefused: an event does not fit the state.
            LogError: it could not be stored; the session's state is ahead of the log and must be dropped.
        """
        self.take(outcomes)
        if taken := self._taken():
            self._written(taken.events, self._append(taken))

    def take(self, outcomes: Iterable[Outcome]) -> None:
        """Fold the outcomes' events into the state; the next ``flush`` stores them and their objects.

        Raises:
            CommandRefused: an event does not fit the state.
            AnswerInvalid: an outcome holds half a surrogate pair; nothing of it was taken.
        """
        for outcome in outcomes:
            first = () if self._opened or not outcome.drafts else (self._context.agent,)
            encoded = [self._encoded(draft, ahead) for ahead, draft in enumerate((*first, *outcome.drafts), 1)]
            self._opened |= bool(first)
            self._waiting.objects += outcome.objects
            for event, record in encoded:
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
            self._store.put(data)
        return self._store.append(self._session.id, taken.records, self._stored)

    def _written(self, events: Sequence[EventBase], version: int) -> None:
        self._stored = version
        for event in events:
            self._context.listener(event, self._session.state)
        if self._session.state.version >= self._snapshot_at + self._context.snapshot_every:
            self.snapshot()

    def _encoded(self, draft: EventBase, ahead: int) -> tuple[EventBase, Record]:
        """The draft as the event that comes ``ahead`` of the state, without any key, and its bytes, encoded once."""
        context, name, version = self._context, self._session.id, self._session.state.version + ahead
        envelope = (name, version, context.run_id, context.new_id(), timestamp(context.now()))
        event = stamped(draft, *envelope)
        try:
            record = record_of(event)
        except PydanticSerializationError as error:
            raise AnswerInvalid(f"the answer holds text that is not Unicode: {error}") from error
        if (clean := context.redact(record.data)) == record.data:
            return event, record
        event = stamped(type(draft).model_validate_json(clean), *envelope)  # the state must not hold a key either
        return event, record_of(event)

    def snapshot(self) -> None:
        """Keep the state so that the next opening is quick; not one that holds events which could not be stored."""
        if self._snapshot_at < self._session.state.version == self._stored:
            self._store.save_snapshot(self._session.id, self._session.snapshot())
            self._snapshot_at = self._session.state.version
