"""The events of a session after its workers ended: cross-checking, and the report from its outline to its text."""

from __future__ import annotations

from typing import Literal

from pipeline.domain.events.event_base import Answered, EventBase
from pipeline.domain.values import (
    Changes,
    Contradiction,
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


class SectionWritten(Answered):
    """The first text of a section. The section ``summary`` is written last."""

    type: Literal["section.written"] = "section.written"
    section_id: str
    paragraphs: tuple[Paragraph, ...]


class ClaimsChecked(Answered):
    """The new sentences of a section were checked against their facts. ``revision`` 0 is the first text, 1 the revised one.

    ``heading`` is the verdict on the section's title (of the summary: on the report's title), None if it was not checked.
    ``claims`` are the ids of the facts whose claim was compared with its quote; those in ``overstated`` say more than it.
    """

    type: Literal["claims.checked"] = "claims.checked"
    section_id: str
    revision: int
    verdicts: tuple[Verdict, ...]
    heading: Verdict | None = None
    claims: tuple[str, ...] = ()
    overstated: tuple[str, ...] = ()


class ReportRevised(Answered):
    """A section's unsupported sentences were rewritten or dropped. ``revision`` counts from 1.

    ``carried`` are the verdicts on the unchanged sentences, by their new places; ``title`` is a new title, or "".
    """

    type: Literal["report.revised"] = "report.revised"
    section_id: str
    revision: int
    paragraphs: tuple[Paragraph, ...]
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
    """The finished report. ``cut`` counts the removed unsupported sentences; ``limits`` names what could not be completed.

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
    outcome: Outcome | Literal[""] = ""
