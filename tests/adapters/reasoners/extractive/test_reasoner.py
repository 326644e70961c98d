"""All questions by the front door: an answer of the right type for any text, and the same one every time."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.adapters.reasoners.extractive import ExtractiveReasoner
from pipeline.domain import reasoner_questions as q
from pipeline.domain.values import Fact, Hit, Perspective, SectionPlan, Sentence, Value
from pipeline.errors import AnswerInvalid
from tests.adapters.reasoners.extractive.builders import fact

TEXT = st.text(max_size=120) | st.text(alphabet="aA1. %-not?()’", max_size=80)
FACTS = st.lists(st.tuples(TEXT, st.sampled_from(["corpus:a", "corpus:b", "https://c.example/d"]), st.floats(0, 1)), max_size=7)


def _all_questions(query: str, texts: list[str], facts: tuple[Fact, ...]) -> list[q.Question[Any]]:
    words = tuple(texts)
    view = Perspective(id="v", name=query, focus=query, questions=(query, *words), keywords=words)
    groups, origins = (facts,), {entry.id: entry.url for entry in facts}
    hits = tuple(Hit(url=text, title=text, heading=text, snippet=text * 2) for text in texts)
    section = SectionPlan(id="summary", title=query, facts=tuple(entry.id for entry in facts))
    known: dict[str, Any] = {"query": query, "facts": facts, "validated": (), "contradictions": ()}
    written: dict[str, Any] = {"other_sections": (), "written": (), "words": 40}
    return [
        q.PerspectivesQuestion(query=query, hits=hits, count=5, questions=4),
        q.ThoughtQuestion(
            query=query, perspective=view, iteration=2, facts=facts, gaps=words, asked=words, summary=query, limit=5
        ),
        q.ObservationQuestion(query=query, perspectives=(view,), url="u", title=query, text="\n\n".join(texts), limit=8),
        q.EvaluationQuestion(query=query, perspective=view, iteration=1, facts=facts, summary=query),
        q.CrossCheckQuestion(query=query, groups=groups, origins=origins),
        q.GapsQuestion(**known, perspectives=(view,), open_questions=words),
        q.OutlineQuestion(**known, perspectives=(view,), min_sections=4, max_sections=6, words=200),
        q.SectionQuestion(**known, **written, section=section),
        q.SectionQuestion(**known, **written, section=section.model_copy(update={"id": "section_1"})),
        q.ClaimCheckQuestion(
            query=query, sentences=tuple(Sentence(text=text, facts=section.facts) for text in texts), facts=facts
        ),
        q.FoldQuestion(query=query, perspective=view, facts=facts, searches=words, summary=query, limit_tokens=50),
    ]


def _answered(question: q.Question[Any]) -> Value:
    answer = asyncio.run(ExtractiveReasoner().answer(question))
    assert (answer.exchange, answer.cost.total_tokens, answer.cost.model) == (b"", 0, "extractive")
    value: Value = answer.value
    return value


@settings(max_examples=60, deadline=None)
@given(TEXT, st.lists(TEXT, max_size=5), FACTS)
def test_any_question_gets_an_answer_of_its_type_and_the_same_one_twice(
    query: str, texts: list[str], found: list[tuple[str, str, float]]
) -> None:
    facts = {entry.id: entry for claim, url, relevance in found for entry in [fact(claim, url, relevance=relevance)]}
    for question in _all_questions(query, texts, tuple(facts.values())):
        value = _answered(question)
        assert isinstance(value, question.answer_type)
        assert value == _answered(question)


@settings(deadline=None)
@given(st.permutations([f"An append-only log number {place} survives the power cut of day {place}." for place in range(6)]))
def test_the_order_in_which_facts_were_found_does_not_change_the_report(claims: list[str]) -> None:
    facts = tuple(fact(claim, f"corpus:{claim[-2]}") for claim in claims)
    for question in _all_questions("How does an append-only log survive?", [], facts):
        sorted_facts = tuple(sorted(facts, key=lambda entry: entry.id))
        if isinstance(question, q.OutlineQuestion | q.SectionQuestion | q.FoldQuestion):
            assert _answered(question) == _answered(question.model_copy(update={"facts": sorted_facts}))
        elif isinstance(question, q.CrossCheckQuestion):
            again = question.model_copy(update={"groups": (sorted_facts,)})
            assert cast(q.CrossCheck, _answered(question)).contradictions == cast(q.CrossCheck, _answered(again)).contradictions


def test_a_question_of_an_unknown_kind_is_refused() -> None:
    class Riddle(q.Question[q.Thought]):
        name = "riddle"
        answer_type = q.Thought

    with pytest.raises(AnswerInvalid, match="Riddle"):
        asyncio.run(ExtractiveReasoner().answer(Riddle(query="What is it?")))
