"""Sessions whose workers share pages and know of each other, with scripted fakes at the real doors."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.domain import reasoner_questions as q
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.findings import chosen_pages
from pipeline.domain.session import ResearchSession
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.ports import Answer
from pipeline.research import Outcome, StepContext
from tests.fakes import (
    FakeFetch,
    FakeReasoner,
    FakeSearch,
    Journal,
    MemoryStore,
    context_for,
    report_bytes,
    seeded_latency,
    started,
)

SHARED: dict[str, Any] = {"shares_pages": True, "reads_first_hits": True, "sufficient_facts": 999}


class Asked(FakeReasoner):
    """Keeps each question as text."""

    questions: list[str]

    async def answer(self, question: q.Question[Any]) -> Answer[Any]:
        self.questions = [*getattr(self, "questions", ()), f"{question.name} {question.model_dump_json()}"]
        return await super().answer(question)

    def of(self, name: str) -> list[str]:
        return sorted(text for text in self.questions if text.startswith(f"{name} "))


def research(asked: Asked, store: MemoryStore | None = None, **config: Any) -> SessionState:
    store, context = store or MemoryStore(), context_for()
    session = ResearchSession("s1")
    Recorder(session, store, context).record([Outcome((started(**SHARED | config),))])
    return asyncio.run(run_session(session, store, desk(asked, store), context))


def desk(asked: Asked, store: MemoryStore) -> StepContext:
    search, fetch = FakeSearch(asked.journal), FakeFetch(asked.journal)
    return StepContext(asked, search, fetch, lambda digest: store.get(digest).decode())


@pytest.fixture(scope="module")
def in_order() -> tuple[Asked, bytes]:
    asked = Asked(Journal())
    return asked, report_bytes(research(asked))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("workers", [5, 2])
def test_neither_report_nor_questions_depend_on_which_step_ends_first(seed: int, workers: int) -> None:
    first, other = Asked(Journal()), Asked(Journal(latency=seeded_latency(seed)))
    reports = [report_bytes(research(asked, max_workers=workers)) for asked in (first, other)]
    assert reports[0] == reports[1]
    for name in ("thought", "observation", "evaluation", "gaps"):
        assert other.of(name) == first.of(name)


def test_a_page_is_observed_once_for_the_questions_of_all_perspectives() -> None:
    asked, store = Asked(Journal()), MemoryStore()
    state = research(asked, store)
    pages = [name for name in asked.journal.calls if name.startswith("observation:page:")]
    assert len(pages) == len(set(pages)) == len(state.observed)
    chosen = [{url for n in range(1, len(w.iterations) + 1) for url in chosen_pages(state, w, n)} for w in state.workers.values()]
    assert any(sum(url in pages for pages in chosen) > 1 for url in state.observed), "no page was chosen twice"
    events = [event for event in decode_all(record.data for record in store.load("s1")) if isinstance(event, e.FactsObserved)]
    assert all(event.shared for event in events)


def test_wrong_quotes_go_back_to_their_page_once() -> None:
    asked = Asked(Journal())
    state = research(asked)
    rest = [name for name in asked.journal.calls if name.startswith("observation:rest:")]
    assert len(rest) == len(set(rest)) == len(state.observed)
    assert all(seen.part == 2 for seen in state.observed.values())


def test_a_gap_worker_knows_what_the_workers_before_it_did(in_order: tuple[Asked, bytes]) -> None:
    thoughts = [q.ThoughtQuestion.model_validate_json(text.partition(" ")[2]) for text in in_order[0].of("thought")]
    gap = next(thought for thought in thoughts if thought.perspective.id.startswith("gap-") and thought.iteration == 1)
    assert "common 1" in gap.others.queries
    assert len(gap.others.pages) > 4
    assert len(gap.others.facts) > 10


def test_a_thought_is_told_the_searches_of_the_iteration_before_and_the_facts_of_those_before_that(
    in_order: tuple[Asked, bytes],
) -> None:
    thoughts = [q.ThoughtQuestion.model_validate_json(text.partition(" ")[2]) for text in in_order[0].of("thought")]
    by_iteration = {
        n: [one for one in thoughts if one.iteration == n and one.perspective.id.startswith("view-")] for n in (1, 2, 3)
    }
    assert all(one.others == q.OthersWork() for one in by_iteration[1])
    assert all(one.others.queries and one.others.pages and not one.others.facts for one in by_iteration[2])
    assert all(one.others.facts for one in by_iteration[3])


class ThinksAhead(Asked):
    """Says with each evaluation what to search for next."""

    def _evaluation(self, question: q.EvaluationQuestion) -> q.Evaluation:
        queries = (f"{question.perspective.id} next {question.iteration}", *question.asked, "common next")
        said = super()._evaluation(question)
        return said.model_copy(update={"reason": "More is wanted.", "queries": queries[: question.limit]})


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("workers", [5, 2])
def test_an_evaluation_that_thinks_ahead_saves_the_next_thought_in_any_order_of_events(seed: int, workers: int) -> None:
    store = MemoryStore()
    first, other = ThinksAhead(Journal()), ThinksAhead(Journal(latency=seeded_latency(seed)))
    reports = [report_bytes(research(first, store, max_workers=workers)), report_bytes(research(other, max_workers=workers))]
    assert reports[0] == reports[1]
    assert other.of("evaluation") == first.of("evaluation")
    thoughts = [q.ThoughtQuestion.model_validate_json(text.partition(" ")[2]) for text in first.of("thought")]
    assert {thought.iteration for thought in thoughts} == {1}
    later = [event for event in _events(store) if isinstance(event, e.WorkerThought) and event.iteration == 2]
    assert later
    assert all(event.reasoning == "More is wanted." and not event.exchange for event in later)
    made = [(event.worker_id, query) for event in _events(store) if isinstance(event, e.WorkerThought) for query in event.queries]
    assert len(set(made)) == len(made), "a worker searched twice for the same"


def test_with_a_model_the_last_iteration_is_not_evaluated(in_order: tuple[Asked, bytes]) -> None:
    iterations = {
        q.EvaluationQuestion.model_validate_json(text.partition(" ")[2]).iteration for text in in_order[0].of("evaluation")
    }
    assert iterations == {1, 2}
    asked = Asked(Journal())
    research(asked, shares_pages=False)
    assert any('"iteration":3' in text for text in asked.of("evaluation"))


def _events(store: MemoryStore) -> list[Any]:
    return list(decode_all(record.data for record in store.load("s1")))


def test_a_session_that_stops_after_any_event_resumes_to_the_same_report(in_order: tuple[Asked, bytes]) -> None:
    whole = MemoryStore()
    research(Asked(Journal()), whole)
    records = whole.streams["s1"]
    for cut in range(3, len(records) - 1, 29):
        store = MemoryStore()
        store.streams["s1"], store.objects = list(records[:cut]), dict(whole.objects)
        resumed = ResearchSession.open(store, "s1")
        state = asyncio.run(run_session(resumed, store, desk(Asked(Journal()), store), context_for("run-2")))
        assert report_bytes(state) == in_order[1]


def test_a_long_session_folds_its_contexts_and_loses_no_fact() -> None:
    asked, store = Asked(Journal()), MemoryStore()
    whole = research(Asked(Journal()), iterations=8, max_open_gaps=0)
    state = research(asked, store, iterations=8, max_open_gaps=0, context_tokens=1_000)
    events = [event for event in decode_all(record.data for record in store.load("s1")) if isinstance(event, e.ContextFolded)]
    assert len(events) >= 5
    assert all(event.tokens_before > 750 > 125 >= event.tokens_after for event in events)
    assert all(worker.folds == 0 for worker in whole.workers.values())
    evaluations = [q.EvaluationQuestion.model_validate_json(text.partition(" ")[2]) for text in asked.of("evaluation")]
    fresh = [[fact for fact in one.facts if fact.id not in one.context.folded] for one in evaluations]
    assert max(map(len, fresh)) < max(len(one.facts) for one in evaluations)
    assert state.report is not None
    assert len(state.facts) == len(whole.facts)
