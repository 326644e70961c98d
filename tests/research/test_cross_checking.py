"""Which groups of facts a reasoner is asked about, and what is recorded of its answer."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, cast

from pipeline.domain import reasoner_questions as q
from pipeline.domain.events import session_events as e
from pipeline.domain.state import Analysis, Iteration, PageDone, PageObserved, SearchDone, SessionState, Worker
from pipeline.domain.steps import Contrast, FindGaps, Validate
from pipeline.domain.values import Contradiction, Cost, Fact, Gap, Hit, PlanNode, ValidatedFact
from pipeline.ports import Answer
from pipeline.research.cross_checking import MAX_GAPS, contrast, find_gaps, validate
from pipeline.research.step_context import Outcome, StepContext
from tests.fakes import FakeReasoner, Journal

DEPTH, LIGHT, CRANE = "The harbour is {} metres deep.", "The lighthouse has burned since {}.", "The crane lifts {} tonnes."


def fact(text: str, url: str) -> Fact:
    return Fact(id=f"{url}/{text}", claim=text, quote=text, url=url, digest="d" * 64)


@dataclass
class Judge:
    """Confirms the first two facts of each group, and finds a contradiction between them."""

    name = "judge"
    asked: list[q.CrossCheckQuestion] = field(default_factory=list)

    async def answer(self, question: Any) -> Answer[Any]:
        self.asked.append(question)
        pairs = [(group[0].id, group[1].id) for group in question.groups]
        facts = tuple(ValidatedFact(fact_id=a, standing="corroborated", support=(b,), confidence=0.9) for a, b in pairs)
        clashes = tuple(Contradiction(id="", subject=a, kind="number", a=a, b=b) for a, b in pairs)
        return Answer(q.CrossCheck(facts=facts, contradictions=clashes), Cost(usd=0.01, calls=1), b"said")


def state_with(*facts: Fact, rounds: int = 1) -> SessionState:
    state = SessionState(query="How deep?", started_at="2026-03-01T02:00:00.000Z")
    state.facts = {entry.id: entry for entry in facts}
    state.pages = {url: PageDone(url, "", "d", 1, "", published="2025-05-05") for url in ("a.md", "b.md")}
    worker = Worker("search_0", "basic-facts", 0, "", iterations=[Iteration("", ("depth",))])
    worker.iterations[0].observed = {"a.md": PageObserved(facts, ())}
    state.workers = {worker.id: worker}
    state.searches = {"depth": SearchDone("local", (Hit(url="a.md", title=""),))}
    state.nodes = {worker.id: PlanNode(id=worker.id, task="search", description="", perspective="basic-facts")}
    state.analyses = [Analysis(round=number) for number in range(rounds)]
    return state


def performed(step: Validate | Contrast, state: SessionState, judge: Judge) -> Outcome:
    context = StepContext(judge, cast(Any, None), cast(Any, None), str)
    work = validate(step, state, context) if isinstance(step, Validate) else contrast(step, state, context)
    return asyncio.run(work)


def drafts(outcome: Outcome) -> dict[str, Any]:
    return {type(draft).__name__: draft for draft in outcome.drafts}


def test_one_call_finds_confirmations_and_contradictions_and_is_paid_once() -> None:
    judge, state = Judge(), state_with(fact(DEPTH.format(12), "a.md"), fact(DEPTH.format(14), "b.md"))
    outcome = performed(Validate(0), state, judge)
    found = drafts(outcome)
    assert len(judge.asked) == 1
    assert [entry.standing for entry in found["FactsValidated"].facts] == ["corroborated", "single"]
    assert len(found["ContradictionsFound"].contradictions) == 1
    assert (found["FactsValidated"].cost.usd, found["ContradictionsFound"].cost.usd) == (0.01, 0.0)
    assert outcome.objects == (b"said",)


def test_a_question_names_the_day_and_the_dates_of_the_pages() -> None:
    judge, state = Judge(), state_with(fact(DEPTH.format(12), "a.md"), fact(DEPTH.format(14), "b.md"))
    performed(Validate(0), state, judge)
    assert (judge.asked[0].today, judge.asked[0].published) == ("2026-03-01", {"a.md": "2025-05-05", "b.md": "2025-05-05"})


def test_a_group_of_one_origin_is_not_asked_about() -> None:
    same = (fact(LIGHT.format(1871), "a.md"), fact(LIGHT.format(1872), "a.md#top"))
    judge = Judge()
    performed(Validate(0), state_with(*same, fact(DEPTH.format(12), "a.md"), fact(DEPTH.format(14), "b.md")), judge)
    assert [[entry.claim for entry in group] for group in judge.asked[0].groups] == [[DEPTH.format(12), DEPTH.format(14)]]


def test_without_a_group_of_two_origins_nobody_is_asked_and_both_results_are_recorded() -> None:
    judge, state = Judge(), state_with(fact(DEPTH.format(12), "a.md"), fact(LIGHT.format(1871), "b.md"))
    found = drafts(performed(Validate(0), state, judge))
    assert not judge.asked
    assert [entry.standing for entry in found["FactsValidated"].facts] == ["single", "single"]
    assert found["ContradictionsFound"].contradictions == ()


def test_a_later_round_asks_about_new_groups_only_and_keeps_what_was_found() -> None:
    old = (fact(DEPTH.format(12), "a.md"), fact(DEPTH.format(14), "b.md"))
    judge, before = Judge(), state_with(*old)
    first = drafts(performed(Validate(0), before, judge))
    state = state_with(*old, fact(CRANE.format(5), "a.md"), fact(CRANE.format(6), "b.md"), rounds=2)
    state.analyses[0].validated = first["FactsValidated"].facts
    state.analyses[0].contradictions = first["ContradictionsFound"].contradictions
    found = drafts(performed(Validate(1), state, judge))
    assert [[entry.claim for entry in group] for group in judge.asked[1].groups] == [[CRANE.format(5), CRANE.format(6)]]
    assert len(found["ContradictionsFound"].contradictions) == 2
    assert [entry.standing for entry in found["FactsValidated"].facts] == ["corroborated", "single"] * 2


def test_a_log_with_the_contradictions_only_gets_the_confirmations_and_the_other_way_round() -> None:
    facts = (fact(DEPTH.format(12), "a.md"), fact(DEPTH.format(14), "b.md"))
    state = state_with(*facts)
    state.analyses[0].contradictions = ()
    assert list(drafts(performed(Validate(0), state, Judge()))) == ["FactsValidated"]
    state = state_with(*facts)
    state.analyses[0].validated = ()
    (event,) = performed(Contrast(0), state, Judge()).drafts
    assert isinstance(event, e.ContradictionsFound)
    assert event.cost.usd == 0.01


def test_a_round_keeps_the_first_gaps_only() -> None:
    """Each is looked up in the pages read, at the price of calls."""
    gaps = tuple(Gap(question=f"What of pump {n}?", importance=0.5, reason="no fact") for n in range(100))

    class Curious(FakeReasoner):
        def _gaps(self, _question: q.GapsQuestion) -> q.Gaps:
            return q.Gaps(gaps=gaps)

    context = StepContext(Curious(Journal()), cast(Any, None), cast(Any, None), str)
    (event,) = asyncio.run(find_gaps(FindGaps(0), state_with(fact(DEPTH.format(9), "a.md")), context)).drafts
    assert isinstance(event, e.AnalysisCompleted)
    assert event.gaps == gaps[:MAX_GAPS]
