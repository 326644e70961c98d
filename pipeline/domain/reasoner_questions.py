"""The questions that a reasoner answers and its answers, as frozen values; each type of question has one type of answer.

A question contains everything on which its answer may depend, so an answer is a function of the question (and of the model).
A language model answers it with the prompt template of the question's ``name``. The type of the answer is also what the model is
sent as the schema and what its reply is read into: every text and list has a bound, and what exceeds it is cut off, not refused.
A description is given only where the prompt does not say what a field holds.

Whatever may be cited has a key that the question gives out: ``E3`` for a fact, ``S1`` for a page, ``Q2`` for a question, ``T4``
for a sentence. The answer names keys alone; who asked knows what they stand for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from pipeline.domain.research_values import AnswerKind, ContradictionKind, Fact, Hit, Perspective, Recalled, Value
from pipeline.text.cleaning import clean, grouped


class Reply(BaseModel):
    """The base of all answers. A field too many is ignored, and NaN refused."""

    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False)


A_co = TypeVar("A_co", bound=Reply, covariant=True)

_LONGEST_WORD = 100  # characters; a longer run has no words: text of a script without spaces, or data


def cut(most: int) -> BeforeValidator:
    """Return what cuts a text, or a list, to its first ``most`` characters, in whole words, or entries."""

    def first(value: Any) -> Any:
        if not isinstance(value, str):
            return value[:most] if isinstance(value, list | tuple) else value
        text = clean(value)
        end = max(text.rfind(sign, max(0, most - _LONGEST_WORD), most + 1) for sign in " \n")
        return text if len(text) <= most else text[: end if end > 0 else most].rstrip()

    return BeforeValidator(first)


Word = Annotated[str, Field(max_length=12), cut(12)]  # a key
Name = Annotated[str, Field(max_length=120), cut(120)]
Query = Annotated[str, Field(max_length=200), cut(200)]
Line = Annotated[str, Field(max_length=400), cut(400)]
Passage = Annotated[str, Field(max_length=2_000), cut(2_000)]
Document = Annotated[str, Field(max_length=60_000), cut(60_000)]
Keys = Annotated[tuple[Word, ...], Field(max_length=60), cut(60)]


def key_of(said: str) -> str:
    """Return a key as it was given out, from what an answer says."""
    return said.strip("[]() ").upper()


class Question(Value, Generic[A_co]):
    """The base of all questions.

    ``name`` is the prompt template's stem, ``answer_type`` the type of the answer, ``query`` the user's query. ``is_text``: the
    answer is a text and not JSON; it becomes the only field of ``answer_type``.
    """

    name: ClassVar[str]
    answer_type: ClassVar[type[Reply]]
    is_text: ClassVar[bool] = False

    query: str

    def fault(self, _answer: Any) -> str:
        """Return why an answer cannot be used although it has the right form, in words that a model can act on; "" if it can."""
        return ""


class PlannedView(Reply):
    """One point of view: what it wants to know, the first searches for it, and the keys of the pages that are read first."""

    name: Name
    focus: Line = ""
    questions: Annotated[tuple[Line, ...], Field(max_length=4), cut(4)]
    queries: Annotated[tuple[Query, ...], Field(max_length=4), cut(4)] = ()
    pages: Annotated[tuple[Word, ...], Field(max_length=4), cut(4)] = ()


class ResearchPlan(Reply):
    """What kind of answer the question wants, and the points of view from which it is researched."""

    kind: AnswerKind = "overview"
    recent: bool = Field(default=False, description="whether newer pages are worth more than older ones")
    perspectives: Annotated[tuple[PlannedView, ...], Field(max_length=5), cut(5)]


class PlanQuestion(Question[ResearchPlan]):
    """What kind of answer is wanted, and from which points of view, at most ``count``, should this be researched?

    Each has at most ``questions`` questions. ``hits`` are those of a search for the query. ``recalled`` is what earlier nights
    found, ``earlier`` what the last report on the same query rested on, finished on ``earlier_on``; neither is evidence now.
    """

    name = "plan"
    answer_type = ResearchPlan
    hits: tuple[Hit, ...]
    count: int
    questions: int
    today: str = ""
    recalled: Recalled = Recalled()
    earlier: tuple[Fact, ...] = ()
    earlier_on: str = ""

    @property
    def pages(self) -> dict[str, list[Hit]]:
        """The hits by the key of their page, the page with the best one first."""
        found = grouped((hit.url.partition("#")[0], hit) for hit in self.hits)
        return {f"S{number}": hits for number, hits in enumerate(found.values(), start=1)}

    def perspectives(self, plan: ResearchPlan, first: str) -> Iterator[Perspective]:
        """Yield the views of a plan with the addresses of their pages; ``first`` is the id of the first, the others have none."""
        pages = self.pages
        for place, view in enumerate(plan.perspectives):
            urls = tuple(pages[key][0].url.partition("#")[0] for key in map(key_of, view.pages) if key in pages)
            yield Perspective(id="" if place else first, **dict(view) | {"pages": urls})

    def fault(self, answer: Any) -> str:
        """At least one view must have a name and a question."""
        usable = any(view.name.strip() and any(map(str.strip, view.questions)) for view in answer.perspectives)
        return "" if usable else "No perspective has a name and a question."


class Finding(Reply):
    """A quote of a page. It becomes a fact only if the page contains it.

    ``claim`` says what the quote is about where it does not name its subject, else it is empty.
    """

    source: Word = "S1"
    quote: Passage
    claim: Line = ""
    question: Word = ""


class Reading(Reply):
    """What the pages say, the most important first; which questions are still open; what to search for next."""

    findings: Annotated[tuple[Finding, ...], Field(max_length=60), cut(60)]
    open_questions: Annotated[tuple[Line, ...], Field(max_length=12), cut(12)] = ()
    queries: Annotated[tuple[Query, ...], Field(max_length=6), cut(6)] = ()


class ShownPage(Value):
    """A page as a prompt shows it: ``text`` is the page or parts of it, with a mark where something is left out."""

    url: str
    title: str
    text: str
    published: str = ""


class ReadingQuestion(Question[Reading]):
    """What do these ``pages`` (by key) say to the query and to the ``questions`` (by key)?

    ``perspective`` is the point of view of the worker that asks. ``known`` are claims found before, ``asked`` the searches made.
    Only if the research ``goes_on`` are the searches made that the answer names.
    """

    name = "reading"
    answer_type = Reading
    perspective: Perspective
    questions: Mapping[str, str]
    pages: Mapping[str, ShownPage]
    iteration: int = 1
    asked: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    today: str = ""
    goes_on: bool = True


class EvidenceQuestion(Question[A_co]):
    """The base of the questions about a report: what they are shown is the same to the byte up to the end of the evidence.

    ``facts`` are by key; ``published`` are the dates of pages by address; ``more`` counts facts that other parts are shown.
    ``room`` is how many tokens of the facts are shown, if not all: of the others the text that cites them is.
    """

    facts: Mapping[str, Fact]
    published: Mapping[str, str] = Field(default_factory=dict)
    more: int = 0
    room: int = 1_000_000
    today: str = ""


class ReportText(Reply):
    """A report, or a part of one, in Markdown with keys behind its sentences; ``pipeline.research.report_parsing`` reads it."""

    text: Document


class ReportQuestion(EvidenceQuestion[ReportText]):
    """Write the report in at most ``words`` words.

    ``kind`` is the kind of answer that is wanted. ``unknown`` are the questions that the pages read left open. Of a report in
    several parts, ``part`` (from 1) of ``parts`` has sections alone, on the questions ``on``, and part 0 is the beginning: title,
    summary and last line, with ``written``, the report's sentences. ``beyond``: a closing block from the model's own knowledge is
    wanted.
    """

    name = "report"
    answer_type = ReportText
    is_text = True
    kind: AnswerKind = "overview"
    unknown: tuple[str, ...] = ()
    words: int = 1_500
    part: int = 1
    parts: int = 1
    on: tuple[str, ...] = ()
    written: tuple[str, ...] = ()
    beyond: bool = False

    def fault(self, answer: Any) -> str:
        """There must be a heading, and something must be cited, or it must be said that nothing answers."""
        if not any(line.startswith("#") for line in answer.text.split("\n")):
            return "No line begins with # as a heading does."
        cites = any(f"[{key}" in answer.text or f"{key}]" in answer.text for key in self.facts)
        return "" if cites or "not answered" in answer.text.lower() else "No sentence cites a key of the evidence."


class Fault(Reply):
    """A sentence that its evidence does not support, and the sentence in its place; an empty text leaves it out."""

    sentence: Word = Field(description="key of the sentence")
    reason: Line = ""
    text: Passage = ""


class Lack(Reply):
    """An important fact that the report does not use, and the sentence that brings it in behind another one."""

    evidence: Word = Field(description="key of the evidence")
    reason: Line = ""
    after: Word = ""
    text: Passage = ""


class Unfound(Reply):
    """A sentence that says only what was not found, and the open question that says so too."""

    sentence: Word = Field(description="key of the sentence")
    question: Word = ""


class Clash(Reply):
    """Two pieces of evidence that contradict each other."""

    first: Word
    second: Word
    subject: Name
    kind: ContradictionKind = "claim"
    explanation: Line = ""


class Check(Reply):
    """What is wrong with a report, and what belongs there. ``claimless`` are the sentences without evidence that need none."""

    faults: Annotated[tuple[Fault, ...], Field(max_length=60), cut(60)]
    claimless: Keys = Field(default=(), description="keys of the sentences that cite nothing and claim nothing")
    unfound: Annotated[tuple[Unfound, ...], Field(max_length=12), cut(12)] = ()
    missing: Annotated[tuple[Lack, ...], Field(max_length=12), cut(12)] = ()
    contradictions: Annotated[tuple[Clash, ...], Field(max_length=12), cut(12)] = ()
    overstated: Keys = ()
    answered: Keys = ()
    outcome: Literal["answered", "in-part", "not-answered"] = "answered"


class CheckedSentence(Value):
    """A sentence to be checked, with the keys that it cites. ``warning`` is what code noticed, ``cites`` how it cites."""

    text: str
    keys: tuple[str, ...] = ()
    cites: Literal["quoted", "derived", "nothing", "heading"] = "quoted"
    warning: str = ""


class CheckQuestion(EvidenceQuestion[Check]):
    """Which of these ``sentences`` (by key) are not supported by what they cite, and what do their quotes say?

    ``whole``: they are a whole report; then corrections, missing facts, contradictions and the outcome are asked for too, and
    which of the ``unknown`` questions (by key) the evidence answers. Else only the faults.
    """

    name = "check"
    answer_type = Check
    sentences: Mapping[str, CheckedSentence]
    whole: bool = True
    unknown: Mapping[str, str] = Field(default_factory=dict)


class PastTurn(Value):
    """A question that was answered before, in words that stand alone, and the text of its answer ("" if there was none)."""

    question: str
    answer: str = ""


class StandAlone(Reply):
    """A question that can be understood without those before it."""

    question: Line


class TalkReply(Reply):
    """An answer in sentences with keys; empty if the facts do not say. ``follow_ups`` are questions that it suggests."""

    answer: Passage
    follow_ups: Annotated[tuple[Line, ...], Field(max_length=3), cut(3)] = ()


class StandAloneQuestion(Question[StandAlone]):
    """What does ``query`` ask, in words that stand alone?

    ``history`` are the last turns, the latest last; ``folded`` are the questions before them. ``subject`` is the question that
    the talk is about, or "".
    """

    name = "stand_alone"
    answer_type = StandAlone
    history: tuple[PastTurn, ...] = ()
    folded: tuple[str, ...] = ()
    subject: str = ""


class TalkQuestion(EvidenceQuestion[TalkReply]):
    """Answer ``query`` from ``facts`` in at most ``words`` words."""

    name = "talk"
    answer_type = TalkReply
    words: int = 120
    history: tuple[PastTurn, ...] = ()


class EpisodeText(Reply):
    """What a session found, in sentences with keys; empty if the facts say nothing worth keeping."""

    episode: Passage = ""


class EpisodeQuestion(EvidenceQuestion[EpisodeText]):
    """What did the session on ``query`` find? At most ``count`` sentences with ``words`` words in all, each from ``facts``.

    ``open`` are the questions that it left open; ``today`` is the day on which it ended.
    """

    name = "episode"
    answer_type = EpisodeText
    open: tuple[str, ...] = ()
    count: int = 2
    words: int = 60
