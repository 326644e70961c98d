"""The questions that a reasoner answers and its answers, as frozen values; each type of question has one type of answer.

A question contains everything on which its answer may depend, so an answer is a function of the question (and of the model).
A language model answers it with the prompt template of the question's ``name``; the reasoner without one with a function.
"""

from __future__ import annotations

from typing import ClassVar, Generic, Literal, TypeVar

from pydantic import Field

from pipeline.domain.memory.values import Recalled
from pipeline.domain.reasoner_questions.answers import ClaimCheck as ClaimCheck
from pipeline.domain.reasoner_questions.answers import CrossCheck as CrossCheck
from pipeline.domain.reasoner_questions.answers import Edit as Edit
from pipeline.domain.reasoner_questions.answers import Editing as Editing
from pipeline.domain.reasoner_questions.answers import Evaluation as Evaluation
from pipeline.domain.reasoner_questions.answers import Finding as Finding
from pipeline.domain.reasoner_questions.answers import FoldedContext as FoldedContext
from pipeline.domain.reasoner_questions.answers import FoldMode as FoldMode
from pipeline.domain.reasoner_questions.answers import Gaps as Gaps
from pipeline.domain.reasoner_questions.answers import Observation as Observation
from pipeline.domain.reasoner_questions.answers import Outline as Outline
from pipeline.domain.reasoner_questions.answers import Perspectives as Perspectives
from pipeline.domain.reasoner_questions.answers import Revision as Revision
from pipeline.domain.reasoner_questions.answers import SectionText as SectionText
from pipeline.domain.reasoner_questions.answers import Thought as Thought
from pipeline.domain.values import (
    Contradiction,
    Fact,
    Gap,
    Hit,
    Perspective,
    ReportSection,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Value,
)
from pipeline.text.ranking.term_statistics import TermStatistics

A_co = TypeVar("A_co", bound=Value, covariant=True)


class WorkerContext(Value):
    """A worker's context apart from its facts.

    ``levels`` are its condensed memories, from level 0, the most recent and detailed one. ``folded`` holds the ids of the facts
    that they replace. ``recent`` are its last interactions in words; ``queries`` its searches, ``pages`` the titles it read.
    """

    levels: tuple[str, ...] = ()
    folded: tuple[str, ...] = ()
    recent: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


class OthersWork(Value):
    """What is known of other workers: their searches, the titles of the pages they chose, the facts found there.

    ``failed`` are failed searches and pages in words, of this worker too.
    """

    queries: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()
    failed: tuple[str, ...] = ()


class WrongQuote(Value):
    """A claim whose quote is not in the page, and the passage of the page that is nearest to the quote, or ""."""

    claim: str
    quote: str
    nearest: str


class Question(Value, Generic[A_co]):
    """The base of all questions.

    ``name`` is the prompt template's stem, ``answer_type`` the type of the answer, ``query`` the user's query.
    """

    name: ClassVar[str]
    answer_type: ClassVar[type[Value]]

    query: str


class PerspectivesQuestion(Question[Perspectives]):
    """From which ``count`` points of view should this be researched, with ``questions`` questions each?

    The first is always the basic facts (id ``basic-facts``), the last always the sceptic's (id ``sceptic``). If ``count`` is 1,
    the only one is the basic facts. ``recalled`` is what earlier nights found; none of it is evidence.
    """

    name = "perspectives"
    answer_type = Perspectives
    hits: tuple[Hit, ...]
    count: int
    questions: int
    recalled: Recalled = Recalled()


class ThoughtQuestion(Question[Thought]):
    """Which searches should this worker make next, given its facts? At most ``limit`` queries, none made before.

    ``earlier`` are facts of an earlier report on the same query, finished on the day ``earlier_on``. ``others`` is what other
    workers did. ``recalled`` is what earlier nights found, no evidence now; its ``pages`` are read again without a search.
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
    others: OthersWork = OthersWork()
    recalled: Recalled = Recalled()
    pages: tuple[str, ...] = ()


class ObservationQuestion(Question[Observation]):
    """Which statements of this one page answer the questions of all ``perspectives``?

    ``text`` is the page in the format of ``page_format``; the answer has at most ``limit`` findings. ``part``: the page itself;
    the ``rest``, which is the ``sections`` asked for and ``wrong_quotes`` to correct; or only passages that answer the one
    question of a ``gap``. ``near`` pairs passages of the page with their cosines, from the searches by meaning that found them.
    """

    name = "observation"
    answer_type = Observation
    perspectives: tuple[Perspective, ...]
    url: str
    title: str
    text: str
    limit: int
    part: Literal["page", "rest", "gap"] = "page"
    sections: tuple[str, ...] = ()
    wrong_quotes: tuple[WrongQuote, ...] = ()
    near: tuple[tuple[str, float], ...] = ()
    statistics: TermStatistics = TermStatistics()


class EvaluationQuestion(Question[Evaluation]):
    """Which of the perspective's questions are still open, given these facts, and what should be searched for next?

    At most ``limit`` queries, none of those ``asked``; with 0 only the open questions are wanted. ``others`` is what other
    workers did.
    """

    name = "evaluation"
    answer_type = Evaluation
    perspective: Perspective
    iteration: int
    facts: tuple[Fact, ...]
    summary: str
    context: WorkerContext = WorkerContext()
    asked: tuple[str, ...] = ()
    limit: int = 0
    others: OthersWork = OthersWork()


class CrossCheckQuestion(Question[CrossCheck]):
    """In each group of similar facts, which are confirmed by another source, and which pairs contradict each other?

    ``origins`` maps a fact's id to its host or document; only facts of different origins can confirm or contradict each other.
    ``today`` is the day on which the session started; ``published`` maps a page's address to its date, where that is known.
    """

    name = "cross_check"
    answer_type = CrossCheck
    groups: tuple[tuple[Fact, ...], ...]
    origins: dict[str, str]
    today: str = ""
    published: dict[str, str] = Field(default_factory=dict)


class GapsQuestion(Question[Gaps]):
    """Which of the perspectives' questions have no good answer? ``open_questions`` are those that the workers left open."""

    name = "gaps"
    answer_type = Gaps
    perspectives: tuple[Perspective, ...]
    facts: tuple[Fact, ...]
    validated: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...]
    open_questions: tuple[str, ...]
    statistics: TermStatistics = TermStatistics()


class OutlineQuestion(Question[Outline]):
    """Which sections, ``min_sections`` to ``max_sections`` of them, should the report have? A fact belongs to one at most.

    ``hits`` are those of a first search on the query, best first.
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
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()


class SectionQuestion(Question[SectionText]):
    """Write this section from these facts in at most ``words`` words.

    The section ``summary`` answers the query directly, based on ``written``, the checked sentences of the body. ``hits`` are
    those of a first search on the query; ``today`` is the day on which the session started; ``published`` are pairs of a page's
    address and the day it gives, where it gives one.
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
    hits: tuple[Hit, ...] = ()
    statistics: TermStatistics = TermStatistics()
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()


class RevisionQuestion(Question[Revision]):
    """Correct or drop these sentences of a section, each with the reason why it is not supported.

    ``heading`` is the reason why the section's title is not supported, or "". ``facts`` are those that the section may use.
    """

    name = "revision"
    answer_type = Revision
    section: SectionPlan
    sentences: tuple[Sentence, ...]
    reasons: tuple[str, ...]
    facts: tuple[Fact, ...]
    heading: str = ""
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()


class EditingQuestion(Question[Editing]):
    """Edit the whole report, the section ``summary`` first: what would make it clearer and shorter?

    All sentences are checked; their places count over all sections. ``gaps`` are what was not found. ``words`` is the most for
    each of the two sections to be added.
    """

    name = "editing"
    answer_type = Editing
    title: str
    sections: tuple[ReportSection, ...]
    facts: tuple[Fact, ...]
    validated: tuple[ValidatedFact, ...]
    contradictions: tuple[Contradiction, ...]
    gaps: tuple[Gap, ...]
    words: int
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()


class ClaimCheckQuestion(Question[ClaimCheck]):
    """Does each sentence follow from the quotes of the facts it cites, and each of ``headings`` from all these quotes?

    The verdicts on headings come after those on the sentences. ``claims`` are facts whose claim is to be compared with its quote.
    ``warnings``: for each sentence what code noticed, "" if nothing.
    """

    name = "claim_check"
    answer_type = ClaimCheck
    sentences: tuple[Sentence, ...]
    facts: tuple[Fact, ...]
    headings: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    today: str = ""
    published: tuple[tuple[str, str], ...] = ()


class FoldQuestion(Question[FoldedContext]):
    """Condense this worker's memory to at most ``limit_tokens`` tokens without losing a fact that its questions need.

    Granular: ``facts``, found since the last fold, and level 0 of ``context`` become the new level 0. Deep: they and all levels
    up to ``deep_level`` (1 or 2) become that level. ``summary`` is the whole memory so far.
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
