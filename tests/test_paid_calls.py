"""A paid call is announced before it is sent, so that a process that dies cannot lose the bill."""

from __future__ import annotations

import asyncio
from typing import TypeVar

from pipeline.domain.budget import CombinedBudget
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.reasoner_questions import Question, Reply
from pipeline.domain.research_values import Cost
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import cost_of
from pipeline.engine.loop import run_session
from pipeline.ports import Answer
from pipeline.research import StepContext
from tests.fakes import FakeReasoner, Journal, MemoryStore, begun, context_for, step_context_for

A = TypeVar("A", bound=Reply)
WORST = Cost(input_tokens=100, output_tokens=50, total_tokens=150, usd=0.002)


class Paying(FakeReasoner):
    """Asks its purse before each answer, as a model's reasoner does."""

    async def answer(self, question: Question[A]) -> Answer[A]:
        await CombinedBudget(()).reserve(WORST)
        return await super().answer(question)


def paying_step_context(store: MemoryStore, journal: Journal) -> StepContext:
    step_context = step_context_for(store, journal)
    return StepContext(Paying(journal), step_context.search, step_context.fetch, step_context.page_text)


def whole_session() -> MemoryStore:
    store, context = MemoryStore(), context_for()
    session = begun(store, context, perspectives=2, iterations=1)
    asyncio.run(run_session(session, store, paying_step_context(store, Journal()), context))
    return store


def stored(store: MemoryStore) -> list[e.EventBase]:
    return list(decode_all(record.data for record in store.load("s1")))


def test_every_paid_call_is_announced_before_its_answer_and_settled_by_it() -> None:
    store = whole_session()
    sent = [event for event in stored(store) if isinstance(event, e.CallSent)]
    answers = {event.step: event.version for event in stored(store) if isinstance(event, e.Answered) and event.exchange}
    assert len(sent) == len(answers)
    assert all(call.version < answers[call.step] for call in sent)
    state = ResearchSession.open(store, "s1").state
    assert state.open_calls == {}
    assert state.spent.lost == 0


def test_a_run_that_dies_between_call_and_answer_leaves_the_call_on_the_bill_at_its_worst_case() -> None:
    store = whole_session()
    events = stored(store)
    sent = (n for n, event in enumerate(events, 1) if isinstance(event, e.CallSent) and event.step == "ReadPages:search_0:1")
    cut = next(sent)
    store.streams["s1"] = store.streams["s1"][:cut]
    dead = ResearchSession.open(store, "s1").state
    lost = sum(len(calls) for calls in dead.open_calls.values())
    assert lost >= 1
    assert cost_of(dead).usd == round(dead.spent.usd + lost * WORST.usd, 9)
    resumed = ResearchSession.open(store, "s1")
    state = asyncio.run(run_session(resumed, store, paying_step_context(store, Journal()), context_for("run-2")))
    assert state.status == "complete"
    assert (state.spent.lost, state.spent.lost_usd) == (lost, round(lost * WORST.usd, 9))
    answered = [event for event in stored(store) if isinstance(event, e.Answered) and event.exchange]
    assert state.spent.usd == round(sum(event.cost.usd for event in answered) + state.spent.lost_usd, 9)
    assert cost_of(state).assumed_usd == state.spent.lost_usd
