"""Consolidating with a model: sentences and names, checked by code; what fails leaves the rules' results."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import TypeVar, cast

import pytest

from pipeline.batch.memory_consolidation import Consolidated, consolidate, memory_events, read_memory, supported_sentences
from pipeline.batch.session_index import read_all
from pipeline.domain.budget import Budget, Caps, CombinedBudget, announce
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import CallSent, EventBase, StepFailed
from pipeline.domain.memory import cost_of_calls
from pipeline.domain.reasoner_questions import EpisodeQuestion, EpisodeText, Question, Reply
from pipeline.domain.research_values import Cost, Fact, Sentence
from pipeline.errors import ProviderRefused, StepError
from pipeline.ports import Answer
from tests.fakes import MemoryStore, context_for
from tests.vault.builders import a_store

A = TypeVar("A", bound=Reply)
PAID = Cost(input_tokens=10, output_tokens=5, total_tokens=15, usd=0.001, calls=1, model="m")


class Killed(BaseException):
    """The process dies."""


class Model:
    """Answers each question once a purse allows it, or does what the next ``trouble`` says."""

    name = "m"

    def __init__(self, *trouble: BaseException | None, cap: float | None = None) -> None:
        self.trouble = list(trouble)
        self.purse = CombinedBudget((Budget(Caps(cap), name="consolidation"),))
        self.asked: list[Question[Reply]] = []

    async def answer(self, question: Question[A]) -> Answer[A]:
        held = await self.purse.reserve(Cost(total_tokens=30, usd=0.003))
        self.asked.append(question)
        trouble = self.trouble.pop(0) if self.trouble else None
        if trouble is not None:
            if isinstance(trouble, StepError):
                self.purse.settle(held, trouble.cost or Cost())
            raise trouble
        self.purse.settle(held, PAID)
        assert isinstance(question, EpisodeQuestion)
        (key, fact), *_ = question.facts.items()
        said = f"{fact.quote.removesuffix('.')} [{key}]. It holds 987654 whales [{key}]."
        return Answer(cast(A, EpisodeText(episode=said)), PAID)


def ask(store: MemoryStore, model: Model, run: str = "run-9") -> Consolidated:
    return asyncio.run(consolidate(store, context_for(run), read_all(store).sessions, model))


def events(store: MemoryStore, stream: str) -> list[EventBase]:
    return list(decode_all(record.data for record in store.load(stream)))


def test_each_report_gets_the_sentences_that_its_facts_support_and_each_answer_its_cost() -> None:
    store, model = a_store(), Model()
    done = ask(store, model)
    memory = read_memory(store)
    kept = {name: one.episode.sentences for name, one in memory.sessions.items() if one.episode.sentences}
    asked = [question for question in model.asked if isinstance(question, EpisodeQuestion)]
    assert len(kept) == len(asked) > 0
    assert all(len(sentences) == 1 and "whales" not in sentences[0].text for sentences in kept.values())
    assert done.cost == cost_of_calls(memory_events(store)) == cost_of_calls(events(store, done.stream))
    assert done.cost.usd == pytest.approx(0.001 * len(model.asked))
    assert done.cost.assumed_usd == 0
    assert ask(store, model, "run-10") == Consolidated()


def test_all_else_is_what_consolidating_without_a_model_gives() -> None:
    plain, asked = a_store(), a_store()
    asyncio.run(consolidate(plain, context_for(), read_all(plain).sessions))
    ask(asked, Model())
    for name, one in read_memory(plain).sessions.items():
        other = read_memory(asked).sessions[name]
        assert other.episode.model_copy(update={"sentences": ()}) == one.episode
        assert (other.statements, other.procedures) == (one.statements, one.procedures)


def test_a_model_that_refuses_is_asked_no_more_and_no_session_is_lost() -> None:
    store, model = a_store(), Model(ProviderRefused("402", hint="top up"))
    done = ask(store, model)
    assert len(model.asked) == 1
    assert len(done.sessions) == 2
    assert "402" in done.problems[0]
    assert [one.error for one in events(store, done.stream) if isinstance(one, StepFailed)] == ["ProviderRefused"]


def test_a_cap_of_money_ends_the_asking_and_not_the_consolidation() -> None:
    store, model = a_store(), Model(cap=0.0035)
    done = ask(store, model)
    assert len(done.sessions) == 2
    assert done.cost.usd <= 0.0035
    assert "budget" in done.problems[0]
    nothing = Model(cap=0.0)
    store = a_store()
    assert len(ask(store, nothing).sessions) == 2
    assert nothing.asked == []


def test_a_killed_consolidation_pays_for_nothing_twice_and_its_lost_call_is_counted() -> None:
    store = a_store()
    first = Model(None, Killed())
    with pytest.raises(Killed):
        ask(store, first)
    second = Model()
    done = ask(store, second, "run-10")
    assert first.asked[0] not in second.asked
    cost = cost_of_calls(memory_events(store))
    assert cost.assumed_usd == 0.003
    assert cost.charged_usd == pytest.approx(0.001 * (1 + len(second.asked)))
    assert len(read_memory(store).sessions) == 2
    assert done.cost.assumed_usd == 0


def test_no_key_in_the_stream_names_the_session_of_a_question() -> None:
    store = a_store()
    found = events(store, ask(store, Model()).stream)
    assert not any(name in one.step for one in found if isinstance(one, CallSent) for name in store.ids("session"))


FACT = Fact(id="f1", claim="A log holds 45 records.", quote="A log holds 45 records.", url="http://a.test/", digest="d")


@pytest.mark.parametrize(
    "sentence", ["A log holds 46 records [E1].", "A log holds 45 records [E2].", "A log holds 45 records.", "[E1]"]
)
def test_a_sentence_without_support_is_cut(sentence: str) -> None:
    question = EpisodeQuestion(query="How many?", facts={"E1": FACT})
    good = Sentence(text="A log holds 45 records.", facts=("f1",))
    assert supported_sentences(f"{sentence} A log holds 45 records [E1].", question) == (good,)


class Slow(Model):
    """Announces its call, and answers too late."""

    async def answer(self, question: Question[A]) -> Answer[A]:
        self.asked.append(question)
        if send := announce.get():
            await send(Cost(total_tokens=30, usd=0.003))
        await asyncio.sleep(60)
        raise AssertionError("nobody waits for this")


def test_a_call_that_is_under_way_at_the_deadline_is_cut_off_and_counts_at_its_worst_case() -> None:
    store, model = a_store(), Slow()
    context = context_for("run-9")
    moment = context.now()
    context = replace(context, now=lambda: moment, deadline=moment + timedelta(milliseconds=20))
    done = asyncio.run(consolidate(store, context, read_all(store).sessions, model))
    assert len(model.asked) == 1
    assert len(done.sessions) == 2
    assert "deadline" in done.problems[0]
    assert done.cost.assumed_usd == 0.003
