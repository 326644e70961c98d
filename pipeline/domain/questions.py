"""What a reasoner is asked, and the answers: frozen values, the type of a question fixing the type of its answer.

A question holds all that its answer may depend on, so an answer is a function of the question (and of the model).
Nothing here says who answers: a language model with a prompt template of the question's ``name``, or the extractive reasoner.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, TypeVar

from pipeline.domain.values import (
    Contradiction,
    Fact,
    Gap,
    Hit,
    Paragraph,
    Perspective,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Value,
    Verdict,
)
from pipeline.text.ranking.term_statistics import TermStatistics

A_co = TypeVar("A_co", bound=Value, covariant=True)
FoldMode = Literal["granular", "deep"]


# ---- answers ---------------------------------------------------------------------------------------------------


class Perspectives(Value):
    """The points of view to research from."""

    perspectives: tuple[Perspective, ...]


class Thought(Value):
    """What is still to be asked, why, and the searches that ask it (none: nothing is left to ask)."""

    reasoning: str
    queries: tuple[str, ...]


class Finding(Value):
    """A claim found in a page with the verbatim quote. It becomes a fact only if the quote stands in the page.

    ``lead`` is what the quote leans on, verbatim too, or "": a table's header, the line that introduces a list.
    ``near`` counts the characters before the quote in the normalised page, for one that stands there twice; -1 is not known.
    """

    claim: str
    quote: str
    question: str = ""
    relevance: float = 0.0
    lead: str = ""
    near: int = -1


class Observation(Value):
    """What one page says on the questions, best first."""

    findings: tuple[Finding, ...]


class Evaluation(Value):
    """Which of a worker's questions are still open after an iteration."""

    gaps: tuple[str, ...]
    reason: str = ""


class Validation(Value):
    """What cross-checking made of the facts; every fact of the groups has one entry."""

    facts: tuple[ValidatedFact, ...]


class Contradictions(Value):
    """Pairs of facts that cannot both hold."""

    contradictions: tuple[Contradiction, ...]


class Gaps(Value):
    """What is still unknown, most important first."""

    gaps: tuple[Gap, ...]


class Outline(Value):
    """The report's title and its sections, each with the facts it may use."""

    title: str
    sections: tuple[SectionPlan, ...]


class SectionText(Value):
    """A section's text."""

    paragraphs: tuple[Paragraph, ...]


class ClaimCheck(Value):
    """One verdict per sentence, in order."""

    verdicts: tuple[Verdict, ...]


class FoldedContext(Value):
    """A worker's condensed memory.

    ``granular``: ``summary`` stands for level 0 and what is new. ``deep``: it stands for the level that is folded into as well.
    """

    summary: str
    mode: FoldMode = "granular"


class WorkerContext(Value):
    """What a worker remembers beside its facts.

    ``levels`` are its condensed memories: level 0, the youngest and finest, first. ``folded`` holds the ids of the facts that
    they stand for. ``recent`` are its last interactions in words; ``queries`` and ``pages`` what it searched for and read.
    """

    levels: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


# ---- questions -------------------------------------------------------------------------------------------------


class Question(Value, Generic[A_co]):
    """The root. ``name`` is the prompt template's stem; ``answer_type`` what comes back; ``query`` the user's question."""

    name: ClassVar[str]
    answer_type: ClassVar[type[Value]]

    query: str


class PerspectivesQuestion(Question[Perspectives]):
    """From which ``count`` points of view should this be researched, with ``questions`` questions each?

    The first is always the basic facts (id ``basic-facts``), the last always the sceptic's (id ``sceptic``); for a count of
    1 only the basic facts.
    """

    name = "perspectives"
    answer_type = Perspectives
    hits: tuple[Hit, ...]
    count: int
    questions: int


class ThoughtQuestion(Question[Thought]):
    """What should this worker search for next, in view of what it knows? At most ``limit`` queries, none asked before.

    ``earlier`` are facts that a report on the same question rested on, which was finished on the day ``earlier_on``.
    """

    name = "thought"
    answer_type = Thought
    perspective: Perspective
    iteration: int
    facts: tuple[Fact, ...]
    gaps: tuple[str, ...]
    asked: tuple[str, ...]
    summary: str
    limit: int
    context: WorkerContext = WorkerContext()
    earlier: tuple[Fact, ...] = ()
    earlier_on: str = ""


class ObservationQuestion(Question[Observation]):
    """Which statements of this one page answer the questions?

    ``text`` is the page in the format of ``page_format``; ``focus`` holds the anchors that the search pointed at (may be
    empty); at most ``limit`` findings.
    """

    name = "observation"
    answer_type = Observation
    perspective: Perspective
    searches: tuple[str, ...]
    url: str
    title: str
    text: str
    focus: tuple[str, ...]
    limit: int
    statistics: TermStatistics = TermStatistics()


class EvaluationQuestion(Question[Evaluation]):
    """Which of the perspective's questions are still open in view of these facts?"""

    name = "evaluation"
    answer_type = Evaluation
    perspective: Perspective
    iteration: int
    facts: tuple[Fact, ...]
    summary: str
    context: WorkerContext = WorkerContext()


class ValidationQuestion(Question[Validation]):
    """Inside each group of like facts: which are borne out by another source?

    ``origins`` maps a fact's id to its host or document: only facts of different origins can bear each other out.
    """

    name = "validation"
    answer_type = Validation
    groups: tuple[tuple[Fact, ...], ...]
    origins: dict[str, str]


class ContradictionsQuestion(Question[Contradictions]):
    """Inside each group of like facts: which pairs, from different origins, cannot both hold?"""

    name = "contradictions"
    answer_type = Contradictions
    groups: tuple[tuple[Fact, ...], ...]
    origins: dict[str, str]


class GapsQuestion(Question[Gaps]):
    """Which of the perspectives' questions have no fact, or a weak one? ``open_questions`` are those the workers left."""

    name = "gaps"
    answer_type = Gaps
    perspectives: tuple[Perspective, ...]
    facts: tuple[Fact, ...]
    validated: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...]
    open_questions: tuple[str, ...]
    statistics: TermStatistics = TermStatistics()


class OutlineQuestion(Question[Outline]):
    """Which sections, between ``min_sections`` and ``max_sections``, tell this best? A fact belongs to one section at most.

    ``hits`` are what a first search on the query found, best first.
    """

    name = "outline"
    answer_type = Outline
    perspectives: tuple[Perspective, ...]
    facts: tuple[Fact, ...]
    validated: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...]
    min_sections: int
    max_sections: int
    words: int
    hits: tuple[Hit, ...] = ()
    statistics: TermStatistics = TermStatistics()


class SectionQuestion(Question[SectionText]):
    """Write this section from these facts in at most ``words`` words.

    The section with id ``summary`` answers the query first, in view of ``written``, the checked sentences of the body.
    A revision gets the earlier ``draft`` and its ``unsupported`` verdicts. ``hits`` are what a first search on the query found.
    """

    name = "section"
    answer_type = SectionText
    section: SectionPlan
    facts: tuple[Fact, ...]
    validated: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...]
    other_sections: tuple[str, ...]
    written: tuple[Sentence, ...]
    words: int
    draft: tuple[Paragraph, ...] = ()
    unsupported: tuple[Verdict, ...] = ()
    hits: tuple[Hit, ...] = ()
    statistics: TermStatistics = TermStatistics()


class ClaimCheckQuestion(Question[ClaimCheck]):
    """Does each sentence follow from the quotes of the facts it cites?"""

    name = "claim_check"
    answer_type = ClaimCheck
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]


class FoldQuestion(Question[FoldedContext]):
    """Condense what this worker knows into at most ``limit_tokens`` tokens, losing no fact that its questions need.

    Granular: ``facts``, found since the last fold, and level 0 of ``context`` become the new level 0. Deep: they and the level
    ``deep_level`` (1 or 2), with all levels below it, become that level. ``summary`` is the whole memory so far.
    """

    name = "fold"
    answer_type = FoldedContext
    perspective: Perspective
    facts: tuple[Fact, ...]
    searches: tuple[str, ...]
    summary: str
    limit_tokens: int
    deep_level: int = 1
    context: WorkerContext = WorkerContext()
