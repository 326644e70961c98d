"""The night: which queries are due, their sessions one after another or side by side, and the night's own event stream."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from pipeline import events as e
from pipeline import night_events as n
from pipeline.errors import CommandRefused, LogError, LogUnwritable, ProviderRefused, ResearchError
from pipeline.events import EventBase, moment_of, timestamp
from pipeline.overview import Overview, Summary
from pipeline.ports import EventStore
from pipeline.queue.model import Limits, Query, Queue
from pipeline.research import Desk, Outcome
from pipeline.run import Recorder, RunContext, run_session
from pipeline.session import ResearchSession, record_of
from pipeline.state import SessionState, seconds_between, working_seconds
from pipeline.stopping import INTERRUPTED, ending_at, kept_for_writing
from pipeline.text import one_line, slug
from pipeline.values import Cost, ResearchConfig

Action = Literal["new", "resume", "done", "failed", "cancelled", "damaged"]
LEFT = frozenset({"failed", "cancelled", "damaged"})
SESSIONS_AT_ONCE = 4
PASSED = "the deadline has passed"


@dataclass(frozen=True, slots=True)
class Decision:
    """What tonight does about one query, and why. ``session`` is the latest one's id, or "" for none yet."""

    query: Query
    action: Action
    reason: str
    session: str = ""

    @property
    def due(self) -> bool:
        """Tell whether there is work to do."""
        return self.action in {"new", "resume"}


@dataclass(frozen=True, slots=True)
class NightResult:
    """What became of a night. ``exit_code`` as documented for the command ``run``."""

    batch: str = ""
    ended: tuple[n.QueryEnded, ...] = ()
    skipped: tuple[n.QuerySkipped, ...] = ()
    exit_code: int = 0


def decide(queue: Queue, known: Overview, now: datetime, only: Sequence[str] = ()) -> tuple[Decision, ...]:
    """Return what is to be done about each query: interrupted ones first, then by priority, then in the file's order.

    ``only`` restricts the night to these query ids; a failed query named there is researched anew. A query whose session
    cannot be read is left alone: its answers may be in there, and would be paid for again.
    """
    latest = known.latest()
    chosen = [query for query in queue.queries if not only or query.id in only]
    decisions = [
        _damaged(query, latest.get(query.id), known) or _decision(query, latest.get(query.id), now, named=query.id in only)
        for query in chosen
    ]
    return tuple(sorted(decisions, key=lambda decision: (decision.action != "resume", -decision.query.priority)))


def _damaged(query: Query, last: Summary | None, known: Overview) -> Decision | None:
    """Tell the query's damaged sessions, by their names, from those that a sound one has followed since."""
    since = last.started_at[:10] if last else ""
    mine = [name for name in known.damaged if name[11:-5] == slug(query.id, 40) and name[:10] >= since]
    if not mine:
        return None
    return Decision(query, "damaged", f"the log of {mine[-1]} is damaged: research verify", mine[-1])


def _decision(query: Query, last: Summary | None, now: datetime, *, named: bool) -> Decision:
    if last is None:
        return Decision(query, "new", "not researched yet")
    if last.query != query.text:
        return Decision(query, "new", "the question was changed", last.id)
    if not last.ended:
        return Decision(query, "resume", f"interrupted while {last.status}", last.id)
    if last.status == "complete":
        return _recurrence(query, last, now)
    if named:
        return Decision(query, "new", f"asked for by name; the last try {last.status}", last.id)
    action: Action = "failed" if last.status == "failed" else "cancelled"
    return Decision(query, action, last.end_reason or last.status, last.id)


def _recurrence(query: Query, last: Summary, now: datetime) -> Decision:
    done = f"done on {last.ended_at[:10]}"
    if query.every is None:
        return Decision(query, "done", done, last.id)
    next_time = moment_of(last.started_at) + query.every
    if next_time <= now:
        return Decision(query, "new", f"{done}; due again since {next_time.date()}", last.id)
    return Decision(query, "done", f"{done}; due again on {next_time.date()}", last.id)


def deadline_after(limits: Limits, now: datetime) -> datetime | None:
    """Return the next moment at which the local clock shows the night's deadline, or None."""
    if limits.deadline is None:
        return None
    today = now.astimezone().date()
    # Each day's clock time is made aware by itself: between two days the clocks may be put forward or back.
    moments = (datetime.combine(today + timedelta(days=days), limits.deadline).astimezone() for days in (0, 1))
    return next(moment for moment in moments if moment > now)


@dataclass
class BatchLog:
    """The night's own stream, in the same format as a session's."""

    store: EventStore
    context: RunContext
    id: str
    version: int = 0

    def record(self, *drafts: EventBase) -> None:
        """Stamp and store.

        Raises:
            LogError: it could not be stored.
        """
        if self.version == 0:
            drafts = (self.context.agent, *drafts)
        at = timestamp(self.context.now())
        stamped = [
            draft.model_copy(
                update={
                    "id": self.context.new_id(),
                    "session_id": self.id,
                    "version": self.version + place,
                    "at": at,
                    "run_id": self.context.run_id,
                }
            )
            for place, draft in enumerate(drafts, start=1)
        ]
        self.version = self.store.append(self.id, [record_of(event) for event in stamped], self.version)


@dataclass
class Night:
    """One batch at work. ``desk_of`` gives a session's doors, ``config_of`` the limits that a new session runs under."""

    store: EventStore
    queue: Queue
    desk_of: Callable[[SessionState], Desk]
    config_of: Callable[[Query], ResearchConfig]
    context: RunContext
    sessions_at_once: int = SESSIONS_AT_ONCE
    _ended: list[n.QueryEnded] = field(default_factory=list)
    _skipped: list[n.QuerySkipped] = field(default_factory=list)
    _refused: ProviderRefused | None = None

    async def work(self, decisions: Sequence[Decision]) -> NightResult:
        """Research all that is due; return what became of it.

        Raises:
            LogError: the log cannot be written.
        """
        due = [decision for decision in decisions if decision.due]
        if not due:
            return NightResult(exit_code=0)
        started_at = timestamp(self.context.now())
        log = BatchLog(self.store, self.context, f"batch-{started_at[:19].replace(':', '').lower()}-{secrets.token_hex(2)}")
        log.record(n.BatchStarted(due=tuple(d.query.id for d in due), queue_digest=self.queue.digest))
        self._skip(log, (d for d in decisions if d.action in LEFT))
        gate = asyncio.Semaphore(self.sessions_at_once)
        try:
            async with ending_at(self.context.deadline, self.context.now, self.context.stop), asyncio.TaskGroup() as group:
                for decision in due:
                    group.create_task(self._attend(decision, log, gate))
            self._close(log, started_at)
        except* ResearchError as errors:
            raise errors.exceptions[0] from None
        finally:
            self.store.release(log.id)
        return NightResult(log.id, tuple(self._ended), tuple(self._skipped), self._exit_code())

    def _skip(self, log: BatchLog, decisions: Iterable[Decision], reason: str = "") -> None:
        for decision in decisions:
            event = n.QuerySkipped(
                query_id=decision.query.id, query=decision.query.text, reason=reason or f"{decision.action}: {decision.reason}"
            )
            self._skipped.append(event)
            log.record(event)

    async def _attend(self, decision: Decision, log: BatchLog, gate: asyncio.Semaphore) -> None:
        async with gate:
            if why := self._stop_reason():
                self._skip(log, [decision], why)
                return
            event = await self._researched(decision)
            self._ended.append(event)
            log.record(event)

    async def _researched(self, decision: Decision) -> n.QueryEnded:
        """Research one query. What is wrong with its own log or state ends it alone; a disk that refuses ends the night."""
        state = SessionState(id=decision.session if decision.action == "resume" else "")
        try:
            session = await self._session_of(decision)
            state = session.state
            await run_session(session, self.store, self.desk_of(state), self.context)
        except ProviderRefused as refusal:
            self._refused = refusal
            return _ending(decision, state, "interrupted", f"the provider refuses: {one_line(str(refusal))}")
        except LogUnwritable:
            raise
        except (LogError, CommandRefused) as error:
            return _ending(decision, state, "failed", one_line(str(error), 500))
        if not state.ended:
            return _ending(decision, state, "interrupted", self.context.stop.reason or PASSED)
        return _ending(decision, state, state.status, state.end_reason)

    async def _session_of(self, decision: Decision) -> ResearchSession:
        if decision.action == "resume":
            return ResearchSession.open(self.store, decision.session)
        return await new_session(self.store, decision, self.config_of(decision.query), self.context)

    def _stop_reason(self) -> str:
        limits = self.queue.settings.limits
        if self._refused is not None:
            return f"a provider refuses: {self._refused}"
        if sum(event.status == "failed" for event in self._ended) >= limits.max_failures:
            return f"{limits.max_failures} failures tonight"
        if limits.cost_usd is not None and sum(event.cost.usd for event in self._ended) >= limits.cost_usd:
            return f"tonight's {limits.cost_usd:.2f} USD are spent"
        if self.context.stop.asked:
            return self.context.stop.reason
        return PASSED if self.context.gathering_left_s() <= 0 else ""

    def _close(self, log: BatchLog, started_at: str) -> None:
        done = sum(event.status == "complete" for event in self._ended)
        usd = sum(event.cost.usd for event in self._ended)
        log.record(
            n.BatchEnded(
                done=done,
                failed=len(self._ended) - done,
                skipped=len(self._skipped),
                exit_code=self._exit_code(),
                cost=Cost(usd=round(usd, 9), total_tokens=sum(event.cost.total_tokens for event in self._ended)),
                duration_s=round(seconds_between(started_at, timestamp(self.context.now())), 3),
            )
        )

    def _exit_code(self) -> int:
        if self._refused is not None:
            return self._refused.exit_code
        if self.context.stop.exit_code >= INTERRUPTED:
            return self.context.stop.exit_code
        if any(event.status not in {"complete", "interrupted"} for event in self._ended):
            return 1
        if any(event.status == "interrupted" for event in self._ended):
            return 3
        return 3 if any(not event.reason.startswith(tuple(f"{action}:" for action in LEFT)) for event in self._skipped) else 0


def _ending(decision: Decision, state: SessionState, status: str, reason: str) -> n.QueryEnded:
    return n.QueryEnded(
        query_id=decision.query.id,
        query=decision.query.text,
        session=state.id,
        status=status,
        reason=reason,
        cost=cost_of(state),
        duration_s=working_seconds(state),
    )


async def new_session(store: EventStore, decision: Decision, config: ResearchConfig, context: RunContext) -> ResearchSession:
    """Record the start of a session on a query and return it.

    Raises:
        LogError: it could not be stored.
    """
    query = decision.query
    date = timestamp(context.now())[:10]
    session = ResearchSession(f"{date}-{slug(query.id, 40)}-{secrets.token_hex(2)}")
    start = e.ResearchStarted(
        query=query.text,
        query_id=query.id,
        config=config,
        tags=query.tags,
        previous_session=decision.session,
    )
    recorder = Recorder(session, store, context)
    recorder.take([Outcome((start,))])
    await recorder.flush()
    return session


def cost_of(state: SessionState) -> Cost:
    """Return what a session has cost so far; calls whose answers are not recorded count at their worst case."""
    spent, unsettled = state.spent, [cost for costs in state.open_calls.values() for cost in costs]
    return Cost(
        input_tokens=spent.input_tokens + sum(cost.input_tokens for cost in unsettled),
        output_tokens=spent.output_tokens + sum(cost.output_tokens for cost in unsettled),
        total_tokens=spent.total_tokens + sum(cost.total_tokens for cost in unsettled),
        usd=round(spent.usd + sum(cost.usd for cost in unsettled), 9),
        assumed_usd=round(spent.lost_usd + sum(cost.usd for cost in unsettled), 9),
    )


def reopened(store: EventStore, session_id: str, context: RunContext) -> ResearchSession:
    """Open a session to go on with it; a failed or cancelled one is reopened.

    Raises:
        CommandRefused: it is complete.
        LogError: its log cannot be read or written.
    """
    session = ResearchSession.open(store, session_id)
    if session.state.status == "complete":
        raise CommandRefused(f"{session_id} is complete; there is nothing to go on with", hint=f"research show {session_id}")
    if session.state.ended:
        Recorder(session, store, context).record([Outcome((e.ResearchReopened(reason="asked for"),))])
    return session


def within(context: RunContext, limits: Limits) -> RunContext:
    """Return the context with the night's deadline (by the clock, or by its timeout) and concurrency."""
    now = context.now()
    ends = [deadline_after(limits, now), now + limits.timeout if limits.timeout else None]
    end = min((end for end in ends if end is not None), default=None)
    return replace(
        context,
        deadline=end,
        writing=kept_for_writing(now, end),
        concurrency=limits.concurrency,
        gate=asyncio.Semaphore(limits.concurrency),
    )
