"""Scripted stand-ins that come in by the real doors: a world of pages, a reasoner with rules, and the store of ``memory_store``.

Every answer is a function of its question alone. ``Journal`` notes each call under a name that an event can be mapped to as
well, so a test can tell whether an answer that was recorded was asked for again.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from pipeline.domain import reasoner_questions as q
from pipeline.domain.events import session_events as e
from pipeline.domain.events.session_events import RunStarted
from pipeline.domain.reasoner_questions.memory_questions import (
    EpisodeQuestion,
    EpisodeSentences,
)
from pipeline.domain.reasoner_questions.talk_questions import StandAlone, StandAloneQuestion, TalkQuestion, TalkReply
from pipeline.domain.state import SessionState
from pipeline.domain.values import (
    Contradiction,
    Cost,
    Gap,
    Hit,
    Paragraph,
    Perspective,
    ResearchConfig,
    SectionPlan,
    Sentence,
    ValidatedFact,
    Value,
    Verdict,
)
from pipeline.engine.run_context import RunContext
from pipeline.ports import Answer, EventStore, Page, SearchResult
from pipeline.research import StepContext
from pipeline.text.normalise import digest_of
from tests.memory_store import MemoryStore as MemoryStore

A = TypeVar("A", bound=Value)
Latency = Callable[[str], float]
START = datetime(2026, 11, 21, 2, 15, tzinfo=UTC)


def no_latency(_name: str) -> float:
    return 0.0


def seeded_latency(seed: int, most: float = 0.004) -> Latency:
    """A latency in seconds that depends on the call's name and the seed only."""
    return lambda name: most * (int.from_bytes(hashlib.sha256(f"{seed}:{name}".encode()).digest()[:4], "big") / 2**32)


@dataclass
class Journal:
    """The calls made, by name, in order; ``note`` may write them elsewhere."""

    calls: list[str] = field(default_factory=list)
    note: Callable[[str], None] = lambda _name: None
    latency: Latency = no_latency
    faults: dict[str, list[Exception]] = field(default_factory=dict)

    async def call(self, name: str) -> None:
        self.calls.append(name)
        self.note(name)
        await asyncio.sleep(self.latency(name))
        if self.faults.get(name):
            raise self.faults[name].pop(0)


def question_name(question: q.Question[Any]) -> str:
    """The name of a question in the journal; see ``event_name`` for its counterpart."""
    match question:
        case q.ThoughtQuestion():
            return f"thought:{question.perspective.id}:{question.iteration}"
        case q.ObservationQuestion():
            view = question.perspectives[0]
            own = view.id if question.part == "page" and len(question.perspectives) == 1 else question.part
            return f"observation:{view.questions[0] if question.part == 'gap' else own}:{question.url}"
        case q.EvaluationQuestion():
            return f"evaluation:{question.perspective.id}:{question.iteration}"
        case q.FoldQuestion():
            return f"fold:{question.perspective.id}:{len(question.facts)}"
        case q.SectionQuestion():
            return f"section:{question.section.id}:0"
        case q.RevisionQuestion():
            return f"revision:{question.section.id}"
        case q.ClaimCheckQuestion():
            return f"check:{digest_of(repr(question.sentences).encode())[:8]}"
        case q.GapsQuestion() | q.CrossCheckQuestion():
            return f"{question.name}:{len(_ids(question))}"
    return question.name


def _ids(question: q.GapsQuestion | q.CrossCheckQuestion) -> set[str]:
    if isinstance(question, q.GapsQuestion):
        return {fact.id for fact in question.facts}
    return {fact.id for group in question.groups for fact in group}


def event_names(events: Sequence[e.EventBase], views: dict[str, str]) -> set[str]:
    """The journal names of the answers that these events hold; ``views`` maps worker ids to perspective ids."""
    names: set[str] = set()
    for event in events:
        match event:
            case e.WorkerStarted():
                views[event.worker_id] = event.perspective_id
            case e.TopicSurveyed():
                names.add("survey")
            case e.PlanCreated():
                names.add("perspectives")
            case e.WorkerThought():
                names.add(f"thought:{views[event.worker_id]}:{event.iteration}")
            case e.SearchCompleted():
                names.add(f"search:{event.query}")
            case e.PageRead():
                names.add(f"read:{event.url}")
            case e.FactsObserved():
                who = ("page" if event.part == 1 else "rest") if event.shared else views[event.worker_id]
                names.add(f"observation:{who}:{event.url}")
            case e.WorkerEvaluated():
                names.add(f"evaluation:{views[event.worker_id]}:{event.iteration}")
            case e.OutlineCreated():
                names.add("outline")
            case e.SectionWritten():
                names.add(f"section:{event.section_id}:0")
    return names


@dataclass
class FakeSearch:
    """A query finds ``limit`` of ``pages`` pages, by its hash. The first search of all is the survey."""

    journal: Journal
    pages: int = 24

    async def search(self, query: str, limit: int) -> SearchResult:
        await self.journal.call("survey" if limit > 20 else f"search:{query}")
        first = int.from_bytes(hashlib.sha256(query.encode()).digest()[:4], "big")
        numbers = dict.fromkeys((first + 7 * step) % self.pages for step in range(limit))
        hits = tuple(Hit(url=f"corpus:page-{number}.md#part", title=f"Page {number}") for number in numbers)
        return SearchResult("fake", hits)


@dataclass
class FakeFetch:
    """Page n: statements of its own and one that it shares with its neighbour."""

    journal: Journal

    async def read(self, url: str) -> Page:
        await self.journal.call(f"read:{url}")
        number = int(url.removeprefix("corpus:page-").removesuffix(".md"))
        own = " ".join(f"Pump {number} delivers {10 * number + part} litres in mode {part}." for part in range(3))
        shared = f"Valve {number // 2} opens at {40 + number // 2} degrees in the cold test."
        return Page(url, f"Page {number}", f"# Page {number}\n\n## How pumps and valves behave {{#part}}\n\n{own} {shared}\n")


@dataclass
class FakeReasoner:
    """Rules instead of a model. Each answer costs 10 + 5 tokens and 0.001 USD, and leaves an exchange."""

    journal: Journal
    name: str = "fake"
    doubtful: str = ""  # a first draft's sentence that holds this word is not supported

    async def answer(self, question: q.Question[A]) -> Answer[A]:
        await self.journal.call(question_name(question))
        rule = cast(Callable[[q.Question[A]], A], getattr(self, f"_{question.name}"))
        cost = Cost(input_tokens=10, output_tokens=5, total_tokens=15, usd=0.001, calls=1, model_requested="fake", model="fake")
        return Answer(rule(question), cost, question_name(question).encode())

    def _perspectives(self, question: q.PerspectivesQuestion) -> q.Perspectives:
        views = (
            Perspective(id=f"view-{n}", name=f"View {n}", focus="pumps", questions=(f"What of pump {n}?", f"And valve {n}?"))
            for n in range(question.count)
        )
        return q.Perspectives(perspectives=tuple(views))

    def _thought(self, question: q.ThoughtQuestion) -> q.Thought:
        stem = f"{question.perspective.id} after {len(question.facts)} facts"
        shared = f"common {question.iteration}"
        return q.Thought(reasoning="Go on.", queries=(f"{stem}, first", f"{stem}, second", shared))

    def _observation(self, question: q.ObservationQuestion) -> q.Observation:
        if question.part != "page":
            return q.Observation(findings=())
        body = question.text.split("\n\n")[-1].strip()
        quotes = [f"{part.strip()}." for part in body.split(".") if part.strip()]
        asked = [text for view in question.perspectives for text in view.questions]
        findings = [q.Finding(claim=quote, quote=quote, question=asked[n % len(asked)]) for n, quote in enumerate(quotes)]
        return q.Observation(findings=(*findings, q.Finding(claim="Made up.", quote="This stands in no page at all.")))

    def _evaluation(self, question: q.EvaluationQuestion) -> q.Evaluation:
        open_count = 3 - question.iteration
        return q.Evaluation(gaps=tuple(f"open {n} of {question.perspective.id}" for n in range(max(0, open_count))))

    def _cross_check(self, question: q.CrossCheckQuestion) -> q.CrossCheck:
        entries = []
        for group in question.groups:
            for fact in group:
                same = tuple(o.id for o in group if o.quote == fact.quote and question.origins[o.id] != question.origins[fact.id])
                entries.append(ValidatedFact(fact_id=fact.id, standing="single", support=same, confidence=0.9))
        pairs = [
            Contradiction(id="", subject="pumps", kind="number", a=group[0].id, b=group[-1].id, explanation="They differ.")
            for group in question.groups[:1]
        ]
        return q.CrossCheck(facts=tuple(entries), contradictions=tuple(pairs))

    def _gaps(self, question: q.GapsQuestion) -> q.Gaps:
        if any(view.id.startswith("gap-") for view in question.perspectives):
            return q.Gaps(gaps=(Gap(question="Why at all?", importance=0.3, reason="no fact"),))
        return q.Gaps(gaps=(Gap(question="How loud is it?", importance=0.9, reason="no fact"),))

    def _outline(self, question: q.OutlineQuestion) -> q.Outline:
        ids = [fact.id for fact in question.facts]
        size = max(1, len(ids) // 4)
        plans = [SectionPlan(id=f"s{n}", title=f"Section {n}", facts=tuple(ids[n * size : (n + 1) * size][:8])) for n in range(4)]
        return q.Outline(title=f"On {question.query}", sections=tuple(plan for plan in plans if plan.facts))

    def _section(self, question: q.SectionQuestion) -> q.SectionText:
        facts = [fact for fact in question.facts if fact.id in question.section.facts]
        facts = facts[: 5 if question.section.id == "summary" else 8]
        sentences = tuple(Sentence(text=fact.quote, facts=(fact.id,)) for fact in facts)
        return q.SectionText(paragraphs=(Paragraph(sentences=sentences),))

    def _claim_check(self, question: q.ClaimCheckQuestion) -> q.ClaimCheck:
        return q.ClaimCheck(
            verdicts=tuple(
                Verdict(sentence=n, supported=not (self.doubtful and self.doubtful in sentence.text), reason="looked")
                for n, sentence in enumerate((*question.sentences, *(Sentence(text=text) for text in question.headings)))
            )
        )

    def _revision(self, question: q.RevisionQuestion) -> q.Revision:
        return q.Revision(edits=tuple(q.Edit(place=n, drop=True) for n in range(len(question.sentences))))

    def _editing(self, _question: q.EditingQuestion) -> q.Editing:
        return q.Editing()

    def _fold(self, question: q.FoldQuestion) -> q.FoldedContext:
        return q.FoldedContext(summary=f"{len(question.facts)} facts so far")

    def _stand_alone(self, question: StandAloneQuestion) -> StandAlone:
        return StandAlone(question=f"{question.query} (of {question.history[-1].question if question.history else 'nothing'})")

    def _talk(self, question: TalkQuestion) -> TalkReply:
        sentences = tuple(Sentence(text=fact.quote, facts=(fact.id,)) for fact in question.facts[:2])
        return TalkReply(sentences=sentences, follow_ups=("And then?",))

    def _episode(self, question: EpisodeQuestion) -> EpisodeSentences:
        return EpisodeSentences(sentences=tuple(Sentence(text=fact.quote, facts=(fact.id,)) for fact in question.facts[:2]))


def batches(store: EventStore) -> list[str]:
    """The ids of all nights, sorted."""
    return list(store.ids("batch"))


@dataclass
class Ticks:
    """A clock that goes on by a second with each reading, and ids that count."""

    prefix: str = "run"
    moment: datetime = START
    count: int = 0

    def now(self) -> datetime:
        self.moment += timedelta(seconds=1)
        return self.moment

    def new_id(self) -> str:
        self.count += 1
        return f"{self.prefix}-{self.count:05d}"


def desk_for(store: MemoryStore | Any, journal: Journal, **reasoner: Any) -> StepContext:
    return StepContext(
        FakeReasoner(journal, **reasoner), FakeSearch(journal), FakeFetch(journal), lambda digest: store.get(digest).decode()
    )


def context_for(run_id: str = "run-1", **kwargs: Any) -> RunContext:
    ticks = Ticks(prefix=run_id)
    agent = RunStarted(host="here", process=1, program="test")
    return RunContext(run_id, agent, now=ticks.now, new_id=ticks.new_id, **kwargs)


def started(query: str = "How do pumps behave?", **config: Any) -> e.ResearchStarted:
    return e.ResearchStarted(query=query, query_id="pumps", config=ResearchConfig(**{"reasoner": "a-model", **config}))


def report_bytes(state: SessionState) -> bytes:
    """The report as canonical bytes, for comparing runs."""
    from pydantic import TypeAdapter

    return TypeAdapter(Any).dump_json(state.report)
