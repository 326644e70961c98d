"""The events of a session, as frozen models, and what all events share: the envelope, cost and origin of an outside answer.

A step *drafts* an event with an empty envelope (``id``, ``session_id``, ``version``, ``at``, ``run_id``); the session *stamps*
it when it records it. In the JSON the fields of envelope and payload are side by side::

    {"id": "…", "session_id": "…", "version": 7, "type": "worker.thought", "at": "2026-11-21T02:15:00.123Z",
     "run_id": "…", "worker_id": "search_0", …}

Unknown fields are kept. An event of an unknown type becomes an ``UnknownEvent``, which the fold skips with one warning. A stored
event is never rewritten.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain import research_values as v
from pipeline.text.passages import what_is_missing
from pipeline.text.ranking import TermStatistics

SCHEMA_MAJOR = 2  # 2: no scores of sources, no names, no states of doubt; logs of 1 are read and gone on with
SCHEMA_MINOR = 0
SCHEMA = f"{SCHEMA_MAJOR}.{SCHEMA_MINOR}"


class EventBase(v.Value):
    """The envelope of every event. ``version`` counts from 1 in the session; ``at`` is RFC 3339 in UTC with milliseconds."""

    id: str = ""
    session_id: str = ""
    version: int = 0
    type: str = ""
    at: str = ""
    run_id: str = ""


class Answered(EventBase):
    """An event that records an outside answer, with its cost, its duration and the digest of the stored prompt and raw reply.

    ``exchange`` is "" if nothing was sent, as with the extractive reasoner. ``step`` is the key of the step that ends with this
    event, which also settles the calls announced for that step (``call.sent``). ``seconds`` is how long the step took, waits and
    retries included; None in a log from before it was measured.
    """

    step: str = ""
    cost: v.Cost = v.Cost()
    exchange: str = ""
    seconds: float | None = None


class Retired(Answered):
    """An event that only earlier versions recorded, and that is read over: its cost still counts, and its bytes are kept."""

    type: Literal[
        "context.folded",
        "facts.validated",
        "outline.created",
        "section.written",
        "report.edited",
        "entities.named",
        "entity.joined",
        "talk.researched",
        "talk.closed",
    ]


class UnknownEvent(EventBase):
    """An event of a type that this version does not know. It is kept in the log and skipped by the fold."""


NO_EVIDENCE = "no-evidence"  # the cause of an end without a report where no step failed


class RunStarted(EventBase):
    """A run begins; the first event of every segment: host, process, program version.

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

    ``names``: how its notes are named: by Latin letters (as in logs that do not say so), by those of any script, or so that its
    workers are also nested in a folder of its own. What a log says holds for good, so no note moves.
    """

    type: Literal["research.started"] = "research.started"
    query: str
    query_id: str
    config: v.ResearchConfig = v.ResearchConfig()
    tags: tuple[str, ...] = ()
    previous_session: str = ""
    names: Literal["latin", "any", "nested"] = "latin"


class EarlierRecalled(EventBase):
    """The knowledge of a recurring query's last report, with which the new session is compared."""

    type: Literal["earlier.recalled"] = "earlier.recalled"
    earlier: v.EarlierSession


class MemoryRecalled(EventBase):
    """What earlier nights, on whatever question, left behind about this one. It is recorded, so that memory may change later."""

    type: Literal["memory.recalled"] = "memory.recalled"
    recalled: v.Recalled


class TopicSurveyed(Answered):
    """The hits of a first search on the query, on which the plan is based. Other fields as in ``SearchCompleted``.

    ``statistics`` are the searched index's term statistics for the query's words, if it has any; ``languages`` are those of its
    documents; ``absent`` are names in the query that no passage of them holds.
    """

    type: Literal["topic.surveyed"] = "topic.surveyed"
    provider: str
    hits: tuple[v.Hit, ...]
    statistics: TermStatistics = TermStatistics()
    languages: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()
    failed: tuple[v.FailedSide, ...] = ()
    left_out: int = 0


class PlanCreated(Answered):
    """The plan: perspectives and the DAG's nodes; the ``kind`` of answer that is wanted; ``recent``: newer pages come first.

    ``window`` is the context of the session's models in tokens, as far as their server says it; 0 if it does not.
    """

    type: Literal["plan.created"] = "plan.created"
    perspectives: tuple[v.Perspective, ...]
    nodes: tuple[v.PlanNode, ...]
    kind: v.AnswerKind = "overview"
    recent: bool = False
    window: int = 0


class PlanExtended(EventBase):
    """Workers were added for gaps. ``round`` is the gap round, counted from 1."""

    type: Literal["plan.extended"] = "plan.extended"
    round: int
    perspectives: tuple[v.Perspective, ...]
    nodes: tuple[v.PlanNode, ...]


class ApprovalRequested(EventBase):
    """The plan waits for the user's approval; no further step is taken before."""

    type: Literal["approval.requested"] = "approval.requested"


class ApprovalGiven(EventBase):
    """The user approved the plan: unchanged, or with these perspectives and nodes instead of the planned ones."""

    type: Literal["approval.given"] = "approval.given"
    perspectives: tuple[v.Perspective, ...] = ()
    nodes: tuple[v.PlanNode, ...] = ()


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
    """A search's hits, best first. ``failed`` names a side that failed; if all sides fail, the event is ``step.failed``.

    ``left_out`` counts the hits that the setting ``sources`` forbids; logs of earlier versions do not say it.
    """

    type: Literal["search.completed"] = "search.completed"
    query: str
    provider: str
    hits: tuple[v.Hit, ...]
    failed: tuple[v.FailedSide, ...] = ()
    left_out: int = 0


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
    file_changed: str = ""

    @property
    def missing(self) -> str:
        """What the stored text lacks, in words, or ""; earlier versions wrote it into what is kept of a pruned session."""
        return (self.model_extra or {}).get("missing") or what_is_missing(self.visible, self.stored, self.empty_pages)


class FactsObserved(Answered):
    """The facts of a page, and the findings that were rejected; ``whole``: the page was shown whole, not in parts.

    ``shown`` are the parts that were shown of one that was not: the first character, and the one after the last.

    One reading has an event for each of its pages. ``last``: it is the last of them, and the iteration is evaluated: ``gaps`` are
    the questions that are still open, ``queries`` what to search for next.
    """

    type: Literal["facts.observed"] = "facts.observed"
    worker_id: str
    iteration: int
    url: str
    digest: str
    facts: tuple[v.Fact, ...]
    rejected: tuple[v.RejectedFact, ...] = ()
    whole: bool = True
    shown: tuple[tuple[int, int], ...] = ()
    last: bool = False
    gaps: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


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
    cost: v.Cost
    sources: int
    facts: int


class ResearchFailed(EventBase):
    """The session ended without a report. ``cause`` is ``no-evidence`` or the class of the error."""

    type: Literal["research.failed"] = "research.failed"
    cause: str
    reason: str


class ResearchCancelled(EventBase):
    """The user cancelled the session."""

    type: Literal["research.cancelled"] = "research.cancelled"
    reason: str = ""


class ResearchReopened(EventBase):
    """A failed or cancelled session continues after its last good step; failed steps may be tried again."""

    type: Literal["research.reopened"] = "research.reopened"
    reason: str = ""


class Conflict(v.Value):
    """Two branches recorded different outcomes of one step: the ids of the event that counts, and of the other.

    Older logs say in a few words what they are.
    """

    step: str
    ours: str
    theirs: str


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
    answered: tuple[v.Cost, ...] = ()
    places: tuple[int, ...] = ()


class HandoffInitiated(EventBase):
    """The session is handed over: only a run of the machine ``to`` goes on with it."""

    type: Literal["handoff.initiated"] = "handoff.initiated"
    to: str
    why: str = ""


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
    """A session that was interrupted goes on with another reasoner, other searches or another cap, as the settings have it now.

    ``reasoner``, ``search`` and ``budget_usd`` are those from now on, as in the session's config; older logs name no cap.
    """

    type: Literal["settings.changed"] = "settings.changed"
    reasoner: str
    search: tuple[str, ...]
    budget_usd: float | None = None


class CallSent(EventBase):
    """A paid call is about to be sent. If the process dies before the step's own event, the next run charges ``worst``."""

    type: Literal["call.sent"] = "call.sent"
    step: str
    worst: v.Cost


class BudgetExhausted(EventBase):
    """A cap was reached: gathering stops, and the report uses the facts found so far. ``cap`` is e.g. ``usd``, ``deadline``."""

    type: Literal["budget.exhausted"] = "budget.exhausted"
    cap: str
    limit: str
    spent: str


class AnalysisStarted(EventBase):
    """Cross-checking begins, as all search nodes of the round have ended. ``round`` counts from 0."""

    type: Literal["analysis.started"] = "analysis.started"
    round: int


class ContradictionsFound(Answered):
    """The contradictions between sources; an empty tuple if the check found none."""

    type: Literal["contradictions.found"] = "contradictions.found"
    round: int
    contradictions: tuple[v.Contradiction, ...]


class AnalysisCompleted(Answered):
    """In older logs: the questions that are still open."""

    type: Literal["analysis.completed"] = "analysis.completed"
    round: int
    gaps: tuple[v.Gap, ...]


class GapLookedUp(Answered):
    """In older logs: a page that the session had read was searched for an answer to a gap; ``facts`` answer it."""

    type: Literal["gap.looked_up"] = "gap.looked_up"
    facts: tuple[v.Fact, ...] = ()


class GapsFound(EventBase):
    """The questions that are still open when a round of gathering has ended; each was searched for."""

    type: Literal["gaps.found"] = "gaps.found"
    round: int
    gaps: tuple[v.Gap, ...]


class SynthesisStarted(EventBase):
    """Gathering has ended; the report is written from ``facts`` facts of ``sources`` sources."""

    type: Literal["synthesis.started"] = "synthesis.started"
    facts: int
    sources: int


class PassagesChosen(Answered):
    """The passages that come nearest to the question, best first, and ``more`` places; without a model this is the whole result.

    Nothing is near the question if there are no ``passages``. Their pages were read in the session; no model has read them.
    ``said`` is the sentence of the first one that is nearest by meaning, "" if that is not known.
    """

    type: Literal["passages.chosen"] = "passages.chosen"
    passages: tuple[v.Fact, ...]
    more: tuple[v.Fact, ...] = ()
    said: str = ""


class ReportWritten(Answered):
    """The first text of a part of the report; a report that fits the model's window has ``parts`` 1.

    The section ``summary`` is the beginning, under the report's title. ``outcome`` and ``lacks`` (what is missing) are what the
    writer says of the whole; they and the summary are in the part that begins the report.
    """

    type: Literal["report.written"] = "report.written"
    part: int
    parts: int = 1
    sections: tuple[v.ReportSection, ...]
    outcome: v.Outcome | Literal[""] = ""
    lacks: str = ""


class ClaimsChecked(Answered):
    """What is new in a part of the report was checked against its facts. ``revision`` 0 is the first text, 1 the mended one.

    ``verdicts`` are those on unsupported sentences, by their places in the part (``domain.report_draft``), each with the sentence
    in its place; ``missing`` are important facts that the text does not use, by id, each with the reason, and ``additions`` are
    the sentences that bring them in; ``outcome`` is what the checker says of the whole; ``answered`` are open questions that its
    evidence answers all the same; ``unfound`` are sentences that say what was not found and that no open question stands for.
    In logs of earlier versions a section was checked, and ``section_id`` names it: its ``verdicts`` are on all sentences.
    ``claims`` are the ids of the facts whose claim was compared with its quote; those in
    ``overstated`` say more than it.
    """

    type: Literal["claims.checked"] = "claims.checked"
    section_id: str = ""
    part: int = 0
    revision: int
    verdicts: tuple[v.Verdict, ...]
    missing: dict[str, str] = Field(default_factory=dict)
    outcome: v.Outcome | Literal[""] = ""
    additions: tuple[v.Addition, ...] = ()
    answered: tuple[str, ...] = ()
    unfound: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    overstated: tuple[str, ...] = ()


class ReportRevised(Answered):
    """Unsupported sentences of a part were replaced or left out (``lost``), and missing facts brought in.

    ``sections`` is the part's text now, ``new`` the places of what is new in it. In logs of earlier versions a section was
    revised, and ``section_id`` names it.
    """

    type: Literal["report.revised"] = "report.revised"
    section_id: str = ""
    part: int = 0
    revision: int
    sections: tuple[v.ReportSection, ...] = ()
    new: tuple[int, ...] = ()
    lost: tuple[v.CutSentence, ...] = ()


class ChangesFound(EventBase):
    """The differences from the earlier session, computed from the facts and texts of both."""

    type: Literal["changes.found"] = "changes.found"
    changes: v.Changes


class ReportGenerated(EventBase):
    """The finished report. ``cut`` counts the sentences that were left out, which ``cut_sentences`` lists; older logs only count.

    ``lacks`` says in a few words what the user asked for and the evidence does not give; ``limits`` what could not be completed.
    ``title`` is "" if it is the question.
    ``outcome`` is one of ``values.Outcome``; "" in older logs.
    """

    type: Literal["report.generated"] = "report.generated"
    title: str
    summary: tuple[v.Sentence, ...]
    sections: tuple[v.ReportSection, ...]
    references: tuple[v.Reference, ...]
    contradictions: tuple[v.Contradiction, ...] = ()
    unknowns: tuple[v.Gap, ...] = ()
    lacks: str = ""
    limits: tuple[str, ...] = ()
    words: int = 0
    cut: int = 0
    cut_sentences: tuple[v.CutSentence, ...] = ()
    outcome: v.Outcome | Literal[""] = ""
