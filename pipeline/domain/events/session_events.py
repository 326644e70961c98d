"""What can happen in a session, as frozen models; what can happen in a night is in ``night_events``, their JSON in ``codec``.

An event is *drafted* without its envelope (``id``, ``session_id``, ``version``, ``at``, ``run_id`` at their empty defaults)
by whoever did the work, and *stamped* by the one place that records. Envelope and payload stand side by side in the JSON::

    {"id": "…", "session_id": "…", "version": 7, "type": "worker.thought", "at": "2026-11-21T02:15:00.123Z",
     "run_id": "…", "worker_id": "search_0", …}

Unknown fields are kept, an unknown type becomes ``UnknownEvent`` and is skipped by the fold with one warning. History is never
rewritten.
"""

from __future__ import annotations

from typing import Literal, TypeVar

from pipeline.domain.values import (
    Changes,
    Contradiction,
    Cost,
    Earlier,
    Fact,
    Gap,
    Hit,
    LeftOut,
    Paragraph,
    Perspective,
    PlanNode,
    Reference,
    RejectedFact,
    ReportSection,
    ResearchConfig,
    SectionPlan,
    Sentence,
    SourceQuality,
    ValidatedFact,
    Value,
    Verdict,
)
from pipeline.text.ranking.term_statistics import TermStatistics

SCHEMA_MAJOR = 1
SCHEMA_MINOR = 0
SCHEMA = f"{SCHEMA_MAJOR}.{SCHEMA_MINOR}"
NO_EVIDENCE = "no-evidence"  # the cause of an end without a report that is nobody's failure


class EventBase(Value):
    """The envelope. ``version`` counts from 1 within the session; ``at`` is RFC 3339 in UTC with milliseconds."""

    id: str = ""
    session_id: str = ""
    version: int = 0
    type: str = ""
    at: str = ""
    run_id: str = ""


E = TypeVar("E", bound=EventBase)


class Answered(EventBase):
    """An event that an outside answer ended in: what it cost, how long it took, the digest of the stored prompt and raw reply.

    ``exchange`` is "" when nothing was sent anywhere: the embedded reasoner's whole answer is the event itself. ``step`` is the
    step that it ends; the calls announced for that step (``call.sent``) are settled by it. ``seconds`` is how long the step
    took, waits and retries included; None in a log from before it was measured.
    """

    step: str = ""
    cost: Cost = Cost()
    exchange: str = ""
    seconds: float | None = None


class RunStarted(EventBase):
    """First in every segment: who writes. ``agent`` is the name by which others know the machine, ``program`` has the version."""

    type: Literal["run.started"] = "run.started"
    host: str = ""
    process: int = 0
    program: str = ""
    schema_version: str = SCHEMA
    branch: str = ""
    agent: str = ""


class ResearchStarted(EventBase):
    """The session's first act: the question and the limits it runs under."""

    type: Literal["research.started"] = "research.started"
    query: str
    query_id: str
    config: ResearchConfig = ResearchConfig()
    tags: tuple[str, ...] = ()
    previous_session: str = ""


class EarlierRecalled(EventBase):
    """What a recurring question's last report rested on; the new session is to find out what is new since then."""

    type: Literal["earlier.recalled"] = "earlier.recalled"
    earlier: Earlier


class TopicSurveyed(Answered):
    """What a first search found on the query; the plan is made in view of it. Other fields as in ``SearchCompleted``.

    ``statistics`` are what the searched index knows of the query's words, if it can tell; ``languages`` those that its documents
    are written in.
    """

    type: Literal["topic.surveyed"] = "topic.surveyed"
    provider: str
    hits: tuple[Hit, ...]
    statistics: TermStatistics = TermStatistics()
    languages: tuple[str, ...] = ()
    failed: tuple[LeftOut, ...] = ()


class PlanCreated(Answered):
    """Perspectives and the DAG."""

    type: Literal["plan.created"] = "plan.created"
    perspectives: tuple[Perspective, ...]
    nodes: tuple[PlanNode, ...]


class PlanExtended(EventBase):
    """Workers for the gaps of one round. ``round`` counts from 1: the gap round."""

    type: Literal["plan.extended"] = "plan.extended"
    round: int
    perspectives: tuple[Perspective, ...]
    nodes: tuple[PlanNode, ...]


class ApprovalRequested(EventBase):
    """The plan stands; nothing more is done before its user has approved it."""

    type: Literal["approval.requested"] = "approval.requested"


class ApprovalGiven(EventBase):
    """The plan is approved: as it stands, or with these perspectives and nodes in place of the planned ones."""

    type: Literal["approval.given"] = "approval.given"
    perspectives: tuple[Perspective, ...] = ()
    nodes: tuple[PlanNode, ...] = ()


class WorkerStarted(EventBase):
    """A worker takes up its node; ``worker_id`` is the node's id."""

    type: Literal["worker.started"] = "worker.started"
    worker_id: str
    perspective_id: str
    round: int = 0


class WorkerThought(Answered):
    """What is still to be asked. ``iteration`` counts from 1. No queries: nothing is left to ask."""

    type: Literal["worker.thought"] = "worker.thought"
    worker_id: str
    iteration: int
    reasoning: str
    queries: tuple[str, ...]


class SearchCompleted(Answered):
    """A search's hits, best first; none: nothing found. ``failed``: the side left out. All failed: ``step.failed``."""

    type: Literal["search.completed"] = "search.completed"
    query: str
    provider: str
    hits: tuple[Hit, ...]
    failed: tuple[LeftOut, ...] = ()


class PageRead(Answered):
    """A source as it was read; its text is the object ``digest``. ``url`` is the address asked for, without fragment."""

    type: Literal["page.read"] = "page.read"
    url: str
    title: str
    digest: str
    characters: int
    final_url: str = ""
    media_type: str = ""
    author: str = ""
    published: str = ""


class FactsObserved(Answered):
    """What one worker found in one page."""

    type: Literal["facts.observed"] = "facts.observed"
    worker_id: str
    iteration: int
    url: str
    digest: str
    facts: tuple[Fact, ...]
    rejected: tuple[RejectedFact, ...] = ()


class WorkerEvaluated(Answered):
    """Whether a worker knows enough after an iteration, and which of its questions are open."""

    type: Literal["worker.evaluated"] = "worker.evaluated"
    worker_id: str
    iteration: int
    sufficient: bool
    gaps: tuple[str, ...]
    reason: str = ""


class ContextFolded(Answered):
    """A worker's context was condensed. ``fold`` counts from 1 within the worker; tokens before and after.

    ``granular``: the latest interactions were folded into level 0; ``deep``: they and the lower levels into ``level``.
    ``levels`` are all condensed memories as they then stood, level 0 first; ``summary`` is the whole of them as one text.
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
    """A worker is done; ``facts`` is the number it found."""

    type: Literal["worker.completed"] = "worker.completed"
    worker_id: str
    reason: str
    facts: int = 0


class WorkerFailed(EventBase):
    """A worker cannot go on."""

    type: Literal["worker.failed"] = "worker.failed"
    worker_id: str
    reason: str


class AnalysisStarted(EventBase):
    """All search nodes of a round have ended. ``round`` counts from 0."""

    type: Literal["analysis.started"] = "analysis.started"
    round: int


class FactsValidated(Answered):
    """Which facts are borne out by other sources."""

    type: Literal["facts.validated"] = "facts.validated"
    round: int
    facts: tuple[ValidatedFact, ...]


class ContradictionsFound(Answered):
    """What the sources disagree on. An empty tuple means: looked, found none."""

    type: Literal["contradictions.found"] = "contradictions.found"
    round: int
    contradictions: tuple[Contradiction, ...]


class AnalysisCompleted(Answered):
    """What is still unknown, and how far each source carries."""

    type: Literal["analysis.completed"] = "analysis.completed"
    round: int
    gaps: tuple[Gap, ...]
    source_quality: tuple[SourceQuality, ...]


class SynthesisStarted(EventBase):
    """Gathering is over; the report is being written from ``facts`` facts of ``sources`` sources.

    ``missing`` are words of the question that no passage holds together with the rest: the report begins with them.
    """

    type: Literal["synthesis.started"] = "synthesis.started"
    facts: int
    sources: int
    missing: tuple[str, ...] = ()
    doubted: bool = False


class OutlineCreated(Answered):
    """The report's title and sections."""

    type: Literal["outline.created"] = "outline.created"
    title: str
    sections: tuple[SectionPlan, ...]


class SectionWritten(Answered):
    """A section's first text. The section ``summary`` is written last."""

    type: Literal["section.written"] = "section.written"
    section_id: str
    paragraphs: tuple[Paragraph, ...]


class ClaimsChecked(Answered):
    """Each sentence of a section held against its facts. ``revision`` 0 is the first text, 1 the revised one."""

    type: Literal["claims.checked"] = "claims.checked"
    section_id: str
    revision: int
    verdicts: tuple[Verdict, ...]


class ReportRevised(Answered):
    """A section written again because of unsupported sentences. ``revision`` counts from 1."""

    type: Literal["report.revised"] = "report.revised"
    section_id: str
    revision: int
    paragraphs: tuple[Paragraph, ...]


class ChangesFound(EventBase):
    """What is new since the earlier session, worked out from the facts and texts of both."""

    type: Literal["changes.found"] = "changes.found"
    changes: Changes


class ReportGenerated(EventBase):
    """The finished report. What stayed unsupported is cut and counted in ``cut``; ``limits`` says what was cut short."""

    type: Literal["report.generated"] = "report.generated"
    title: str
    summary: tuple[Sentence, ...]
    sections: tuple[ReportSection, ...]
    references: tuple[Reference, ...]
    contradictions: tuple[Contradiction, ...] = ()
    unknowns: tuple[Gap, ...] = ()
    limits: tuple[str, ...] = ()
    words: int = 0
    cut: int = 0
    missing: tuple[str, ...] = ()


class ResearchCompleted(EventBase):
    """The end, with a report. ``duration_s`` is working time: the sum over runs, without the pauses between."""

    type: Literal["research.completed"] = "research.completed"
    duration_s: float
    cost: Cost
    sources: int
    facts: int


class ResearchFailed(EventBase):
    """The end, without a report. ``cause`` is ``no-evidence`` or the class of the error.

    Of ``no-evidence``: ``missing`` are the words of the question that the sources do not hold, ``nearest`` ids of the facts that
    come nearest.
    """

    type: Literal["research.failed"] = "research.failed"
    cause: str
    reason: str
    missing: tuple[str, ...] = ()
    nearest: tuple[str, ...] = ()


class ResearchCancelled(EventBase):
    """Ended by its user."""

    type: Literal["research.cancelled"] = "research.cancelled"
    reason: str = ""


class ResearchReopened(EventBase):
    """A failed or cancelled session goes on from its last good step; failed steps may be tried again."""

    type: Literal["research.reopened"] = "research.reopened"
    reason: str = ""


class StepFailed(Answered):
    """A step's work failed. ``attempt`` counts from 1; ``recoverable``: it will be tried again."""

    type: Literal["step.failed"] = "step.failed"
    step: str
    error: str
    message: str
    recoverable: bool
    attempt: int


class CallSent(EventBase):
    """A paid call is about to be sent; the next run counts it at ``worst`` if the process dies before the step's own event."""

    type: Literal["call.sent"] = "call.sent"
    step: str
    worst: Cost


class BudgetExhausted(EventBase):
    """A cap was reached: gathering stops, the report is written from what there is. ``cap`` is e.g. ``usd``, ``deadline``."""

    type: Literal["budget.exhausted"] = "budget.exhausted"
    cap: str
    limit: str
    spent: str


class UnknownEvent(EventBase):
    """An event of a type that this version does not know; kept, and skipped by the fold."""
