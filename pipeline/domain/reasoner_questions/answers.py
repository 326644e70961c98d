"""The answers of a reasoner; each type of question has one."""

from __future__ import annotations

from typing import Literal

from pipeline.domain.values import (
    Contradiction,
    Gap,
    Paragraph,
    Perspective,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Value,
    Verdict,
)

FoldMode = Literal["granular", "deep"]


class Perspectives(Value):
    """The perspectives of the research."""

    perspectives: tuple[Perspective, ...]


class Thought(Value):
    """A worker's next searches and the reasoning; without queries the worker is finished."""

    reasoning: str
    queries: tuple[str, ...]


class Finding(Value):
    """A claim found in a page, with its verbatim quote. It becomes a fact only if the page contains the quote.

    ``lead`` is the table header or the line before a list that the quote needs, verbatim, or "". ``near`` is the quote's offset
    in characters in the normalised page, in case it occurs twice; -1 is unknown. ``cosine`` as in ``Fact``.
    """

    claim: str
    quote: str
    question: str = ""
    relevance: float = 0.0
    lead: str = ""
    near: int = -1
    cosine: float | None = None


class Observation(Value):
    """The findings in one page, best first; ``more``: the headings of sections to read too, of those that were left out."""

    findings: tuple[Finding, ...]
    more: tuple[str, ...] = ()


class Evaluation(Value):
    """The questions of a worker that are still open after an iteration.

    ``queries`` are its next searches, none if nothing is left to ask; None if the reasoner was not asked for them.
    """

    gaps: tuple[str, ...]
    reason: str = ""
    queries: tuple[str, ...] | None = None


class CrossCheck(Value):
    """The result of cross-checking: one entry for each fact of the groups, and the pairs that contradict each other."""

    facts: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...] = ()


class Gaps(Value):
    """The open questions, most important first."""

    gaps: tuple[Gap, ...]


class Outline(Value):
    """The report's title and its sections, each with the facts it may use."""

    title: str
    sections: tuple[SectionPlan, ...]


class SectionText(Value):
    """A section's text."""

    paragraphs: tuple[Paragraph, ...]


class Edit(Value):
    """A change of one sentence, by its place (from 0) in the question: a new text with its citations, or ``drop``."""

    place: int
    drop: bool = False
    sentence: Sentence = Sentence(text="")


class Revision(Value):
    """The changes of unsupported sentences, and a new title if the old one was not supported, else ""."""

    edits: tuple[Edit, ...]
    title: str = ""


class Editing(Value):
    """The changes of the whole report: edits, the sections' ids in a better order, and two more sections' sentences."""

    edits: tuple[Edit, ...] = ()
    order: tuple[str, ...] = ()
    to_do: tuple[Sentence, ...] = ()
    certainty: tuple[Sentence, ...] = ()


class ClaimCheck(Value):
    """One verdict for each sentence and heading, in order; ``overstated`` are facts whose claim says more than their quote."""

    verdicts: tuple[Verdict, ...]
    overstated: tuple[str, ...] = ()


class FoldedContext(Value):
    """A worker's condensed memory.

    ``granular``: ``summary`` replaces level 0 and adds what is new. ``deep``: it also replaces the level that is folded into.
    """

    summary: str
    mode: FoldMode = "granular"
