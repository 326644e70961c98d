"""Actions on one session: start it, reopen it, cancel it, hand it over, approve its plan."""

from __future__ import annotations

import logging
import secrets

from pipeline.batch.due_queries import Decision
from pipeline.domain.events import session_events as e
from pipeline.domain.events.stream_records import stream_id
from pipeline.domain.research_values import EarlierSession, Perspective, Recalled, ResearchConfig
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState, working_seconds
from pipeline.engine.recorder import Recorder
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import CommandRefused, LogError
from pipeline.ports import EventStore
from pipeline.research.changes import earlier_session
from pipeline.research.planning_and_searching import approval_of
from pipeline.text.cleaning import same_question
from pipeline.text.times import timestamp

_log = logging.getLogger("pipeline.batch.session_lifecycle")

MOST_STEPS_BACK = 20  # sessions that a question may have had since its last report of the same kind


async def new_session(
    store: EventStore, decision: Decision, config: ResearchConfig, context: RunContext, recalled: Recalled | None = None
) -> ResearchSession:
    """Record the start of a session on a query, with what is ``recalled`` from earlier nights, and return it.

    Raises:
        LogError: it could not be stored.
    """
    query = decision.query
    session = ResearchSession(stream_id("session", timestamp(context.now()), secrets.token_hex(4), query.id))
    start = e.ResearchStarted(
        query=query.text,
        query_id=query.id,
        config=config,
        tags=query.tags,
        previous_session=decision.session,
        names="nested",
    )
    earlier = earlier_knowledge(store, decision.session, query.text, of_passages=not config.has_model)
    recorder = Recorder(session, store, context)
    known = [e.EarlierRecalled(earlier=earlier)] if earlier else []
    memory = [e.MemoryRecalled(recalled=recalled)] if recalled else []
    recorder.take(start, *known, *memory)
    await recorder.flush()
    return session


def earlier_knowledge(store: EventStore, name: str, question: str, *, of_passages: bool) -> EarlierSession | None:
    """Return what the last report of the same kind on the question, of passages or a model's, rests on; None if there is none.

    ``name`` is the session before. Sources are as the latest report found them, and what only that cites is added; so nothing is
    told twice. If there is no report of that kind, it is the latest of the other.
    """
    latest = None
    for _ in range(MOST_STEPS_BACK):
        if not name:
            break
        try:
            state = ResearchSession.open(store, name).state
        except LogError as error:
            _log.warning("the report is not compared with the earlier session %s: it cannot be read: %s", name, error.message)
            break
        if not same_question(state.query, question):
            break
        if state.status == "complete":
            found = earlier_session(state)
            latest = latest or found
            if found.of_passages == of_passages:
                cited = tuple(dict.fromkeys((*found.cited, *latest.cited)))
                return latest.model_copy(update={"facts": found.facts, "of_passages": of_passages, "cited": cited})
        name = state.previous_session
    return latest


def reopen_session(store: EventStore, session_id: str, context: RunContext) -> ResearchSession:
    """Open a session to continue it; a failed or cancelled one is reopened.

    Raises:
        CommandRefused: it is complete, was pruned, or waits for approval.
        LogError: its log cannot be read or written.
    """
    session = ResearchSession.open(store, session_id)
    if session.state.status == "complete":
        raise CommandRefused(f"{session_id} is complete; there is nothing left to do", hint=f"research show {session_id}")
    if session.state.pruned:
        why = f"the log of {session_id} was pruned, so it cannot go on"
        raise CommandRefused(why, hint=f"research run {session.state.query_id} starts a new session")
    if session.state.waiting:
        raise CommandRefused(f"{session_id} waits for its plan to be approved", hint=f"research approve {session_id}")
    if session.state.ended:
        Recorder(session, store, context).record(e.ResearchReopened(reason="asked for"))
    return session


def adopt_settings(session: ResearchSession, tonight: ResearchConfig, store: EventStore, context: RunContext) -> None:
    """Let an interrupted session go on with tonight's cap, and reasoner and searches where its own are gone from the settings.

    ``tonight`` is what a new session on the query would get. A session that began without a model goes on without one; one
    that lost its model is compared with the last report of passages.

    Raises:
        LogError: the change could not be stored.
    """
    state, recorder = session.state, Recorder(session, store, context)
    config = adopted_config(state.config, tonight)
    if state.config.has_model and not config.has_model:  # its report will be of passages, and be compared with such
        earlier = earlier_knowledge(store, state.previous_session, state.query, of_passages=True)
        if earlier and earlier != state.earlier:
            recorder.record(e.EarlierRecalled(earlier=earlier))
    if config != state.config:
        recorder.record(e.SettingsChanged(reasoner=config.reasoner, search=config.search, budget_usd=config.budget_usd))


def adopted_config(config: ResearchConfig, tonight: ResearchConfig) -> ResearchConfig:
    """Return the config under which an interrupted session goes on; see ``adopt_settings``."""
    reasoner = tonight.reasoner if config.has_model else config.reasoner
    search = config.search if set(config.search) <= set(tonight.search) else tonight.search
    return config.model_copy(update={"reasoner": reasoner, "search": search, "budget_usd": tonight.budget_usd})


def has_work_left(state: SessionState, tonight: ResearchConfig) -> bool:
    """Return whether a session that ended without a report would have steps to do if it were reopened.

    One whose sources do not answer the question has none, with a report or without, nor one that searched another folder than a
    new one would: new sources need a new session. ``tonight`` as in ``adopt_settings``.
    """
    if state.status in ("not-found", "complete") or state.pruned or state.config.within != tonight.within:
        return False
    caps = ((state.config.budget_usd, state.spent.usd), (state.config.timeout_s, working_seconds(state)))
    return not any(cap is not None and used >= cap for cap, used in caps)


def record_wish(
    store: EventStore, session_id: str, context: RunContext, wish: e.ResearchCancelled | e.HandoffInitiated
) -> ResearchSession:
    """End a session at the user's request, or hand it over to another machine. One that was cancelled can be reopened.

    Raises:
        CommandRefused: it has ended.
        LogError: its log cannot be read or written.
        WorkspaceLocked: a run works on it.
    """
    session = ResearchSession.open(store, session_id)
    if session.state.ended:
        raise CommandRefused(f"{session_id} is {session.state.status} already", hint=f"research show {session_id}")
    _record(session, store, context, wish)
    return session


def accept_handoff(session: ResearchSession, store: EventStore, context: RunContext) -> None:
    """Record that this machine goes on with a session, if it was handed over to it.

    Raises:
        CommandRefused: it was handed over to another machine.
        LogError: it could not be stored.
    """
    to, machine = session.state.handed_to, context.agent.agent
    if to and to != machine:
        raise CommandRefused(
            f"{session.id} is handed over to {to}", hint=f"research handoff {session.id} --to {machine} takes it back"
        )
    if to and not session.state.handoff_accepted:
        Recorder(session, store, context).record(e.HandoffAccepted(machine=machine))


def complete_handoff(session: ResearchSession, store: EventStore, context: RunContext) -> None:
    """Record that a session which this machine took over has ended.

    Raises:
        LogError: it could not be stored.
    """
    state, machine = session.state, context.agent.agent
    if state.ended and state.handoff_accepted and state.handed_to == machine:
        _record(session, store, context, e.HandoffCompleted(machine=machine))


def approve_plan(
    store: EventStore, session_id: str, context: RunContext, perspectives: tuple[Perspective, ...] = ()
) -> ResearchSession:
    """Approve a session's plan, unchanged or with ``perspectives`` in place of the planned ones.

    Raises:
        CommandRefused: its plan does not wait for approval.
        LogError: its log cannot be read or written.
        WorkspaceLocked: a run works on it.
    """
    session = ResearchSession.open(store, session_id)
    if not session.state.waiting:
        raise CommandRefused(f"no plan of {session_id} waits for approval", hint=f"research show {session_id}")
    _record(session, store, context, approval_of(perspectives, validates=session.state.config.has_model))
    return session


def _record(session: ResearchSession, store: EventStore, context: RunContext, event: e.EventBase) -> None:
    try:
        Recorder(session, store, context).record(event)
    finally:
        store.release(session.id)
