"""One session: rules decide whether an event may be added, the fold adds it; opened from stored events; how far it is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from pipeline.domain import fold
from pipeline.domain.agenda import agenda, node_ended, part_step
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all, encode
from pipeline.domain.events.session_events import EventBase
from pipeline.domain.events.stream_records import Record
from pipeline.domain.events.upkeep_events import ResearchPruned
from pipeline.domain.research_values import Paragraph, ReportSection
from pipeline.domain.session_state import SessionState, cost_of, outcome_of, title_of, working_seconds
from pipeline.domain.steps import FetchPage, SearchFor
from pipeline.domain.summary import Summary
from pipeline.errors import CommandRefused

_NEEDS_APPROVAL = (e.PlanExtended, e.WorkerStarted, e.AnalysisStarted, e.SynthesisStarted)


def refusal(state: SessionState, event: e.EventBase) -> str:
    """Return why ``event`` must not be recorded in this state, or "" if it may."""
    if isinstance(event, e.RunStarted):
        return ""
    if state.pruned:
        return "the session was pruned, and cannot go on"
    if not state.runs:
        return "no run has been started"
    if isinstance(event, e.ResearchStarted):
        return "" if state.status == "pending" else "the research has already been started"
    if state.status == "pending":
        return "the research has not been started"
    if isinstance(event, e.ResearchReopened):
        may = state.status in {"not-found", "failed", "cancelled"}
        return "" if may else f"a session that is {state.status} cannot be reopened"
    if isinstance(event, e.HandoffCompleted):
        return _handed_to(state, event.machine)
    if state.ended:
        return f"the session is {state.status}; it must be reopened first"
    if state.waiting and isinstance(event, _NEEDS_APPROVAL):
        return "the plan waits for approval"
    match event:  # what no step says twice needs no rule: the agenda has each step once
        case e.ApprovalGiven() if not state.waiting:
            return "no plan waits for approval"
        case e.FactsObserved():
            page = state.pages.get(event.url)
            return "" if page and page.digest == event.digest else f"{event.url} was not read as {event.digest[:12]}"
        case e.PassagesChosen():
            read = {page.digest for page in state.pages.values()}
            unread = sorted({fact.url for fact in (*event.passages, *event.more) if fact.digest not in read})
            return f"passages were chosen of pages that were not read: {', '.join(unread)}" if unread else ""
        case e.ReportWritten() | e.ReportRevised():
            return _unknown_facts(state, event.sections)
        case e.ReportGenerated():
            summary = ReportSection(id="", title="", paragraphs=(Paragraph(sentences=event.summary),))
            return _unknown_facts(state, (summary, *event.sections), may_be_none=event.outcome == "not-found")
        case e.ResearchCompleted() if state.report is None:
            return "there is no report"
        case e.HandoffAccepted():
            return _handed_to(state, event.machine)
    return ""


def _unknown_facts(state: SessionState, sections: Iterable[ReportSection], *, may_be_none: bool = True) -> str:
    cited = {fact for s in sections for p in s.paragraphs for sentence in p.sentences for fact in sentence.facts}
    if not (cited or may_be_none):
        return "the report cites no fact"
    unknown = sorted(cited - state.facts.keys())
    return f"the report cites unknown facts: {', '.join(unknown)}" if unknown else ""


def _handed_to(state: SessionState, machine: str) -> str:
    return "" if state.handed_to == machine else f"the session was not handed over to {machine}"


class StoredEvents(Protocol):
    """What a session needs of a store to be opened; see ``pipeline.ports.EventStore``."""

    def load(self, session_id: str, after: int = 0) -> Sequence[Record]:
        """Return the records after the version ``after``."""
        ...


class ResearchSession:
    """The events so far as a state, and the only way to add one."""

    def __init__(self, session_id: str, state: SessionState | None = None) -> None:
        self.state = state or SessionState(id=session_id)
        self.id = session_id

    @classmethod
    def open(cls, store: StoredEvents, session_id: str) -> ResearchSession:
        """Return the session as the store holds it.

        Raises:
            LogError: the log is damaged, forked, or written by a newer major version.
        """
        session = cls(session_id)
        session.replay(record.data for record in store.load(session_id))
        return session

    def replay(self, datas: Iterable[bytes]) -> None:
        """Fold stored events, which are facts: no guard is asked."""
        for event in decode_all(datas):
            fold.apply(self.state, event)

    def record(self, event: EventBase) -> None:
        """Guard and fold the next event, which is stamped.

        Raises:
            CommandRefused: the session's state does not allow it; nothing has changed.
        """
        if why := refusal(self.state, event):
            raise CommandRefused(f"{event.type} was refused: {why}", hint="this is a fault of the program; the log is unharmed")
        fold.apply(self.state, event)


E = TypeVar("E", bound=EventBase)


def stamped(draft: E, session_id: str, version: int, run_id: str, event_id: str, at: str) -> E:
    """Return a drafted event with its envelope."""
    return draft.model_copy(update={"id": event_id, "session_id": session_id, "version": version, "at": at, "run_id": run_id})


def record_of(event: EventBase) -> Record:
    """Return a stamped event as storage sees it."""
    return Record(event.id, event.session_id, event.version, event.type, event.at, event.run_id, encode(event))


def state_of(session_id: str, events: Iterable[EventBase]) -> SessionState:
    """Return the state that a session's events fold to."""
    state = SessionState(id=session_id)
    for event in events:
        fold.apply(state, event)
    return state


def progress(state: SessionState) -> tuple[int, int]:
    """Return how many steps have ended, and how many there will be as far as can be seen: of each worker, one iteration more."""
    iterations = [iteration for worker in state.workers.values() for iteration in worker.iterations]
    done = len(state.searches) + len(state.pages)
    done += (state.survey is not None) + bool(state.nodes) + (state.passages is not None)
    done += sum(1 + bool(iteration.observed) for iteration in iterations)
    done += sum(1 + (analysis.gaps is not None) for analysis in state.analyses)
    # A part of revision n was written n + 1 times, and each text but the last was checked for certain.
    done += sum(2 * part.revision + 1 + part.checked for part in state.parts.values())
    done += sum(failure.final for failure in state.failures.values())
    if state.pruned:
        done = state.pruned.get("steps", 0)
    if state.ended:
        return done, done
    if not state.nodes:
        return done, done + (state.survey is None) + 1
    if not state.config.has_model:
        return done, done + (state.passages is None) + sum(isinstance(step, SearchFor | FetchPage) for step in agenda(state))
    ahead = sum(part_step(state, number) is not None for number in state.parts) if state.parts else 2
    for node in (one for one in state.nodes.values() if not node_ended(state, one.id)):
        ahead += {"search": 3 + state.config.pages_per_iteration, "validate": 2}.get(node.task, 0)
    return done, done + ahead


def counts_of(state: SessionState) -> dict[str, int]:
    """Return how many workers, searches, pages, facts, sources and events a session has, or had before it was pruned.

    The pages are those that a model was shown; without one, those that were read.
    """
    return state.pruned or {
        "events": state.version,
        "workers": len(state.workers),
        "searches": len(state.searches.keys() | ({state.query} if state.survey else set())),
        "pages": len(state.observed) or len(state.pages),
        "facts": len(state.facts),
        "sources": len({fact.url for fact in state.facts.values()}),
    }


def models_of(events: Sequence[EventBase]) -> tuple[str, ...]:
    """Return the names of the models that answered in a session, each once, also of those before it was pruned."""
    costs = (event.cost for event in events if isinstance(event, e.Answered))
    pruned = (name for event in events if isinstance(event, ResearchPruned) for name in event.models)
    return tuple(dict.fromkeys(filter(None, (*pruned, *(cost.model or cost.model_requested for cost in costs)))))


def summary_of(state: SessionState) -> Summary:
    """Return the summary of a session."""
    cost = cost_of(state)
    done, in_all = progress(state)
    found = counts_of(state)
    return Summary(
        id=state.id,
        version=state.version,
        status=state.status,
        outcome=outcome_of(state),
        query=state.query,
        query_id=state.query_id,
        mode=state.config.mode,
        waiting=state.waiting,
        approved=state.approval == "given" and not state.workers,
        tags=state.tags,
        previous_session=state.previous_session,
        started_at=state.started_at,
        ended_at=state.ended_at,
        end_reason=state.end_reason,
        title=title_of(state),
        facts=found["facts"],
        sources=found["sources"],
        calls=state.spent.calls,
        tokens=state.spent.total_tokens,
        usd=cost.usd,
        assumed_usd=cost.assumed_usd,
        expected_usd=cost.expected_usd,
        seconds=working_seconds(state),
        steps=done,
        steps_in_all=in_all,
        handed_to=state.handed_to,
    )
