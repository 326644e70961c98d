"""Perspectives, thoughts, evaluation and gaps."""

from __future__ import annotations

import re

import pytest

from pipeline.questions import EvaluationQuestion, GapsQuestion, PerspectivesQuestion, ThoughtQuestion
from pipeline.reasoners.extractive import phrases
from pipeline.reasoners.extractive.gaps import evaluate, find_gaps
from pipeline.reasoners.extractive.perspectives import perspectives
from pipeline.reasoners.extractive.thought import think
from pipeline.values import Hit, Perspective
from tests.reasoners.extractive.builders import fact, view

QUERY = "How does an append-only log survive a power cut?"
HITS = (
    Hit(
        url="corpus:a#1",
        title="Logs",
        heading="1.2 Torn records",
        snippet="A log with a torn record after a power cut is sealed.",
    ),
    Hit(
        url="corpus:b#2",
        title="Disks",
        heading="Write caches",
        snippet="A power cut empties the write cache of a disk under a log.",
    ),
    Hit(
        url="corpus:c#3",
        title="Checks",
        heading="seal.verify(path, *, deep=False)",
        snippet="Checksums show what a power cut did to the log.",
    ),
)


def _views(count: int = 4, hits: tuple[Hit, ...] = HITS) -> tuple[Perspective, ...]:
    return perspectives(PerspectivesQuestion(query=QUERY, hits=hits, count=count, questions=3)).perspectives


def test_the_basic_facts_come_first_with_the_query_and_the_sceptic_last() -> None:
    views = _views()
    assert (views[0].id, views[0].questions[0], views[-1].id) == ("basic-facts", QUERY, "sceptic")
    assert [view.id for view in _views(count=1)] == ["basic-facts"]


def test_the_subtopics_are_what_the_survey_found() -> None:
    assert {view.name for view in _views(count=5)[1:-1]} == {"Torn records", "Write caches", "seal.verify()"}


@pytest.mark.parametrize("hits", [HITS, ()])
def test_there_are_as_many_perspectives_and_questions_as_asked_for(hits: tuple[Hit, ...]) -> None:
    views = _views(5, hits)
    assert len({view.id for view in views}) == 5
    assert all(len(view.questions) == 3 and re.fullmatch(r"[a-z0-9-]+", view.id) for view in views)


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        ("1.2.3 Torn records", "Torn records"),
        ("class asyncio.Queue(maxsize=0, *, loop=None)", "asyncio.Queue()"),
        ("write caches", "Write caches"),
        ("Introduction", ""),
        ("See also", ""),
        ("C programs", "C programs"),
    ],
)
def test_a_heading_is_made_fit_for_display(written: str, shown: str) -> None:
    assert phrases.heading(written) == shown


def test_the_subject_of_a_question_is_named_in_its_own_words() -> None:
    assert phrases.subject(QUERY) == "an append-only log and a power cut"


def _thought(iteration: int, asked: tuple[str, ...] = (), gaps: tuple[str, ...] = (), limit: int = 5) -> tuple[str, ...]:
    facts = (fact("A checksum seals each record of the journal.", relevance=0.9),)
    question = ThoughtQuestion(
        query=QUERY,
        perspective=view(QUERY, "What is a torn record?"),
        iteration=iteration,
        facts=facts,
        gaps=gaps,
        asked=asked,
        summary="",
        limit=limit,
    )
    return think(question).queries


def test_the_first_search_is_the_query_itself() -> None:
    assert _thought(1)[0] == QUERY


def test_later_searches_ask_for_what_is_open_and_for_words_that_facts_brought_up() -> None:
    queries = _thought(2, asked=(QUERY,), gaps=("What is a torn record?",))
    assert "torn record" in queries[0]
    assert any("checksum" in query or "journal" in query for query in queries)


def test_nothing_is_asked_twice_and_at_last_nothing_at_all() -> None:
    asked: tuple[str, ...] = ()
    for iteration in range(1, 12):
        queries = _thought(iteration, tuple(query.upper() for query in asked))
        assert not {query.casefold() for query in queries} & {query.casefold() for query in asked}
        asked += queries
    assert _thought(12, asked) == ()


def test_a_question_is_open_until_a_fact_answers_it() -> None:
    worker = view("What does fsync guarantee?", "Which tea grows in the shade?")
    facts = (fact("The fsync call guarantees that the data is on the disk."),)
    answer = evaluate(EvaluationQuestion(query=QUERY, perspective=worker, iteration=1, facts=facts, summary=""))
    assert answer.gaps == ("Which tea grows in the shade?",)


def test_the_unanswered_query_is_the_most_important_gap() -> None:
    views = (view(QUERY), view("Which tea grows in the shade?", name="tea"))
    question = GapsQuestion(
        query=QUERY,
        perspectives=views,
        facts=(),
        validated=(),
        contradictions=(),
        open_questions=("Which tea grows in the shade?",),
    )
    gaps = find_gaps(question).gaps
    assert gaps[0].question == QUERY
    assert all(0.0 <= gap.importance <= 1.0 for gap in gaps)
    assert len(gaps) <= 6
