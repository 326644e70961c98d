"""The one place that records what steps answered: objects first, then the events that name them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from pipeline.domain.events.json_codec import encode
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.session import ResearchSession, record_of
from pipeline.engine.run_context import RunContext
from pipeline.errors import LogError, LogUnwritable
from pipeline.ports import EventStore
from pipeline.research import Outcome
from pipeline.text.times import timestamp


@dataclass(slots=True)
class _Waiting:
    """What is folded and not stored yet."""

    events: list[EventBase] = field(default_factory=list)
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
        """
        outcomes = tuple(outcomes)
        drafts = [draft for outcome in outcomes for draft in outcome.drafts]
        if drafts and not self._opened:
            drafts.insert(0, self._context.agent)
            self._opened = True
        self._waiting.objects += [data for outcome in outcomes for data in outcome.objects]
        self._waiting.events += [self._stamped(draft) for draft in drafts]

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
        return self._store.append(self._session.id, [record_of(event) for event in taken.events], self._stored)

    def _written(self, events: Sequence[EventBase], version: int) -> None:
        self._stored = version
        for event in events:
            self._context.listener(event, self._session.state)
        if self._session.state.version >= self._snapshot_at + self._context.snapshot_every:
            self.snapshot()

    def _stamped(self, draft: EventBase) -> EventBase:
        context = self._context
        at = timestamp(context.now())
        draft = _redacted(draft, context.redact)
        return self._session.record(draft, run_id=context.run_id, event_id=context.new_id(), at=at)

    def snapshot(self) -> None:
        """Keep the state so that the next opening is quick; not one that holds events which could not be stored."""
        if self._snapshot_at < self._session.state.version == self._stored:
            self._store.save_snapshot(self._session.id, self._session.snapshot())
            self._snapshot_at = self._session.state.version


def _redacted(draft: EventBase, redact: Callable[[bytes], bytes]) -> EventBase:
    """The draft without any key that slipped into it, in the state as well as in the log."""
    data = encode(draft)
    clean = redact(data)
    return draft if clean == data else type(draft).model_validate_json(clean)
