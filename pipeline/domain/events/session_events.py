"""The events of a session, as frozen models; those from the analysis to the report are in ``report_events``, and named here too.

Those of a batch are in ``batch_events``, the JSON encoding in ``json_codec``.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain.events.event_base import SCHEMA as SCHEMA
from pipeline.domain.events.event_base import SCHEMA_MAJOR as SCHEMA_MAJOR
from pipeline.domain.events.event_base import SCHEMA_MINOR as SCHEMA_MINOR
from pipeline.domain.events.event_base import Answered as Answered
from pipeline.domain.events.event_base import EventBase as EventBase
from pipeline.domain.events.event_base import UnknownEvent as UnknownEvent
from pipeline.domain.events.report_events import AnalysisCompleted as AnalysisCompleted
from pipeline.domain.events.report_events import AnalysisStarted as AnalysisStarted
from pipeline.domain.events.report_events import ChangesFound as ChangesFound
from pipeline.domain.events.report_events import ClaimsChecked as ClaimsChecked
from pipeline.domain.events.report_events import ContradictionsFound as ContradictionsFound
from pipeline.domain.events.report_events import FactsValidated as FactsValidated
from pipeline.domain.events.report_events import GapLookedUp as GapLookedUp
from pipeline.domain.events.report_events import GapsFound as GapsFound
from pipeline.domain.events.report_events import OutlineCreated as OutlineCreated
from pipeline.domain.events.report_events import PassagesChosen as PassagesChosen
from pipeline.domain.events.report_events import ReportEdited as ReportEdited
from pipeline.domain.events.report_events import ReportGenerated as ReportGenerated
from pipeline.domain.events.report_events import ReportRevised as ReportRevised
from pipeline.domain.events.report_events import ReportWritten as ReportWritten
from pipeline.domain.events.report_events import SectionWritten as SectionWritten
from pipeline.domain.events.report_events import SynthesisStarted as SynthesisStarted
from pipeline.domain.memory.values import Recalled
from pipeline.domain.values import (
    AnswerKind,
    Cost,
    EarlierSession,
    Fact,
    FailedSide,
    Hit,
    Perspective,
    PlanNode,
    RejectedFact,
    ResearchConfig,
    Value,
)
from pipeline.text.ranking.term_statistics import TermStatistics

NO_EVIDENCE = "no-evidence"  # the cause of an end without a report where no step failed


class RunStarted(EventBase):
    """A run begins; the first event of every segment: host, process, program version, git branch.

    ``agent`` is the name by which others know the computer.
    """

    type: Literal["run.started"] = "run.started"
    host: str = ""
    process: int = 0
    program: str = ""
    schema_version: str = SCHEMA
    branch: str = ""
    agent: str = ""


class ResearchStarted(EventBase):
    """The research begins: the query and the limits of the session.

    ``names``: the letters in the names of its notes; logs that do not say so are older, and their notes keep their Latin names.
    """

    type: Literal["research.started"] = "research.started"
    query: str
    query_id: str
    config: ResearchConfig = ResearchConfig()
    tags: tuple[str, ...] = ()
    previous_session: str = ""
    names: Literal["latin", "any"] = "latin"


class EarlierRecalled(EventBase):
    """The knowledge of a recurring query's last report, with which the new session is compared."""

    type: Literal["earlier.recalled"] = "earlier.recalled"
    earlier: EarlierSession


class MemoryRecalled(EventBase):
    """What earlier nights, on whatever question, left behind about this one. It is recorded, so that memory may change later."""

    type: Literal["memory.recalled"] = "memory.recalled"
    recalled: Recalled


class TopicSurveyed(Answered):
    """The hits of a first search on the query, on which the plan is based. Other fields as in ``SearchCompleted``.

    ``statistics`` are the searched index's term statistics for the query's words, if it has any; ``languages`` are those of its
    documents; ``absent`` are names in the query that no passage of them holds.
    """

    type: Literal["topic.surveyed"] = "topic.surveyed"
    provider: str
    hits: tuple[Hit, ...]
    statistics: TermStatistics = TermStatistics()
    languages: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    failed: tuple[FailedSide, ...] = ()


class PlanCreated(Answered):
    """The plan: perspectives and the DAG's nodes; the ``kind`` of answer that is wanted; ``recent``: newer pages come first.

    ``window`` is the context of the session's models in tokens, as far as their server says it; 0 if it does not.
    """

    type: Literal["plan.created"] = "plan.created"
    perspectives: tuple[Perspective, ...]
    nodes: tuple[PlanNode, ...]
    kind: AnswerKind = "overview"
    recent: bool = False
    window: int = 0


class PlanExtended(EventBase):
    """Workers were added for gaps. ``round`` is the gap round, counted from 1."""

    type: Literal["plan.extended"] = "plan.extended"
    round: int
    perspectives: tuple[Perspective, ...]
    nodes: tuple[PlanNode, ...]


class ApprovalRequested(EventBase):
    """The plan waits for the user's approval; no further step is taken before."""

    type: Literal["approval.requested"] = "approval.requested"


class ApprovalGiven(EventBase):
    """The user approved the plan: unchanged, or with these perspectives and nodes instead of the planned ones."""

    type: Literal["approval.given"] = "approval.given"
    perspectives: tuple[Perspective, ...] = ()
    nodes: tuple[PlanNode, ...] = ()


class WorkerStarted(EventBase):
    """A worker starts on its node; ``worker_id`` is the node's id."""

    type: Literal["worker.started"] = "worker.started"
    worker_id: str
    perspective_id: str
    round: int = 0


class WorkerThought(Answered):
    """A worker's next searches and the reasoning. ``iteration`` counts from 1. Without queries and pages the worker is finished.

    ``pages`` are addresses that earlier nights found answers at; they are read again beside those that the searches find.
    """

    type: Literal["worker.thought"] = "worker.thought"
    worker_id: str
    iteration: int
    reasoning: str
    queries: tuple[str, ...]
    pages: tuple[str, ...] = ()


class SearchCompleted(Answered):
    """A search's hits, best first. ``failed`` names a side that failed; if all sides fail, the event is ``step.failed``."""

    type: Literal["search.completed"] = "search.completed"
    query: str
    provider: str
    hits: tuple[Hit, ...]
    failed: tuple[FailedSide, ...] = ()


class PageRead(Answered):
    """A page was read; its text is the stored object ``digest``. ``url`` is the requested address without fragment.

    ``notices``: ``gives-orders``, if its text gives orders to language models; and what it says about its use by programs,
    ``noai``, ``noimageai`` or ``tdm-reservation``. ``sheets``: where the pages of a PDF begin, as offsets in the ``normalised``
    text. ``extractor`` and the account of the reading that follows it are as in ``ports.Page``; older logs have none.
    """

    type: Literal["page.read"] = "page.read"
    url: str
    title: str
    digest: str
    characters: int
    final_url: str = ""
    media_type: str = ""
    author: str = ""
    published: str = ""
    notices: tuple[str, ...] = ()
    sheets: tuple[int, ...] = ()
    language: str = ""
    extractor: str = ""
    visible: int = 0
    stored: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    empty_pages: int = 0


class FactsObserved(Answered):
    """The facts of a page, and the findings that were rejected; ``whole``: the page was shown whole, not in parts.

    One reading has an event for each of its pages. ``last``: it is the last of them, and the iteration is evaluated: ``gaps`` are
    the questions that are still open, ``queries`` what to search for next.
    In older logs ``shared`` says that they count for every worker that chose the page, and ``part`` 2 are corrected quotes and
    the sections that part 1 asked for, by name, in ``more``.
    """

    type: Literal["facts.observed"] = "facts.observed"
    worker_id: str
    iteration: int
    url: str
    digest: str
    facts: tuple[Fact, ...]
    rejected: tuple[RejectedFact, ...] = ()
    whole: bool = True
    last: bool = False
    gaps: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    shared: bool = False
    part: int = 1
    more: tuple[str, ...] = ()


class WorkerEvaluated(Answered):
    """Whether a worker's facts suffice after an iteration, and which of its questions are open (``gaps``); in older logs.

    ``queries`` are what to search for next, if the same answer says it; then the next thought needs no call.
    """

    type: Literal["worker.evaluated"] = "worker.evaluated"
    worker_id: str
    iteration: int
    sufficient: bool
    gaps: tuple[str, ...]
    reason: str = ""
    queries: tuple[str, ...] | None = None


class ContextFolded(Answered):
    """A worker's context was condensed. ``fold`` counts from 1 within the worker; sizes before and after are in tokens.

    ``granular``: the latest interactions were folded into level 0; ``deep``: they and the lower levels into ``level``.
    ``levels`` are all condensed memories after the fold, level 0 first; ``summary`` is all of them as one text.
    """

    type: Literal["context.folded"] = "context.folded"
    worker_id: str
    fold: int
    summary: str
    tokens_before: int
    tokens_after: int
    mode: Literal["granular", "deep"] = "granular"
    level: int = 0
    levels: tuple[str, ...] = ()


class WorkerCompleted(EventBase):
    """A worker has finished; ``facts`` is the number of facts it found."""

    type: Literal["worker.completed"] = "worker.completed"
    worker_id: str
    reason: str
    facts: int = 0


class WorkerFailed(EventBase):
    """A worker failed."""

    type: Literal["worker.failed"] = "worker.failed"
    worker_id: str
    reason: str


class ResearchCompleted(EventBase):
    """The session ended with a report. ``duration_s`` is the working time: the sum over runs without the pauses between."""

    type: Literal["research.completed"] = "research.completed"
    duration_s: float
    cost: Cost
    sources: int
    facts: int


class ResearchFailed(EventBase):
    """The session ended without a report. ``cause`` is ``no-evidence`` or the class of the error.

    In older logs ``nearest`` holds the ids of the best-ranked facts, ``missing`` the words of the query that the sources do not
    contain.
    """

    type: Literal["research.failed"] = "research.failed"
    cause: str
    reason: str
    missing: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()


class ResearchCancelled(EventBase):
    """The user cancelled the session."""

    type: Literal["research.cancelled"] = "research.cancelled"
    reason: str = ""


class ResearchReopened(EventBase):
    """A failed or cancelled session continues after its last good step; failed steps may be tried again."""

    type: Literal["research.reopened"] = "research.reopened"
    reason: str = ""


class Conflict(Value):
    """Two branches recorded different outcomes of one step: the ids of the event that counts, and of the other.

    ``kept`` and ``other`` are what they say, in a few words.
    """

    step: str
    ours: str
    theirs: str
    kept: str = ""
    other: str = ""


class BranchMerged(Answered):
    """Two branches of the stream are joined: machines that did not know of each other had continued the same event.

    ``kept`` and ``taken`` are the hashes of the last events of the branch that this event continues, and of the other; ``base``
    is the version of the last event that both have; ``machines`` are those that ran the two last. ``adopted`` are the ids of the
    other branch's events that follow this one; ``same`` of those that this branch has with the same payload; ``left`` of the
    other answers that have no place in it.
    ``cost`` is what the other branch spent, without the cost of the adopted events; it includes ``lost`` calls whose answers were
    never recorded, at their worst case, ``lost_usd``. ``answered`` are the worst cases of calls that this branch had counted as
    lost, and whose answers the other one has. ``places``, in a talk alone: the number of the turn that each adopted event belongs
    to here, from 1.
    """

    type: Literal["branch.merged"] = "branch.merged"
    base: int
    kept: str
    taken: str
    machines: tuple[str, ...] = ()
    adopted: tuple[str, ...] = ()
    same: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    conflicts: tuple[Conflict, ...] = ()
    lost: int = 0
    lost_usd: float = 0.0
    answered: tuple[Cost, ...] = ()
    places: tuple[int, ...] = ()


class HandoffInitiated(EventBase):
    """The session is handed over: only a run of the machine ``to`` goes on with it, or after ``until`` (a time, or "") any."""

    type: Literal["handoff.initiated"] = "handoff.initiated"
    to: str
    why: str = ""
    until: str = ""


class HandoffAccepted(EventBase):
    """A run of the machine that the session was handed over to goes on with it."""

    type: Literal["handoff.accepted"] = "handoff.accepted"
    machine: str


class HandoffCompleted(EventBase):
    """The session that was handed over has ended there."""

    type: Literal["handoff.completed"] = "handoff.completed"
    machine: str


class StepFailed(Answered):
    """A step failed. ``attempt`` counts from 1; ``recoverable``: it will be tried again.

    ``outage`` names the service that was down; such a failure is not counted as an attempt.
    """

    type: Literal["step.failed"] = "step.failed"
    step: str
    error: str
    message: str
    recoverable: bool
    attempt: int
    outage: str = ""


class SettingsChanged(EventBase):
    """A session that was interrupted goes on with another reasoner or other searches: the settings name the old ones no longer.

    ``reasoner`` and ``search`` are those from now on, as in the session's config.
    """

    type: Literal["settings.changed"] = "settings.changed"
    reasoner: str
    search: tuple[str, ...]


class CallSent(EventBase):
    """A paid call is about to be sent. If the process dies before the step's own event, the next run charges ``worst``."""

    type: Literal["call.sent"] = "call.sent"
    step: str
    worst: Cost


class BudgetExhausted(EventBase):
    """A cap was reached: gathering stops, and the report uses the facts found so far. ``cap`` is e.g. ``usd``, ``deadline``."""

    type: Literal["budget.exhausted"] = "budget.exhausted"
    cap: str
    limit: str
    spent: str
