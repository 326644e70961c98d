"""The events of a session after its workers ended: cross-checking, and the report from its outline to its text."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from pipeline.domain.events.event_base import Answered, EventBase
from pipeline.domain.values import (
    Changes,
    Contradiction,
    CutSentence,
    EditedSection,
    Fact,
    Gap,
    Outcome,
    Paragraph,
    Reference,
    RejectedFact,
    ReportSection,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Verdict,
)


class AnalysisStarted(EventBase):
    """Cross-checking begins, as all search nodes of the round have ended. ``round`` counts from 0."""

    type: Literal["analysis.started"] = "analysis.started"
    round: int


class FactsValidated(Answered):
    """Which facts are confirmed by other sources."""

    type: Literal["facts.validated"] = "facts.validated"
    round: int
    facts: tuple[ValidatedFact, ...]


class ContradictionsFound(Answered):
    """The contradictions between sources; an empty tuple if the check found none."""

    type: Literal["contradictions.found"] = "contradictions.found"
    round: int
    contradictions: tuple[Contradiction, ...]


class AnalysisCompleted(Answered):
    """The questions that are still open. Older logs have a ``source_quality`` beside them, which is no longer used."""

    type: Literal["analysis.completed"] = "analysis.completed"
    round: int
    gaps: tuple[Gap, ...]


class GapLookedUp(Answered):
    """A page that the session had read was searched for an answer to a gap (an index from 0) of ``round``.

    ``facts`` answer it. Without ``url``, no page has a passage about it that was not looked at.
    """

    type: Literal["gap.looked_up"] = "gap.looked_up"
    round: int
    gap: int
    url: str = ""
    digest: str = ""
    facts: tuple[Fact, ...] = ()
    rejected: tuple[RejectedFact, ...] = ()


class GapsFound(EventBase):
    """The questions that are still open when a round of gathering has ended; each was searched for."""

    type: Literal["gaps.found"] = "gaps.found"
    round: int
    gaps: tuple[Gap, ...]


class SynthesisStarted(EventBase):
    """Gathering has ended; the report is written from ``facts`` facts of ``sources`` sources."""

    type: Literal["synthesis.started"] = "synthesis.started"
    facts: int
    sources: int


class PassagesChosen(Answered):
    """The passages that come nearest to the question, best first, and ``more`` places; without a model this is the whole result.

    Nothing is near the question if there are no ``passages``. Their pages were read in the session; no model has read them.
    """

    type: Literal["passages.chosen"] = "passages.chosen"
    passages: tuple[Fact, ...]
    more: tuple[Fact, ...] = ()


class OutlineCreated(Answered):
    """The report's title and sections."""

    type: Literal["outline.created"] = "outline.created"
    title: str
    sections: tuple[SectionPlan, ...]


class ReportWritten(Answered):
    """The first text of a part of the report; a report that fits the model's window has ``parts`` 1.

    The section ``summary`` is the beginning, under the report's title. ``outcome`` and ``lacks`` (what is missing) are what the
    writer says of the whole; they and the summary are in the part that begins the report.
    """

    type: Literal["report.written"] = "report.written"
    part: int
    parts: int = 1
    sections: tuple[ReportSection, ...]
    outcome: Outcome | Literal[""] = ""
    lacks: str = ""


class SectionWritten(Answered):
    """The first text of a section, in logs of earlier versions. The section ``summary`` is written last."""

    type: Literal["section.written"] = "section.written"
    section_id: str
    paragraphs: tuple[Paragraph, ...]


class ClaimsChecked(Answered):
    """What is new in a part of the report was checked against its facts. ``revision`` 0 is the first text, 1 the mended one.

    ``verdicts`` are those on unsupported sentences, by their places in the part (``domain.report_parts``); ``missing`` are
    important facts that the text does not use, by id, each with the reason; ``outcome`` is what the checker says of the whole;
    ``answered`` are open questions that its evidence answers all the same.
    In logs of earlier versions a section was checked, and ``section_id`` names it: its ``verdicts`` are on all sentences, and
    ``heading`` on its title. ``claims`` are the ids of the facts whose claim was compared with its quote; those in
    ``overstated`` say more than it.
    """

    type: Literal["claims.checked"] = "claims.checked"
    section_id: str = ""
    part: int = 0
    revision: int
    verdicts: tuple[Verdict, ...]
    missing: dict[str, str] = Field(default_factory=dict)
    outcome: Outcome | Literal[""] = ""
    answered: tuple[str, ...] = ()
    heading: Verdict | None = None
    claims: tuple[str, ...] = ()
    overstated: tuple[str, ...] = ()


class ReportRevised(Answered):
    """Unsupported sentences of a part were replaced or left out (``lost``), and missing facts brought in.

    ``sections`` is the part's text now, ``new`` the places of what is new in it. In logs of earlier versions a section was
    revised, and ``section_id`` names it: ``carried`` are the verdicts on the unchanged sentences of its ``paragraphs``, by their
    new places; ``title`` is a new title, or "".
    """

    type: Literal["report.revised"] = "report.revised"
    section_id: str = ""
    part: int = 0
    revision: int
    sections: tuple[ReportSection, ...] = ()
    new: tuple[int, ...] = ()
    lost: tuple[CutSentence, ...] = ()
    paragraphs: tuple[Paragraph, ...] = ()
    title: str = ""
    carried: tuple[Verdict, ...] = ()


class ReportEdited(Answered):
    """The whole report was edited once. ``sections`` are those that changed or were added; ``order`` are all ids in order."""

    type: Literal["report.edited"] = "report.edited"
    sections: tuple[EditedSection, ...] = ()
    order: tuple[str, ...] = ()


class ChangesFound(EventBase):
    """The differences from the earlier session, computed from the facts and texts of both."""

    type: Literal["changes.found"] = "changes.found"
    changes: Changes


class ReportGenerated(EventBase):
    """The finished report. ``cut`` counts the sentences that were left out, which ``cut_sentences`` lists; older logs only count.

    ``limits`` names what could not be completed.

    ``outcome`` is as in ``domain.outcome``; "" in older logs.
    """

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
    cut_sentences: tuple[CutSentence, ...] = ()
    outcome: Outcome | Literal[""] = ""
