"""The state of a session, computed from its events, with its plan, workers, time, cost and outcome. No I/O, no clock.

``fold`` applies the events. All collections have an order that depends on the plan, never on which step ended first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal

from pipeline.domain import research_values as v
from pipeline.domain.budget import CallHistory
from pipeline.domain.events.session_events import PageRead, ReportGenerated, SearchCompleted, TopicSurveyed
from pipeline.domain.research_values import Perspective, PlanNode
from pipeline.domain.steps import parts_of
from pipeline.domain.summary import ENDED
from pipeline.text.quotes import holds_quote
from pipeline.text.times import moment_of

Status = Literal["pending", "planning", "searching", "analyzing", "synthesizing", "complete", "not-found", "failed", "cancelled"]
SUMMARY = "summary"
STOPPED = "stopped: "  # begins the reason why a worker ended that a cap stopped
ANY_STEP = ""


@dataclass(slots=True)
class RunSpan:
    """One run of a process on the session, from its first event to its last."""

    run_id: str
    host: str
    first_at: str
    last_at: str


@dataclass(slots=True)
class Failure:
    """A step that failed. ``final``: it is not tried again unless the session is reopened."""

    step: str
    attempts: int
    final: bool
    error: str
    message: str
    at: str


GIVES_ORDERS = "gives-orders"  # the notice of a page whose text gives orders to language models


@dataclass(slots=True)
class PageObserved:
    """The findings in a page: accepted facts and rejected ones. ``whole``: nothing of it was left out; else what was shown."""

    facts: tuple[v.Fact, ...]
    rejected: tuple[v.RejectedFact, ...]
    whole: bool = True
    shown: tuple[tuple[int, int], ...] = ()


@dataclass(slots=True)
class Iteration:
    """One iteration of a worker: thought, searches, recalled pages, what it found by address, evaluation.

    ``reason`` and ``next_queries`` are the evaluation's; None: it does not say what to search for next.
    """

    reasoning: str
    queries: tuple[str, ...]
    observed: dict[str, PageObserved] = field(default_factory=dict)
    evaluated: bool = False
    sufficient: bool = False
    gaps: tuple[str, ...] = ()
    reason: str = ""
    next_queries: tuple[str, ...] | None = None
    pages: tuple[str, ...] = ()


@dataclass(slots=True)
class Worker:
    """The ReAct loop of one perspective, or of the gaps."""

    id: str
    perspective_id: str
    round: int
    started_at: str
    status: Literal["running", "completed", "failed"] = "running"
    reason: str = ""
    iterations: list[Iteration] = field(default_factory=list)


@dataclass(slots=True)
class Analysis:
    """One round of cross-checking; a part is None until its event is recorded."""

    round: int
    contradictions: tuple[v.Contradiction, ...] | None = None
    gaps: tuple[v.Gap, ...] | None = None


@dataclass(slots=True)
class ReportPart:
    """A part of the report in progress: its text of ``revision``, and what the check of that says.

    ``verdicts`` are those on unsupported sentences, by place; ``additions`` are sentences to add. ``new`` are the places that
    have still to be checked, None: all. ``lost`` is what the revision left out. ``answered`` and ``unfound`` as in
    ``ClaimsChecked``.
    """

    sections: tuple[v.ReportSection, ...]
    outcome: v.Outcome | Literal[""] = ""
    lacks: str = ""
    revision: int = 0
    checked: bool = False
    verdicts: dict[int, v.Verdict] = field(default_factory=dict)
    additions: tuple[v.Addition, ...] = ()
    new: tuple[int, ...] | None = None
    lost: tuple[v.CutSentence, ...] = ()
    answered: tuple[str, ...] = ()
    unfound: tuple[str, ...] = ()


@dataclass(slots=True)
class SessionState:
    """The whole state of a session. Keys: searches by query, pages and observations by address, facts by id, failures by step.

    ``passages`` are the ids of the chosen passages, None before they were chosen; ``more_places`` are those after them,
    ``nearest_sentence`` is one of the first passage.
    ``without_model`` says why a step was done without the model (``Plan``, ``ReadPages:search_0:1``).
    ``kind`` and ``window`` as in ``PlanCreated``. ``parts`` are those of the report by number.
    ``claims`` holds, for each fact whose claim was compared with its quote, whether the quote bears it.
    ``pruned`` counts what there was before the session was pruned. ``handed_to`` is the machine that alone goes on with it.
    """

    id: str = ""
    version: int = 0
    status: Status = "pending"
    resume_status: Status = "planning"
    query: str = ""
    query_id: str = ""
    tags: tuple[str, ...] = ()
    previous_session: str = ""
    names: str = "latin"  # how its notes are named: `latin`, `any` or `nested`
    config: v.ResearchConfig = field(default_factory=v.ResearchConfig)
    started_at: str = ""
    ended_at: str = ""
    end_reason: str = ""
    runs: list[RunSpan] = field(default_factory=list)
    spent: v.Spent = field(default_factory=v.Spent)
    open_calls: dict[str, list[v.Cost]] = field(default_factory=dict)
    call_histories: dict[str, CallHistory] = field(default_factory=dict)
    earlier: v.EarlierSession | None = None
    recalled: v.Recalled | None = None
    changes: v.Changes | None = None
    survey: TopicSurveyed | None = None
    perspectives: dict[str, v.Perspective] = field(default_factory=dict)
    nodes: dict[str, v.PlanNode] = field(default_factory=dict)
    approval: Literal["", "requested", "given"] = ""
    gap_rounds: int = 0
    kind: v.AnswerKind = "overview"
    recent: bool = False
    window: int = 0
    workers: dict[str, Worker] = field(default_factory=dict)
    searches: dict[str, SearchCompleted] = field(default_factory=dict)
    pages: dict[str, PageRead] = field(default_factory=dict)
    observed: dict[str, PageObserved] = field(default_factory=dict)
    facts: dict[str, v.Fact] = field(default_factory=dict)
    failures: dict[str, Failure] = field(default_factory=dict)
    without_model: dict[str, str] = field(default_factory=dict)
    analyses: list[Analysis] = field(default_factory=list)
    passages: tuple[str, ...] | None = None
    more_places: tuple[v.Fact, ...] = ()
    nearest_sentence: str = ""
    synthesis: bool = False
    parts: dict[int, ReportPart] = field(default_factory=dict)
    claims: dict[str, bool] = field(default_factory=dict)
    report: ReportGenerated | None = None
    exhausted: str = ""
    pruned: dict[str, int] = field(default_factory=dict)
    handed_to: str = ""
    handoff_accepted: bool = False

    @property
    def ended(self) -> bool:
        """Whether the session has ended (it can only be reopened)."""
        return self.status in ENDED

    @property
    def waiting(self) -> bool:
        """Whether the plan waits for the user's approval."""
        return self.approval == "requested" and not self.ended

    def bears_claim(self, fact: v.Fact) -> bool:
        """Return whether a fact's claim may be shown with its quote: it is a part of it, or it was compared with it and holds.

        In a session that compared none, as older ones did, every claim may.
        """
        return not self.claims or self.claims.get(fact.id, not fact.claim or holds_quote(fact.quote, fact.claim))

    def failed_for_good(self, step: str) -> bool:
        """Return whether the step with that key failed and will not be tried again."""
        failure = self.failures.get(step)
        return failure is not None and failure.final


def seconds_between(first: str, last: str) -> float:
    """Return the seconds from one event's ``at`` to another's, never below 0 (a clock may go back)."""
    return max(0.0, (moment_of(last) - moment_of(first)).total_seconds())


def working_seconds(state: SessionState) -> float:
    """Return the session's working time in seconds: the sum over its runs, without the pauses between them."""
    return round(sum(seconds_between(run.first_at, run.last_at) for run in state.runs), 3)


def cost_of(state: SessionState) -> v.Cost:
    """Return the cost of a session so far; calls without a recorded answer count at their worst case."""
    settled = v.Cost(**{name: amount for name, amount in asdict(state.spent).items() if name in v.Cost.model_fields})
    unsettled = [v.assumed(one, expected_usd(state, step, one)) for step, costs in state.open_calls.items() for one in costs]
    return v.total([settled, *unsettled]) if unsettled else settled


def expected_usd(state: SessionState, step: str, worst: v.Cost) -> float:
    """Return what a call of a step probably cost, by the answered calls of steps of the same kind, or else of any."""
    known = state.call_histories
    history = known.get(parts_of(step)[0]) or known.get(ANY_STEP) or CallHistory()
    return history.expected_usd(worst)


def search_nodes(state: SessionState) -> Iterator[v.PlanNode]:
    """Yield the plan's search nodes in plan order."""
    return (node for node in state.nodes.values() if node.task == "search")


def workers_in_order(state: SessionState) -> Iterator[Worker]:
    """Yield the started workers in plan order."""
    return (state.workers[node.id] for node in search_nodes(state) if node.id in state.workers)


def asked_queries(worker: Worker) -> tuple[str, ...]:
    """Return all the worker's search queries in order."""
    return tuple(query for iteration in worker.iterations for query in iteration.queries)


def outcome_of(state: SessionState) -> v.Outcome | Literal[""]:
    """Return the outcome; "" for a session that has not ended, failed or was cancelled.

    Logs from before outcomes were recorded do not say it: there a report is an answer if a model gave it.
    """
    if state.status == "not-found":
        return "not-found"
    if state.status != "complete":
        return ""
    said = state.report.outcome if state.report else ""
    return said or ("passages" if not state.config.has_model else "answered")


def title_of(state: SessionState) -> str:
    """Return the title of the report, which a report of passages has from the question; "" without one."""
    return state.report.title or state.query if state.report else ""


def plan_of(
    perspectives: Sequence[Perspective], gap_round: int = 0, first_number: int = 0, *, validates: bool = True
) -> tuple[PlanNode, ...]:
    """Return search_0…n → cross_validate → synthesize, or what a gap round (1-based) adds: gap_m… → cross_validate_2 → …

    ``first_number`` is that of its first search. Without a model nobody ``validates``.
    """

    def closing(number: int) -> str:
        return f"cross_validate_{number + 1}" if number else "cross_validate"

    kind, before = ("gap", (closing(gap_round - 1),)) if gap_round else ("search", ())
    nodes = [
        PlanNode(id=f"{kind}_{number}", task="search", description=view.name, depends_on=before, perspective=view.id)
        for number, view in enumerate(perspectives, start=first_number)
    ]
    last = tuple(node.id for node in nodes)
    if validates:
        about = "Cross-check the facts of all workers"
        nodes.append(PlanNode(id=closing(gap_round), task="validate", description=about, depends_on=last))
        last = (*before, closing(gap_round))
    return (*nodes, PlanNode(id="synthesize", task="synthesize", description="Write the report", depends_on=last))
