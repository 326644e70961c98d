"""Running a batch: several sessions at the same time within the limits; each query's outcome and the bill go to its stream.

A query that meets an outage is not failed: its session stays open. The batch goes on with queries that do not need the service,
then waits and tries again, and in the end leaves the rest to the next run.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime

from pipeline.batch.due_queries import LEFT_ALONE, Decision, split_at_limit
from pipeline.batch.night_result import BatchResult, batch_ended, ended_by_error, ended_event, outage_in_words
from pipeline.batch.session_lifecycle import (
    accept_handoff,
    adopt_settings,
    complete_handoff,
    has_work_left,
    new_session,
    reopen_session,
)
from pipeline.config.queue_schema import Limits, Query, Queue
from pipeline.domain.events import night_events as n
from pipeline.domain.research_values import Cost, Recalled, ResearchConfig, minus, total
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import StreamLog, new_stream
from pipeline.engine.stop_and_clock import SIGNALLED, RunContext, ending_at, reserved_for_writing
from pipeline.errors import LogUnwritable, ProviderRefused, ResearchError, SearchFailed, StepError
from pipeline.ports import EventStore
from pipeline.research import StepContext
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted
from pipeline.text.times import local_zone, next_at, timestamp

FIRST_PAUSE_S = 60.0
LONGEST_PAUSE_S = 600.0

Need = tuple[str, ...]  # what a session cannot do without: its reasoner, or its searches as a whole
_log = logging.getLogger("pipeline.batch.batch_runner")

SESSIONS_AT_ONCE = 4
PASSED = "the deadline has passed"


@dataclass
class Batch:
    """One running batch. ``step_context_of`` returns a session's step context; without it others research the sessions, and
    accept what was handed over. ``config_of`` returns the limits of a new session.

    ``spent`` is what earlier runs of the night cost, ``granted_usd`` what this one may spend beside the night's cap.
    ``spent_out`` returns why no step that costs money may start any more, or "". ``archived`` are the ids of queries that are in
    the log but no longer in the file. ``recall`` returns what earlier nights left on a query at a time. ``embed`` asks for
    the vectors that the search by meaning needs, before the first query starts.

    ``_running`` are sessions under way, each with its cost before this batch; ``_paid`` is what all else in this batch cost.
    ``_down`` is what is down now, with the error that showed it; ``_pauses`` counts the waits since a session last ended.
    """

    store: EventStore
    queue: Queue
    step_context_of: Callable[[SessionState], StepContext] | None
    config_of: Callable[[Query], ResearchConfig]
    context: RunContext
    sessions_at_once: int = SESSIONS_AT_ONCE
    spent_out: Callable[[], str] = lambda: ""
    archived: tuple[str, ...] = ()
    skipped_documents: tuple[str, ...] = ()
    recall: Callable[[Query, str], Recalled | None] = lambda _query, _at: None
    embed: Callable[[], AsyncGenerator[n.PassagesEmbedded]] | None = None
    spent: Cost = field(default_factory=Cost)
    granted_usd: float = 0.0
    _ended: list[n.QueryEnded] = field(default_factory=list)
    _skipped: list[n.QuerySkipped] = field(default_factory=list)
    _running: dict[str, tuple[SessionState, Cost]] = field(default_factory=dict)
    _paid: Cost = field(default_factory=Cost)
    _failed: int = 0
    _refused: ProviderRefused | None = None
    _working: int = 0
    _waiting: deque[Decision] = field(default_factory=deque)
    _down: dict[Need, StepError] = field(default_factory=dict)
    _pauses: int = 0
    _held: dict[str, n.QueryEnded] = field(default_factory=dict)
    _paused: dict[str, ResearchConfig] = field(default_factory=dict)  # sessions that met an outage in this run
    _freed: asyncio.Event = field(default_factory=asyncio.Event)

    async def work(self, decisions: Sequence[Decision], limit: int | None = None) -> BatchResult:
        """Research the due queries, at most ``limit``; return the outcome.

        Raises:
            LogError: the log cannot be written.
        """
        due = split_at_limit(decisions, limit)[0]
        if not due:
            return BatchResult(skipped=tuple(_skipped_event(one, one.cause) for one in decisions if one.action in LEFT_ALONE))
        log = self.begin(decisions, limit)
        started_at = timestamp(self.context.now())
        try:
            if self.embed:
                async with aclosing(self.embed()) as events:
                    async for event in events:
                        log.record(event)
                        self._paid = total((self._paid, event.cost))
                        if self._stop_reason():
                            break
            await self._research_all(due, log)
            log.record(batch_ended(self._result(), self._spent(), started_at, timestamp(self.context.now())))
        finally:
            self.store.release(log.id)
        return self._result(log.id)

    def begin(self, decisions: Sequence[Decision], limit: int | None = None) -> StreamLog:
        """Record the start of the batch, and what it does not take up; return its log.

        Raises:
            LogError: the log cannot be written.
        """
        due, beyond = split_at_limit(decisions, limit)
        last = max(self.store.ids("batch"), default="")
        log = new_stream(self.store, self.context, "batch")
        start = n.BatchStarted(
            due=tuple(decision.query.id for decision in due),
            archived=self.archived,
            granted_usd=self.granted_usd,
            timezone=self.queue.settings.timezone or local_zone(self.context.now()),
            unread=self.queue.left_out,
            skipped_documents=self.skipped_documents,
            after=last,
            queries={decision.query.id: decision.query.text for decision in due},
        )
        self._skipped += [_skipped_event(one, one.cause) for one in decisions if one.action in LEFT_ALONE]
        self._skipped += [_skipped_event(one, "limit", f"the limit of {limit} is reached") for one in beyond]
        log.record(start, *self._skipped)
        return log

    async def _research_all(self, due: Iterable[Decision], log: StreamLog) -> None:
        self._waiting.extend(due)
        try:
            async with ending_at(self.context.deadline, self.context.now, self.context.stop), asyncio.TaskGroup() as group:
                while not self._stop_reason():
                    failures_left = self.queue.settings.limits.max_failures - self._failed
                    may_start = self._working < min(self.sessions_at_once, failures_left)  # no more than may still fail
                    able = (one for one in self._waiting if may_start and not self._held_back(one))
                    if decision := next(able, None):
                        self._waiting.remove(decision)
                        self._working += 1
                        group.create_task(self._research_one(decision, log))
                    elif self._working:
                        self._freed.clear()
                        await self._freed.wait()
                    elif not (self._waiting and await self._outage_waited_for()):
                        break
        except ExceptionGroup as group:  # of several errors, raise one that has a message for the user
            known = (error for error in group.exceptions if isinstance(error, ResearchError))
            raise next(known, group.exceptions[0]) from None
        left = [one for one in self._waiting if one.session not in self._held]
        for event in self._held.values():  # those that met an outage; the others never started
            self._end(event, log)
        halt = self._stop_reason()
        skipped = [_skipped_event(one, *(halt or ("outage", self._held_back(one)))) for one in left]
        self._skipped += skipped
        if skipped:
            log.record(*skipped)

    def _held_back(self, decision: Decision) -> str:
        """Return which service that a query needs is down, in words, or ""."""
        if not self._down:
            return ""
        try:
            config = self._paused.get(decision.session) or self.config_of(decision.query)
        except ResearchError:  # it is reported when the query starts
            return ""
        needs: tuple[Need, ...] = (("reasoner", config.reasoner), ("search", *config.search))
        return next((outage_in_words(self._down[need]) for need in needs if need in self._down), "")

    async def _outage_waited_for(self) -> bool:
        """Wait until the services that are down may be tried again; return False to give them up for this run.

        One that has not answered at all in this run is not waited for.
        """
        shortest = FIRST_PAUSE_S * 2.0**self._pauses
        asked = [max(shortest, error.outage.after_s) for error in self._down.values() if error.outage and error.outage.was_up]
        wait = min(asked, default=LONGEST_PAUSE_S + 1)
        if wait > LONGEST_PAUSE_S or wait >= self.context.gathering_left_s():
            return False
        _log.warning("%s; the run tries again in %.0f s", next(map(outage_in_words, self._down.values())), wait)
        stopping = asyncio.create_task(self.context.stop.wait())
        await asyncio.wait({stopping}, timeout=wait)
        stopping.cancel()
        self._down.clear()
        self._pauses += 1
        return True

    async def _research_one(self, decision: Decision, log: StreamLog) -> None:
        self._held.pop(decision.session, None)
        event = await self._research(decision)
        if bill := self._running.pop(event.session, None):
            self._paid = total((self._paid, minus(cost_of(bill[0]), bill[1])))
        if event.cause == "outage":
            self._held[event.session] = event
            self._waiting.append(Decision(decision.query, "resume", "its session was paused", event.session))
        else:
            self._end(event, log)
            self._pauses = 0
        self._working -= 1
        self._freed.set()

    def _end(self, event: n.QueryEnded, log: StreamLog) -> None:
        self._ended.append(event)
        self._failed += event.status == "failed"
        log.record(event)

    async def _research(self, decision: Decision) -> n.QueryEnded:
        """Research one query. An error in its log or state ends only this query; a disk that cannot be written ends the batch."""
        query, state = decision.query, SessionState(id=decision.session if decision.action == "resume" else "")
        try:
            session = await self.session_of(decision)
            state = session.state
            self._running[state.id] = state, cost_of(state)
            assert self.step_context_of  # noqa: S101 - else it is others' work
            await run_session(session, self.store, self.step_context_of(state), self._context_of(state))
            complete_handoff(session, self.store, self._context_of(state))
        except LogUnwritable:
            raise
        except Exception as error:  # noqa: BLE001 - a bug in one session must not end the others
            if isinstance(error, ProviderRefused):
                self._refused = error
            elif isinstance(error, StepError) and error.outage:
                config = self._paused[state.id] = state.config
                is_search = isinstance(error, SearchFailed)
                self._down[("search", *config.search) if is_search else ("reasoner", config.reasoner)] = error
            return ended_by_error(query.id, query.text, state, error)
        if state.waiting or state.ended:
            return ended_event(query.id, query.text, state)
        cause, reason = self._stop_reason() or ("cap", PASSED)
        return ended_event(query.id, query.text, state, "interrupted", reason, cause)

    def _context_of(self, state: SessionState) -> RunContext:
        """Return the run's context; a session that this run worked on before, until an outage, gets a segment of its own."""
        return replace(self.context, run_id=self.context.new_id()) if state.id in self._paused else self.context

    async def session_of(self, decision: Decision) -> ResearchSession:
        """Return the session on a due query: one that goes on, or a new one.

        Raises:
            ResearchError: it cannot be opened or stored.
        """
        if decision.action == "resume":
            return self._adopted(decision, ResearchSession.open(self.store, decision.session))
        config = self.config_of(decision.query)
        if decision.action == "retry" and has_work_left(ResearchSession.open(self.store, decision.session).state, config):
            return self._adopted(decision, reopen_session(self.store, decision.session, self.context))
        recalled = self.recall(decision.query, timestamp(self.context.now())) if config.has_model else None
        return await new_session(self.store, decision, config, self.context, recalled)

    def _adopted(self, decision: Decision, session: ResearchSession) -> ResearchSession:
        if not session.state.ended:
            if self.step_context_of:
                accept_handoff(session, self.store, self._context_of(session.state))
            adopt_settings(session, self.config_of(decision.query), self.store, self._context_of(session.state))
        return session

    def _stop_reason(self) -> tuple[str, str] | None:
        """Return why no further query may start, as a cause and in words, or None."""
        limits, stop, spent = self.queue.settings.limits, self.context.stop, total((self.spent, self._spent()))
        if self._refused is not None:
            return "refused", one_line(str(self._refused))
        if stop.asked:
            return "stopped" if stop.exit_code >= SIGNALLED else "cap", stop.reason
        if self._failed >= limits.max_failures:
            return "failures", f"{counted(limits.max_failures, 'failure')} in this run"
        if cap := limits.caps.reached_by(spent):
            return "cap", f"the night's limit of {cap} is reached"
        reason = self.spent_out() or (PASSED if self.context.gathering_left_s() <= 0 else "")
        return ("cap", reason) if reason else None

    def _spent(self) -> Cost:
        """The cost of this batch so far, without what its sessions had cost before."""
        return total((self._paid, *(minus(cost_of(state), before) for state, before in self._running.values())))

    def _result(self, batch: str = "") -> BatchResult:
        code = self.context.stop.exit_code
        return BatchResult(batch, tuple(self._ended), tuple(self._skipped), code if code >= SIGNALLED else 0)


def _skipped_event(decision: Decision, cause: str, reason: str = "") -> n.QuerySkipped:
    query = decision.query
    return n.QuerySkipped(query_id=query.id, query=query.text, reason=reason or decision.said, cause=cause)


def with_limits(context: RunContext, limits: Limits, until: datetime | None = None) -> RunContext:
    """Return the context with the run's deadline (see ``ends_at``) and concurrency."""
    now = context.now()
    end = ends_at(limits, now, until)
    return replace(
        context,
        deadline=end,
        writing=reserved_for_writing(now, end),
        concurrency=limits.concurrency,
        # More steps than requests: while one step prepares or records its call, another step's call is running.
        gate=asyncio.Semaphore(limits.concurrency + limits.concurrency // 8),
    )


def ends_at(limits: Limits, now: datetime, until: datetime | None = None) -> datetime | None:
    """Return when a run that starts ``now`` ends: at ``until``, else at the deadline; None without either."""
    return until or (next_at(limits.deadline, now) if limits.deadline else None)
