"""The reasoner without a model: it finds and orders passages of the pages, in their own words and under their own titles."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pipeline.domain import reasoner_questions as q
from pipeline.domain.reasoner_questions.talk_questions import PastTurn, StandAloneQuestion, TalkQuestion
from pipeline.domain.values import Fact, Perspective, SectionPlan, Sentence, Value
from pipeline.errors import AnswerInvalid
from pipeline.reasoners.plain_answers import PassageReasoner
from pipeline.text.ranking.scoring import statistics_of
from tests.text.ranking.pages import ranked

PAGE = """# Pumps

A pump moves water from a river into a reservoir.

## Noise

A pump of the workshop makes 62 decibels when it runs dry.

## Depth

The harbour is twelve metres deep at low tide.

## Two pumps

| Pump | Noise |
| --- | --- |
| Heron | 58 decibels |
| Gull | 71 decibels |
"""
TEXTS = {
    "noise": "A pump of the workshop makes 62 decibels when it runs dry.",
    "again": "A pump of the workshop makes 62 decibels, when it runs dry",
    "river": "A pump moves water from a river into a reservoir.",
    "depth": "The harbour is twelve metres deep at low tide.",
    "intro": "The pumps of the workshop are:",
    **{f"other-{number}": f"Paragraph {number} says nothing of note about matter {number}." for number in range(20)},
}
FACTS = tuple(
    Fact(
        id=name,
        claim=text,
        quote=text,
        url=f"corpus:{name[:5]}.md",
        digest="d",
        path=(f"The book of {name}", "A chapter"),
        start=0,
    )
    for name, text in TEXTS.items()
)
KNOWN = statistics_of(ranked(list(TEXTS.values())), "english")
PLAN: dict[str, Any] = {"perspectives": (), "validated": (), "contradictions": (), "min_sections": 4, "max_sections": 6}
SECTION: dict[str, Any] = {"validated": (), "contradictions": (), "other_sections": (), "written": ()}


def answered(question: q.Question[Any]) -> Any:
    answer = asyncio.run(PassageReasoner().answer(question))
    assert (answer.cost.usd, answer.cost.total_tokens) == (0, 0)
    return answer.value


def view(*questions: str) -> Perspective:
    return Perspective(id="basic-facts", name="The question itself", focus="", questions=questions)


def test_a_question_is_researched_from_one_point_of_view_with_a_search_for_each_of_its_parts() -> None:
    asked = "How loud is a pump, and how deep is the harbour at low tide?"
    (found,) = answered(q.PerspectivesQuestion(query=asked, hits=(), count=5, questions=4)).perspectives
    assert found.questions == (asked, "How loud is a pump", "how deep is the harbour at low tide")


def test_each_part_is_searched_for_once() -> None:
    thought = q.ThoughtQuestion(
        query="a", perspective=view("a", "b", "c"), iteration=1, facts=(), gaps=(), asked=("A",), summary="", limit=5
    )
    assert answered(thought).queries == ("b", "c")
    assert answered(thought.model_copy(update={"asked": ("a", "b", "c")})).queries == ()


def test_a_page_gives_the_passages_that_share_words_with_the_question_the_best_first_verbatim() -> None:
    question = q.ObservationQuestion(
        query="How many decibels does a pump make?", perspectives=(view("How many decibels does a pump make?"),),
        url="corpus:pumps.md", title="Pumps", text=PAGE, limit=2,
    )  # fmt: skip
    found = answered(question).findings
    assert found[0].quote.split()[-1] in {"dry.", "|"}
    assert len(found) == 2
    assert all(one.quote in PAGE and one.near >= 0 for one in found)
    assert not any("harbour" in one.quote for one in found)


def test_a_report_opens_with_the_best_passage_and_has_each_text_once() -> None:
    plan = SectionPlan(id="summary", title="Summary", facts=())
    question = q.SectionQuestion(
        query="How many decibels does a pump make?", section=plan, facts=FACTS, words=60, statistics=KNOWN, **SECTION
    )
    quoted = [one.facts[0] for paragraph in answered(question).paragraphs for one in paragraph.sentences]
    assert quoted[0] in {"noise", "again"}
    assert len({"noise", "again"} & set(quoted)) == 1
    assert not {"depth", "intro"} & set(quoted)
    assert all(paragraph.kind == "passages" for paragraph in answered(question).paragraphs)


@pytest.mark.parametrize("asked", ["How many decibels does a pump make?", "How does a pump work, and how deep is the harbour?"])
def test_the_headings_of_a_report_are_the_titles_of_its_documents(asked: str) -> None:
    made = answered(q.OutlineQuestion(query=asked, facts=FACTS, words=1_000, statistics=KNOWN, **PLAN))
    assert made.title == asked
    titles = {fact.path[0] for fact in FACTS}
    assert made.sections
    assert {section.title for section in made.sections} <= titles
    named = [name for section in made.sections for name in section.facts]
    assert len(named) == len(set(named))


def test_of_a_question_asked_back_the_best_passage_is_shown_whole_with_those_that_are_nearly_as_good() -> None:
    reply = answered(TalkQuestion(query="How many decibels does a pump make?", facts=FACTS, words=300, statistics=KNOWN))
    assert reply.sentences[0].text in {TEXTS["noise"], TEXTS["again"]}
    assert TEXTS["depth"] not in {one.text for one in reply.sentences}
    short = answered(TalkQuestion(query="How deep is the harbour?", facts=FACTS, words=3, statistics=KNOWN))
    assert [one.text for one in short.sentences] == [TEXTS["depth"]]


def test_a_question_that_goes_on_with_another_has_its_words_too() -> None:
    assert answered(StandAloneQuestion(query="How loud is a pump?")).question == "How loud is a pump?"
    on = StandAloneQuestion(query="And when dry?", history=(PastTurn(question="How loud is a pump?"),))
    assert answered(on).question == "And when dry? (How loud is a pump?)"


def test_where_no_model_can_check_only_what_stands_in_a_cited_quote_is_supported() -> None:
    sentences = (
        Sentence(text="A pump of the workshop makes 62 decibels", facts=("noise",)),
        Sentence(text="A pump of the workshop makes 62 decibels", facts=("river",)),
        Sentence(text="A pump is loud.", facts=("noise",)),
        Sentence(text="Pumps are loud."),
    )
    headings = ("The workshop pump", "The moon")
    found = answered(q.ClaimCheckQuestion(query="?", sentences=sentences, facts=FACTS[:3], headings=headings, claims=("noise",)))
    assert [one.supported for one in found.verdicts] == [True, False, False, False, True, False]
    assert found.overstated == ()


def test_a_memory_that_is_full_keeps_what_is_most_relevant() -> None:
    facts = tuple(fact.model_copy(update={"relevance": number / 10}) for number, fact in enumerate(FACTS[:3]))
    folded = answered(
        q.FoldQuestion(query="?", perspective=view("a"), facts=facts, searches=(), summary="An earlier line.", limit_tokens=30)
    )
    assert folded.summary.splitlines()[0] == TEXTS["river"]


def test_a_question_that_only_a_model_answers_is_refused_in_words() -> None:
    class Unknown(q.Question[Value]):
        name = "unknown"
        answer_type = Value

    with pytest.raises(AnswerInvalid, match="needs a language model"):
        asyncio.run(PassageReasoner().answer(Unknown(query="?")))
