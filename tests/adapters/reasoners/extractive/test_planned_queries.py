"""Points of view and searches: the question itself, its parts, and what a doubter would ask."""

from __future__ import annotations

import re

import pytest

from pipeline.adapters.reasoners.extractive.planned_queries import BASIC, SCEPTIC, perspectives, think
from pipeline.adapters.reasoners.extractive.question_subject import subject_of
from pipeline.domain.reasoner_questions import PerspectivesQuestion, ThoughtQuestion
from pipeline.domain.values import Perspective
from pipeline.text.ranking.query_terms import parse_question
from tests.adapters.reasoners.extractive.builders import view

BROAD = "How does an append-only log survive a power cut?"
NARROW = "How many records does the log hold?"
PARTS = "How does a log survive a power cut, and how is the pump cooled?"


def views(query: str, count: int = 4) -> tuple[Perspective, ...]:
    return perspectives(PerspectivesQuestion(query=query, hits=(), count=count, questions=3)).perspectives


def thought(
    perspective: Perspective, iteration: int = 1, asked: tuple[str, ...] = (), gaps: tuple[str, ...] = ()
) -> tuple[str, ...]:
    question = ThoughtQuestion(
        query=BROAD, perspective=perspective, iteration=iteration, facts=(), gaps=gaps, asked=asked, summary="", limit=5
    )
    return think(question).queries


def test_the_question_itself_comes_first_and_of_a_broad_one_the_sceptic_last() -> None:
    assert [one.id for one in views(BROAD)] == [BASIC, SCEPTIC]
    assert [one.id for one in views(NARROW)] == [BASIC]
    assert views(BROAD)[0].questions == (BROAD,)


def test_each_part_of_a_question_is_a_point_of_view() -> None:
    first, *parts, last = views(PARTS)
    assert (first.id, last.id) == (BASIC, SCEPTIC)
    assert [one.questions[0] for one in parts] == list(parse_question(PARTS).clauses)


@pytest.mark.parametrize("query", [BROAD, NARROW, PARTS, "", "?!", "x" * 1_000])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_there_are_never_more_than_asked_for_and_all_have_usable_names(query: str, count: int) -> None:
    found = views(query, count)
    assert 1 <= len(found) <= count
    assert found[0].id == BASIC
    assert len({one.id for one in found}) == len(found)
    assert all(re.fullmatch(r"[a-z0-9-]+", one.id) for one in found)


def test_the_first_search_is_the_question_and_gaps_are_searched_for_later() -> None:
    basic = view(BROAD)
    assert thought(basic) == (BROAD,)
    assert thought(basic, 2, asked=(BROAD,), gaps=("What is a torn record?",)) == ("What is a torn record?",)


def test_nothing_is_searched_for_twice_and_at_last_nothing_at_all() -> None:
    assert thought(view(BROAD), 1, asked=(BROAD.upper(),)) == ()


def test_the_sceptic_searches_for_limits_of_the_subject() -> None:
    (search,) = thought(views(BROAD)[-1])
    assert "limits" in search
    assert "power" in search or "append-only" in search


def test_a_subject_is_named_in_the_questions_own_words_those_that_headings_have_first() -> None:
    assert set(subject_of(parse_question(BROAD)).split()) <= set(re.findall(r"[\w-]+", BROAD))
    assert subject_of(parse_question(BROAD), ["What a power cut does"]) == "power cut"
