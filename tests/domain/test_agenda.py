"""What may be done now: pure, and sound along every schedule that chance and failing services can make."""

from __future__ import annotations

import asyncio
import random
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pipeline.domain import fold
from pipeline.domain import steps as s
from pipeline.domain.agenda import agenda
from pipeline.domain.events import session_events as e
from pipeline.domain.research_values import Gap, Hit
from pipeline.domain.session import ResearchSession, stamped
from pipeline.domain.session_state import SessionState
from pipeline.research import StepResult
from pipeline.research.performing import perform, perform_pure
from pipeline.research.planning_and_searching import find_gaps
from tests.fakes import Journal, MemoryStore, done_search, started, step_context_for
from tests.recorded import SMALL, after, before, stream
from tests.seeds import FULL

GATHERING = (
    s.Survey, s.Plan, s.StartWorker, s.NextRound, s.SearchFor, s.FetchPage, s.ReadPages, s.PlainReading, s.ExtendPlan,
)  # fmt: skip
WORK = s.StartWorker | s.NextRound | s.ReadPages | s.PlainReading
BOUND = 400  # steps of a session as small as these


@dataclass
class Walk:
    """One session on a random schedule: steps are taken up and end in any order, and fail with ``failing`` in a hundred."""

    seed: int
    failing: int = 0
    exhausted_at: int = -1
    cancelled_at: int = -1
    config: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.session, self.store = ResearchSession("s1"), MemoryStore()
        self.step_context = step_context_for(self.store, Journal())
        self.under_way: dict[s.Step, StepResult] = {}
        self.recorded: set[str] = set()
        self.record(StepResult((e.RunStarted(run_id="run-1"), started(**{**SMALL, **self.config}))))

    @property
    def state(self) -> SessionState:
        return self.session.state

    def record(self, result: StepResult) -> None:
        for data in result.objects:
            self.store.objects.put(data)
        for draft in result.drafts:
            number = f"{self.state.version + 1:05d}"
            version = self.session.state.version + 1
            self.session.record(stamped(draft, self.session.id, version, "run-1", number, "2026-11-21T02:15:00.000Z"))

    async def go(self) -> SessionState:
        for count in range(BOUND):
            self.interfere(count)
            offered = agenda(self.state)
            self.check(offered)
            if not offered:
                assert not self.under_way
                return self.state
            await self.act(offered)
        raise AssertionError(f"no end after {BOUND} steps: {agenda(self.state)}")

    def interfere(self, count: int) -> None:
        """As the loop does, a cap is recorded only while nothing is under way."""
        if count >= self.exhausted_at >= 0 and not self.under_way and not self.state.synthesis and not self.state.ended:
            self.record(StepResult((e.BudgetExhausted(cap="usd", limit="1", spent="1"),)))
            self.exhausted_at = -1
        if count == self.cancelled_at and not self.state.ended:
            self.under_way.clear()
            self.record(StepResult((e.ResearchCancelled(), e.ResearchReopened())))
            self.recorded = {key for key in self.recorded if not key.startswith(("Fail", "FinishWorker"))}

    async def act(self, offered: tuple[s.Step, ...]) -> None:
        pure = [step for step in offered if step.pure]
        fresh = [step for step in offered if step not in self.under_way]
        if pure:
            for step in pure:
                self.end(step, perform_pure(step, self.state))
        elif fresh and (not self.under_way or self.random.random() < 0.6):
            step = self.random.choice(fresh)
            self.under_way[step] = await self.result(step)
        else:
            step = self.random.choice(list(self.under_way))
            self.end(step, self.under_way.pop(step))

    async def result(self, step: s.Step) -> StepResult:
        if self.random.randrange(100) >= self.failing:
            return await perform(step, self.state, self.step_context)
        earlier = self.state.failures.get(step.key)
        attempt = 1 + (earlier.attempts if earlier else 0)
        again = attempt < 2 and self.random.random() < 0.5
        failure = e.StepFailed(step=step.key, error="SearchFailed", message="no", recoverable=again, attempt=attempt)
        return StepResult((failure,))

    def end(self, step: s.Step, result: StepResult) -> None:
        self.record(result)
        if not isinstance(result.drafts[0], e.StepFailed):
            self.recorded.add(step.key)

    def check(self, offered: tuple[s.Step, ...]) -> None:
        """What holds of every agenda."""
        state = self.state
        keys = [step.key for step in offered]
        assert len(keys) == len(set(keys))
        assert not self.recorded.intersection(keys)
        assert not any(state.failed_for_good(key) for key in keys)
        assert bool(keys) != state.ended
        at_work = {step.worker_id for step in offered if isinstance(step, WORK)}
        assert len(at_work) <= state.config.max_workers
        if self.cancelled_at < 0:
            assert sum(worker.status == "running" for worker in state.workers.values()) <= state.config.max_workers
        if state.exhausted:
            assert not any(isinstance(step, GATHERING) for step in offered)
        if any(key.startswith("StartWorker:gap_") for key in keys):
            assert state.analyses[0].gaps is not None


def check_end(state: SessionState) -> None:
    assert state.status in {"complete", "failed", "not-found"}
    if state.status != "complete":
        assert state.end_reason
        return
    assert state.report is not None
    sentences = [*state.report.summary, *(x for part in state.report.sections for p in part.paragraphs for x in p.sentences)]
    assert sentences
    assert all(sentence.facts and set(sentence.facts) <= state.facts.keys() for sentence in sentences)


def walked(**kwargs: Any) -> SessionState:
    return asyncio.run(Walk(**kwargs).go())


@settings(max_examples=60 if FULL else 20, deadline=None)
@given(seed=st.integers(0, 2**32), workers=st.integers(1, 3), views=st.integers(1, 3), iterations=st.integers(1, 3))
def test_every_schedule_without_failures_ends_complete(seed: int, workers: int, views: int, iterations: int) -> None:
    state = walked(seed=seed, config={"max_workers": workers, "perspectives": views, "iterations": iterations})
    assert state.status == "complete"
    assert all(worker.status == "completed" for worker in state.workers.values())
    check_end(state)


@settings(max_examples=150 if FULL else 50, deadline=None)
@example(seed=36045, failing=20, exhausted_at=20, cancelled_at=20, workers=1)  # facts, but no admitted one when the cap is spent
@example(seed=3583661957, failing=20, exhausted_at=5, cancelled_at=6, workers=2)  # reopened when a cap stopped all
@example(seed=28, failing=20, exhausted_at=6, cancelled_at=12, workers=1)  # reopened when the gaps were found without all workers
@example(seed=45, failing=20, exhausted_at=-1, cancelled_at=41, workers=2)  # reopened when two wait for each other
@given(
    seed=st.integers(0, 2**32),
    failing=st.sampled_from([5, 20, 50, 90]),
    exhausted_at=st.integers(-1, 60),
    cancelled_at=st.integers(-1, 120),
    workers=st.integers(1, 3),
)
def test_every_schedule_with_failures_caps_and_pauses_comes_to_a_sound_end(
    seed: int, failing: int, exhausted_at: int, cancelled_at: int, workers: int
) -> None:
    config = {"max_workers": workers, "context_tokens": 6_000}
    check_end(walked(seed=seed, failing=failing, exhausted_at=exhausted_at, cancelled_at=cancelled_at, config=config))


def test_the_agenda_changes_nothing_and_answers_the_same_again() -> None:
    state = SessionState(id="s1")
    for event in stream():
        fold.apply(state, event)
        earlier = deepcopy(state)
        first = agenda(state)
        assert agenda(state) == first
        assert state == earlier


def test_all_workers_start_at_once_up_to_the_limit() -> None:
    state, _ = after(e.PlanCreated)
    assert agenda(state) == (s.StartWorker("search_0"), s.StartWorker("search_1"))
    state.config = state.config.model_copy(update={"max_workers": 1})
    assert agenda(state) == (s.StartWorker("search_0"),)


def test_no_page_is_read_before_all_workers_beside_have_searched() -> None:
    state, _ = before(e.SearchCompleted)
    workers = [state.workers[name] for name in ("search_0", "search_1")]
    state.searches.update({query: done_search(()) for query in workers[0].iterations[0].queries})
    other = set(workers[1].iterations[0].queries) - set(state.searches)
    assert other
    assert {step.query for step in agenda(state) if isinstance(step, s.SearchFor)} == other
    assert not any(isinstance(step, s.FetchPage | s.ReadPages | s.FinishWorker) for step in agenda(state))


def test_a_reading_that_leaves_nothing_open_finishes_the_worker() -> None:
    state, read = before(e.FactsObserved)
    fold.apply(state, read.model_copy(update={"last": True, "gaps": (), "queries": ("more",)}))
    assert s.FinishWorker(read.worker_id, "nothing left to ask") in agenda(state)


@pytest.mark.parametrize("is_open", [True, False])
def test_what_is_open_is_searched_for_once_more(is_open: bool) -> None:
    state, event = before(e.GapsFound, **SMALL | {"gap_rounds": 1})
    assert agenda(state) == (s.FindGaps(0),)
    gaps = (Gap(question="Why?", reason=""),) if is_open else ()
    fold.apply(state, event.model_copy(update={"gaps": gaps}))
    assert agenda(state) == ((s.ExtendPlan(0),) if is_open else (s.StartSynthesis(),))


def test_without_a_model_an_older_plan_is_read_to_its_end_and_an_older_report_needs_no_choice_of_passages() -> None:
    """Earlier versions looked for gaps without a model too, and wrote the report from all facts."""
    (reading, _), (written, _) = before(e.FactsObserved, **SMALL), after(e.ReportGenerated, **SMALL)
    for state in (reading, written):
        state.config = state.config.model_copy(update={"reasoner": "extractive"})
    assert agenda(reading)
    assert s.ChoosePassages() not in agenda(reading)
    assert agenda(written) == (s.Complete(),)


def test_a_session_that_is_cut_short_in_a_gap_round_closes_its_workers_before_it_ends() -> None:
    state, _ = after(e.PlanExtended, **SMALL | {"gap_rounds": 1})
    fold.apply(state, e.WorkerStarted(worker_id="gap_0", perspective_id="gap-0", round=1))
    state.query, state.exhausted = "Which composer wrote the opera about the flute?", "usd"
    *others, last = agenda(state)
    assert s.FinishWorker("gap_0", "stopped: usd exhausted") in (*others, last)
    assert not any(isinstance(step, s.Fail) for step in others)


@pytest.mark.parametrize(("later", "status"), [((e.AnalysisStarted(round=0),), "failed"), ((), "running")])
def test_a_worker_that_failed_goes_on_in_a_reopened_session_unless_the_analysis_went_on_without_it(
    later: tuple[e.EventBase, ...], status: str
) -> None:
    state, _ = before(e.AnalysisStarted)
    state.workers["search_1"].status = "failed"
    for event in (*later, e.ResearchCancelled(), e.ResearchReopened()):
        fold.apply(state, event)
    assert state.workers["search_1"].status == status
    assert any("search_1" in step.key for step in agenda(state)) == (not later)
    assert (agenda(state) == (s.FindGaps(0),)) == bool(later)


def test_a_question_is_said_not_to_be_found_only_where_nothing_near_it_was_left_unread() -> None:
    state, found = before(e.GapsFound, **{**SMALL, "gap_rounds": 0})
    question = found.gaps[-1].question
    assert "not searched for" in found.gaps[-1].reason
    view = state.perspectives["basic-facts"]
    state.perspectives["basic-facts"] = view.model_copy(update={"questions": (question,)})

    def reason() -> str:
        (draft,) = find_gaps(s.FindGaps(0), state).drafts
        assert isinstance(draft, e.GapsFound)
        return next(gap.reason for gap in draft.gaps or () if gap.question == question)

    hits = tuple(Hit(url=f"corpus:{name}.md#a", title=name) for name in ("one", "two", "three"))
    state.searches[question] = done_search(hits)
    assert reason() == "Near it, but not read: “one”, “two”"
    read = hits[0].model_copy(update={"url": next(iter(state.observed))})
    state.searches[question] = done_search((read, *hits))
    assert not reason()
    del state.searches[question]
    assert not reason()
