"""Frozen value models used by events, state and questions: facts, hits, plans, report parts, memory. A leaf module."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipeline.errors import GONE
from pipeline.text.addresses import DOCUMENTS
from pipeline.text.ranking import Origin

NodeTask = Literal["search", "validate", "analyze", "synthesize"]
Mode = Literal["fast", "deep"]
ContradictionKind = Literal["number", "date", "version", "polarity", "claim"]
EXTRACTIVE = "extractive"  # how a config names the reasoner that is no model
AnswerKind = Literal["how-to", "comparison", "decision", "what-changed", "explanation", "overview"]
Outcome = Literal["answered", "in-part", "passages", "not-found"]  # how a session ended; only a model can say *answered*
BlockForm = Literal["paragraph", "steps", "bullets", "table", "code"]
Basis = Literal["quoted", "derived", "bridge", "beyond"]


class Value(BaseModel):
    """A frozen value. Unknown fields, written by a newer version, are kept; NaN and infinity are refused."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class Cost(Value):
    """The cost of one outside answer. All zero for the extractive reasoner and the local search.

    ``assumed_usd`` is the part of ``usd`` that is an assumption: the worst case of each call whose reply was lost or gave no
    usage; ``expected_usd`` is an estimate of what that part really cost. ``cached_tokens`` is the part of ``input_tokens`` that
    the server took from its cache. ``calls`` is the number of model calls.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    usd: float = 0.0
    assumed_usd: float = 0.0
    expected_usd: float = 0.0
    cached_tokens: int = 0
    calls: int = 0
    model_requested: str = ""
    model: str = ""

    @property
    def charged_usd(self) -> float:
        """What was charged for certain."""
        return round(max(0.0, self.usd - self.assumed_usd), 9)


_AMOUNTS = ("input_tokens", "output_tokens", "total_tokens", "usd", "assumed_usd", "expected_usd", "cached_tokens", "calls")


def assumed(worst: Cost, expected_usd: float = 0.0) -> Cost:
    """Return the worst case of a call without an answer as a cost that is assumed, not known."""
    return worst.model_copy(update={"assumed_usd": worst.usd, "expected_usd": expected_usd})


def total(costs: Iterable[Cost]) -> Cost:
    """Return the sum of costs; it names no model."""
    known = list(costs)
    return Cost(**{name: round(sum(getattr(cost, name) for cost in known), 9) for name in _AMOUNTS})


def minus(whole: Cost, part: Cost) -> Cost:
    """Return ``whole`` without ``part``, never below zero."""
    return Cost(**{name: max(0, round(getattr(whole, name) - getattr(part, name), 9)) for name in _AMOUNTS})


class ResearchConfig(Value):
    """The limits of one session, fixed in its first event. All numbers are counts unless the name gives a unit.

    ``within`` is the only folder of the documents that is searched; "": all are. ``allow`` and ``deny`` are hosts, with all below
    them, and folders or documents (with a ``/``): where some of a kind are allowed, no others of that kind are read.
    ``gap_pages`` is the number of pages that are read for gaps; 0, in older logs: as many as in another iteration.
    """

    mode: Mode = "deep"
    perspectives: int = 5
    questions: int = 4
    max_workers: int = 5
    iterations: int = 3
    gap_rounds: int = 1
    queries_per_thought: int = 6
    hits_per_query: int = 5
    survey_hits: int = 30
    reads_survey: bool = False
    pages_per_iteration: int = 4
    gap_pages: int = 0
    beyond: bool = False
    context_tokens: int = 40_000
    report_words: int = 1_500
    attempts: int = 2
    budget_usd: float | None = None
    timeout_s: float | None = None
    reasoner: str = EXTRACTIVE
    search: tuple[str, ...] = ("local",)
    approve: str = ""
    within: str = ""
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()

    @property
    def has_model(self) -> bool:
        """Whether a model answers the session's questions: without one nothing is called answered or disputed."""
        return self.reasoner != EXTRACTIVE


class Hit(Value):
    """One search result. ``url`` may have a fragment: the anchor of the matching place in the page.

    ``cosine`` is how near the passage is to the query by meaning, or the score of a reranker; None: by words alone. ``coverage``
    is the share, 0 to 1, of the query's words that it holds, by their rarity.
    """

    url: str
    title: str
    snippet: str = ""
    heading: str = ""
    score: float = 0.0
    published: str = ""
    cosine: float | None = None
    coverage: float = 0.0


class FailedSide(Value):
    """What failed in a search, and why: own documents, the web, embeddings, or the reranker. The others gave the hits."""

    origin: Origin | Literal["embeddings", "reranker"]
    reason: str


class Perspective(Value):
    """A point of view from which the topic is researched. ``id`` is made of ``[a-z0-9-]``.

    ``queries`` are its first searches, ``pages`` the addresses that the plan names of the survey's, to be read first.
    """

    id: str
    name: str
    focus: str
    questions: tuple[str, ...]
    queries: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()


class PlanNode(Value):
    """One node of the plan's DAG. ``perspective`` is a perspective's id for the task ``search``, else ""."""

    id: str
    task: NodeTask
    description: str
    depends_on: tuple[str, ...] = ()
    perspective: str = ""

    @property
    def is_gap(self) -> bool:
        """Whether it searches for what an earlier round left open."""
        return self.task == "search" and bool(self.depends_on)


class Fact(Value):
    """A claim with its verbatim quote and the page that contains it.

    ``id`` derives from quote and url, so a fact found by two workers is one fact. ``url`` is the page's address without a
    fragment; ``anchor`` is the place in it, or "". ``digest`` is the SHA-256 of the stored page text. ``relevance``, 0 to 1, is
    the reasoner's estimate; ``question`` is the worker's question that it answers. ``path`` holds the page's title and the
    headings down to the quote's. ``lead`` is a table's header or the line that introduces a list, verbatim, where the quote needs
    it. ``start`` is the quote's offset in characters in the ``normalised`` page; -1 is unknown.
    ``cosine`` is how near it is to the question by meaning, if the search that found it says so.
    """

    id: str
    claim: str
    quote: str
    url: str
    digest: str
    anchor: str = ""
    heading: str = ""
    question: str = ""
    relevance: float = 0.0
    path: tuple[str, ...] = ()
    lead: str = ""
    start: int = -1
    cosine: float | None = None


class RejectedFact(Value):
    """A finding that was rejected, and the reason. It is kept in its event only."""

    claim: str
    quote: str
    reason: str


class Contradiction(Value):
    """Two facts from different sources that cannot both hold. ``a`` and ``b`` are fact ids."""

    id: str
    subject: str
    kind: ContradictionKind
    a: str
    b: str
    explanation: str = ""


class Gap(Value):
    """A question without a good answer; ``perspective`` is an id or ""."""

    question: str
    reason: str
    perspective: str = ""


class Sentence(Value):
    """One sentence of the report and the ids of the facts that it cites; also one step, item, table row or piece of code.

    ``quoted``: its quotes say it. ``derived``: it follows from them and none says it. ``bridge``: it cites nothing, as it
    only links others or says what the sources leave open; ``beyond``: it is the model's own knowledge. A table's row has
    ``cells`` and the ids of what each cites; its ``text`` names each cell's column. ``within``: it does not begin an item of its
    list, but goes on with the ``item`` before, or begins one in a ``list`` inside that. ``unknown`` are keys that it cites and
    that were not given out: such a sentence is unsupported.
    """

    text: str
    facts: tuple[str, ...] = ()
    basis: Basis = "quoted"
    cells: tuple[str, ...] = ()
    cell_facts: tuple[tuple[str, ...], ...] = ()
    within: Literal["", "item", "list"] = ""
    unknown: tuple[str, ...] = ()


class Paragraph(Value):
    """A paragraph of a section.

    For kind ``passages`` each sentence is a quoted passage of a source, in the format of ``pipeline.text.passages``. Prose has
    a form: in ``steps`` and ``bullets`` sentences are items, in a ``table`` a row below ``header``, in ``code`` its text.
    Steps count from ``start``: they go on behind code that stands between them. Bullets that go on inside a step have 2 there.
    """

    sentences: tuple[Sentence, ...]
    kind: Literal["prose", "passages"] = "prose"
    form: BlockForm = "paragraph"
    header: tuple[str, ...] = ()
    start: int = 1


class Verdict(Value):
    """Whether a sentence is supported by its facts. ``sentence`` counts from 0 over the whole part, or section.

    ``text`` is what the checker puts in its place, with the keys of its evidence; "" leaves it out.
    """

    sentence: int
    supported: bool
    reason: str = ""
    text: str = ""


class Addition(Value):
    """A sentence, with the keys of its evidence, that the checker adds behind the item at the place ``after``."""

    after: int
    text: str


class ReportSection(Value):
    """A section of the finished report."""

    id: str
    title: str
    paragraphs: tuple[Paragraph, ...]


class CutSentence(Value):
    """A sentence that was written and is not in the report, with its section's title and the reason."""

    section: str
    title: str
    text: str
    facts: tuple[str, ...] = ()
    reason: str = ""


class Reference(Value):
    """A cited source. ``number`` counts from 1 in order of first citation; ``facts`` are the ids of its cited facts."""

    number: int
    url: str
    title: str
    digest: str
    facts: tuple[str, ...]


class KnownSource(Value):
    """A page that an earlier session read, when; its text is the stored object ``digest``."""

    url: str
    title: str
    digest: str
    at: str = ""


class EarlierSession(Value):
    """The knowledge of an earlier session on the same query: its facts, the pages it read, and the addresses it cited.

    ``of_passages``: its report was of passages, ``facts`` are these; older logs do not say it.
    ``sources`` are those of sessions before it too, each as it was read last. ``session`` and ``reported_at`` are those of the
    latest report, also if that is of the other kind.
    """

    session: str
    reported_at: str
    facts: tuple[Fact, ...]
    sources: tuple[KnownSource, ...]
    cited: tuple[str, ...]
    of_passages: bool = False


class SourceChange(Value):
    """A source whose text changed: ``before`` and ``after`` are digests of the text.

    If ``after`` is "", the source was not read again, and ``reason`` says why.
    """

    url: str
    title: str
    before: str
    after: str = ""
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        """Whether it is a document that could not be read again because it was deleted or moved."""
        return self.url.startswith(DOCUMENTS) and self.reason.endswith(GONE)


class FactChange(Value):
    """A sentence that a source has since: ``said``, and ``before``, what it replaced; that has no quote if it replaced nothing.

    ``after`` is the id of a fact of the session that holds it, "" if none does. ``near`` is how near it is to the question, as a
    share of the nearest passage. In older logs ``before`` is a whole fact, and ``said`` may be "": then it is all of ``after``.
    """

    before: Fact
    after: str
    said: str = ""
    near: float = 0.0


class Changes(Value):
    """The differences from an earlier session, the nearest to the question first. ``added`` are ids of facts of new sources.

    ``since`` is when that ended, or when the first of the sources with a change was read last.

    Of sources that were known, ``changed`` has the sentences that bear on the question, and of an earlier fact those that are
    ``gone``; ``sources`` changed in other places. In older logs ``added`` are facts of all sources.
    ``kept`` counts the earlier facts that are still stated. Facts from sources that were not read
    again (``unread``) are not counted, but those of a deleted document are gone.

    Of two reports of passages ``kept`` counts those that both have. ``called_wrong`` counts the earlier facts that are left out
    because a person called them wrong: they are in none of these. ``first_of_kind``: one report is of passages, and the
    other a model's; then none is counted as kept. ``moved`` has the address that a source has now by the one that it had.
    """

    session: str
    since: str
    added: tuple[str, ...] = ()
    changed: tuple[FactChange, ...] = ()
    gone: tuple[Fact, ...] = ()
    sources: tuple[SourceChange, ...] = ()
    unread: tuple[SourceChange, ...] = ()
    kept: int = 0
    called_wrong: int = 0
    first_of_kind: bool = False
    moved: dict[str, str] = {}

    @property
    def rewordings(self) -> int:
        """How many sentences replaced others; the rest of ``changed`` is new."""
        return sum(bool(one.before.quote) for one in self.changed)


@dataclass(slots=True)
class Spent:
    """The cost of the session's answers so far. ``calls`` counts model calls.

    ``lost`` counts the calls whose process died before the answer; the sums include their worst case, which is ``lost_usd``.
    ``assumed_usd`` and ``expected_usd`` are as in ``Cost``, lost calls included.
    """

    calls: int = 0
    lost: int = 0
    lost_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    usd: float = 0.0
    assumed_usd: float = 0.0
    expected_usd: float = 0.0


class Episode(Value):
    """A session in short. ``at`` is when it ended, ``open`` are the questions without an answer.

    ``sentences`` are a model's two sentences about it, checked; empty if no model was asked.
    """

    at: str
    open: tuple[str, ...] = ()
    cost: Cost = Cost()
    sentences: tuple[Sentence, ...] = ()


class Statement(Value):
    """A fact that is worth remembering: it was cited, confirmed or disputed.

    ``fact`` is its id, which derives from quote and address, so sessions that found the same share it. ``digest`` is the stored
    page's.
    """

    fact: str
    claim: str
    quote: str
    url: str
    digest: str
    cited: bool = False


class Superseded(Value):
    """A statement (by fact id) that its source no longer made when it was read again."""

    fact: str


class Procedure(Value):
    """How a question was searched for, in order of the plan.

    ``queries`` led to facts that the report cites; ``fruitless`` ones led to no fact at all.
    """

    queries: tuple[str, ...] = ()
    fruitless: tuple[str, ...] = ()


class RecalledStatement(Value):
    """A statement as a new session recalls it, with the session and the day that it is from."""

    statement: Statement
    session: str
    day: str


class RecalledEpisode(Value):
    """What a model said of an earlier session on a subject like this one: its question, the day, and the sentences."""

    question: str
    day: str
    text: str


class Recalled(Value):
    """What a new session knows from earlier nights. None of it is evidence: a page must be read again to be cited."""

    statements: tuple[RecalledStatement, ...] = ()
    queries: tuple[str, ...] = ()
    fruitless: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    episodes: tuple[RecalledEpisode, ...] = ()
