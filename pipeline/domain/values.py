"""The values that events carry and questions speak of: frozen, nested, without behaviour. Leaf module."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

from pipeline.text.ranking.rank_fusion import Origin

NodeTask = Literal["search", "validate", "analyze", "synthesize"]
Mode = Literal["fast", "deep"]
ContradictionKind = Literal["number", "date", "version", "polarity", "claim"]
Standing = Literal["corroborated", "single", "disputed"]


class Value(BaseModel):
    """A frozen value. Fields that a newer version of this program added are kept; numbers that JSON cannot hold are refused."""

    model_config = ConfigDict(frozen=True, extra="allow", allow_inf_nan=False)


class Cost(Value):
    """What one outside answer cost. All zero for the embedded reasoner and the local folder.

    ``assumed_usd`` is the part of ``usd`` that no bill says: the worst cases of calls whose reply was lost or gave no account.
    ``calls`` counts the calls of a model that it took.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    total_tokens: int = 0
    usd: float = 0.0
    assumed_usd: float = 0.0
    calls: int = 0
    model_requested: str = ""
    model: str = ""


class ResearchConfig(Value):
    """The limits of one session, fixed in its first event. Counts, unless a name says otherwise."""

    mode: Mode = "deep"
    perspectives: int = 5
    questions: int = 4
    max_workers: int = 5
    iterations: int = 3
    gap_rounds: int = 1
    queries_per_thought: int = 5
    hits_per_query: int = 5
    survey_hits: int = 30
    reads_survey: bool = False
    pages_per_iteration: int = 4
    facts_per_page: int = 8
    sufficient_facts: int = 5
    max_open_gaps: int = 2
    gap_importance: float = 0.5
    context_tokens: int = 40_000
    fold_at: float = 0.75
    min_sections: int = 4
    max_sections: int = 6
    summary_words: int = 150
    report_words: int = 1_500
    attempts: int = 2
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    timeout_s: float | None = None
    reasoner: str = "extractive"
    search: tuple[str, ...] = ("local",)
    approve: str = ""


class Hit(Value):
    """One search result. ``url`` may carry a fragment: the place inside the page that matched."""

    url: str
    title: str
    snippet: str = ""
    heading: str = ""
    score: float = 0.0
    published: str = ""


class LeftOut(Value):
    """One side of a search that could not be asked, own documents or the web, and why; the other side's hits were found."""

    origin: Origin
    reason: str


class Perspective(Value):
    """A point of view that the topic is researched from. ``id`` is of ``[a-z0-9-]``."""

    id: str
    name: str
    focus: str
    questions: tuple[str, ...]
    keywords: tuple[str, ...] = ()


class PlanNode(Value):
    """One node of the plan's DAG. ``perspective`` names one for task ``search``, else ""."""

    id: str
    task: NodeTask
    description: str
    depends_on: tuple[str, ...] = ()
    perspective: str = ""


class Fact(Value):
    """A claim with the verbatim quote and the page it came from.

    ``id`` derives from quote and url, so the same find by two workers is one fact. ``url`` is the page's address
    without a fragment; ``anchor`` the place in it, or "". ``digest`` is the SHA-256 of the stored page text.
    ``relevance`` is 0 to 1, the observer's own estimate; ``question`` the worker's question it answers. ``path`` are the page's
    title and the headings down to the quote's; ``lead`` is what the quote leans on, verbatim too: a table's header, the line that
    introduces a list. ``start`` counts from 0 the characters before the quote in the page as ``normalised``
    gives it; -1 is not known. ``opens``: nothing stands between its heading and it.
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
    opens: bool = False


class RejectedFact(Value):
    """A finding that does not count, and why. It goes nowhere else."""

    claim: str
    quote: str
    reason: str


class ValidatedFact(Value):
    """What cross-checking made of a fact. ``support`` holds ids of facts from other sources that say the same."""

    fact_id: str
    standing: Standing
    support: tuple[str, ...] = ()
    sources: int = 1
    confidence: float = 0.5


class Contradiction(Value):
    """Two facts from different sources that cannot both hold. ``a`` and ``b`` are fact ids."""

    id: str
    subject: str
    kind: ContradictionKind
    a: str
    b: str
    explanation: str = ""


class Gap(Value):
    """A question without an answer, or with a weak one. ``importance`` is 0 to 1; ``perspective`` an id or ""."""

    question: str
    importance: float
    reason: str
    perspective: str = ""


class SourceQuality(Value):
    """How far a source carries: ``score`` 0 to 1, with the reasons in words. Only an ``admitted`` one may carry the report."""

    url: str
    score: float
    reasons: tuple[str, ...] = ()
    admitted: bool = True


class SectionPlan(Value):
    """One section to be written and the facts it may use."""

    id: str
    title: str
    facts: tuple[str, ...]
    purpose: str = ""


class Sentence(Value):
    """One sentence of the report and the ids of the facts it rests on."""

    text: str
    facts: tuple[str, ...] = ()


class Paragraph(Value):
    """Sentences that belong together.

    Of ``passages`` each is a whole quoted stretch of a source, in the format of ``pipeline.text.page_format``.
    """

    sentences: tuple[Sentence, ...]
    kind: Literal["prose", "passages"] = "prose"


class Verdict(Value):
    """Whether one sentence's facts support it. ``sentence`` counts from 0 over the whole section."""

    sentence: int
    supported: bool
    reason: str = ""


class ReportSection(Value):
    """A section as it stands in the report."""

    id: str
    title: str
    paragraphs: tuple[Paragraph, ...]


class Reference(Value):
    """A cited source. ``number`` counts from 1 in order of first citation; ``facts`` are the ids cited from it."""

    number: int
    url: str
    title: str
    digest: str
    facts: tuple[str, ...]


class KnownSource(Value):
    """A page as an earlier session read it; its text is the object ``digest``."""

    url: str
    title: str
    digest: str


class Earlier(Value):
    """What an earlier session on the same question knew: its facts, the pages it read, and those that its report cites."""

    session: str
    reported_at: str
    facts: tuple[Fact, ...]
    sources: tuple[KnownSource, ...]
    cited: tuple[str, ...]


class SourceChange(Value):
    """A source that says something else than it did: ``before`` and ``after`` are digests of its text.

    Without ``after`` it was not read again, for the ``reason`` given.
    """

    url: str
    title: str
    before: str
    after: str = ""
    reason: str = ""


class FactChange(Value):
    """A fact that its source no longer states, and the id of the one that it states in its place."""

    before: Fact
    after: str


class Changes(Value):
    """What is new since an earlier session. ``added``, ``noticed`` and ``FactChange.after`` are ids of this session's facts.

    ``noticed`` stood in a source before and was found only now. ``kept`` counts the earlier facts that still stand; those of
    sources that were not read again (``unread``) are in none of these.
    """

    session: str
    since: str
    added: tuple[str, ...] = ()
    noticed: tuple[str, ...] = ()
    changed: tuple[FactChange, ...] = ()
    gone: tuple[Fact, ...] = ()
    sources: tuple[SourceChange, ...] = ()
    unread: tuple[SourceChange, ...] = ()
    kept: int = 0
