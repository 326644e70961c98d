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
from pipeline.domain.research_values import Cost, Hit, ResearchConfig
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.recorder import Recorder
from pipeline.engine.stop_and_clock import RunContext
from pipeline.errors import SearchFailed
from pipeline.ports import Answer, EventStore, Page, SearchResult
from pipeline.research import StepContext
from pipeline.text.cleaning import digest_of
from tests.memory_store import MemoryStore as MemoryStore

A = TypeVar("A", bound=q.Reply)
Latency = Callable[[str], float]
START = datetime(2026, 11, 21, 2, 15, tzinfo=UTC)


def done_search(hits: Sequence[Hit], provider: str = "local") -> e.SearchCompleted:
    """A search as a state holds it."""
    return e.SearchCompleted(query="", provider=provider, hits=tuple(hits))


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


class Down(Journal):
    """Calls whose name begins so fail for good."""

    def __init__(self, beginning: str) -> None:
        super().__init__()
        self.beginning = beginning

    async def call(self, name: str) -> None:
        await super().call(name)
        if name.startswith(self.beginning):
            raise SearchFailed(f"the service for {self.beginning} is down")


def question_name(question: q.Question[Any]) -> str:
    """The name of a question in the journal; see ``event_names`` for its counterpart."""
    match question:
        case q.ReadingQuestion():
            return f"reading:{question.perspective.id}:{question.iteration}"
        case q.ReportQuestion():
            return f"report:{question.part}"
        case q.CheckQuestion():
            return f"{question.name}:{digest_of(repr(question).encode())[:8]}"
    return question.name


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
                names.add("plan")
            case e.SearchCompleted():
                names.add(f"search:{event.query}")
            case e.PageRead():
                names.add(f"read:{event.url}")
            case e.FactsObserved() if event.last:
                names.add(f"reading:{views[event.worker_id]}:{event.iteration}")
            case e.ReportWritten():
                names.add(f"report:{event.part}")
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
    doubtful: str = ""  # a first draft's sentence that holds this word is not supported

    async def answer(self, question: q.Question[A]) -> Answer[A]:
        await self.journal.call(question_name(question))
        rule = cast(Callable[[q.Question[A]], A], getattr(self, f"_{question.name}"))
        cost = Cost(input_tokens=10, output_tokens=5, total_tokens=15, usd=0.001, calls=1, model_requested="fake", model="fake")
        return Answer(rule(question), cost, question_name(question).encode())

    def _plan(self, question: q.PlanQuestion) -> q.ResearchPlan:
        views = (
            q.PlannedView(
                name=f"View {n}",
                focus="pumps",
                questions=(f"What of pump {n}?", f"And valve {n}?"),
                queries=(f"view {n}, first", f"view {n}, second", "common 1"),
            )
            for n in range(question.count)
        )
        return q.ResearchPlan(kind="explanation", perspectives=tuple(views))

    def _reading(self, question: q.ReadingQuestion) -> q.Reading:
        findings = []
        for key, page in question.pages.items():
            body = page.text.split("\n\n")[-1].strip()
            quotes = [f"{part.strip()}." for part in body.split(".") if part.strip()]
            asked = list(question.questions)
            findings += [
                q.Finding(source=key, quote=quote, question=asked[n % len(asked)], claim="") for n, quote in enumerate(quotes)
            ]
            findings.append(q.Finding(source=key, quote="This stands in no page at all."))
        number = len(question.asked)
        is_gap = question.perspective.id.startswith("gap-")
        return q.Reading(
            findings=tuple(findings),
            open_questions=("Why at all is it so?",) if is_gap else ("Q1", "How loud is it then?"),
            queries=(f"{question.perspective.id} after {number} searches",),
        )

    def _report(self, question: q.ReportQuestion) -> q.ReportText:
        lines = [f"{fact.quote.removesuffix('.')} [{key}]." for key, fact in question.facts.items()]
        if question.part == 0:
            return q.ReportText(text=f"# On {question.query}\n\n{' '.join(lines[:3])}\n\nanswered")
        body = "\n\n".join(f"## Section {n}\n\n{' '.join(lines[n::4])}" for n in range(4) if lines[n::4])
        if question.parts > 1:
            return q.ReportText(text=f"- One\n\n{body}")
        return q.ReportText(text=f"- One\n- Two\n\n# On {question.query}\n\n{' '.join(lines[:5])}\n\n{body}\n\nanswered")

    def _check(self, question: q.CheckQuestion) -> q.Check:
        wrong = [
            q.Fault(sentence=key, reason="looked", text="")
            for key, one in question.sentences.items()
            if self.doubtful and self.doubtful in one.text
        ]
        keys = list(question.facts)
        pairs = [q.Clash(first=keys[0], second=keys[-1], subject="pumps", kind="number", explanation="They differ.")]
        return q.Check(faults=tuple(wrong), contradictions=tuple(pairs if question.whole else ()))

    def _stand_alone(self, question: q.StandAloneQuestion) -> q.StandAlone:
        return q.StandAlone(question=f"{question.query} (of {question.history[-1].question if question.history else 'nothing'})")

    def _talk(self, question: q.TalkQuestion) -> q.TalkReply:
        lines = [f"{fact.quote.removesuffix('.')} [{key}]." for key, fact in list(question.facts.items())[:2]]
        return q.TalkReply(answer=" ".join(lines), follow_ups=("And then?",))

    def _episode(self, question: q.EpisodeQuestion) -> q.EpisodeText:
        lines = [f"{fact.quote.removesuffix('.')} [{key}]." for key, fact in list(question.facts.items())[:2]]
        return q.EpisodeText(episode=" ".join(lines))


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


def step_context_for(store: MemoryStore | Any, journal: Journal, **reasoner: Any) -> StepContext:
    return StepContext(
        FakeReasoner(journal, **reasoner),
        FakeSearch(journal),
        FakeFetch(journal),
        lambda digest: store.objects.get(digest).decode(),
    )


def context_for(run_id: str = "run-1", **kwargs: Any) -> RunContext:
    ticks = Ticks(prefix=run_id)
    agent = RunStarted(host="here", process=1, program="test")
    return RunContext(run_id, agent, now=ticks.now, new_id=ticks.new_id, **kwargs)


def started(query: str = "How do pumps behave?", **config: Any) -> e.ResearchStarted:
    return e.ResearchStarted(query=query, query_id="pumps", config=ResearchConfig(**{"reasoner": "a-model", **config}))


def begun(store: MemoryStore, context: RunContext, query: str = "How do pumps behave?", **config: Any) -> ResearchSession:
    """A session named ``s1`` whose start is recorded."""
    session = ResearchSession("s1")
    Recorder(session, store, context).record(started(query, **config))
    return session


def report_bytes(state: SessionState) -> bytes:
    """The report as canonical bytes, for comparing runs."""

    return state.report.model_dump_json(exclude=set(e.EventBase.model_fields)).encode() if state.report else b""
