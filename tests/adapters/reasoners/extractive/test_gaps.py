"""What is still open: questions that no passage covers, and parts of the query without evidence."""

from __future__ import annotations

from pipeline.adapters.reasoners.extractive.gaps import evaluate, find_gaps
from pipeline.domain.reasoner_questions import EvaluationQuestion, GapsQuestion
from pipeline.domain.values import Fact, Gap
from pipeline.text.ranking.term_statistics import TermStatistics
from tests.adapters.reasoners.extractive.builders import fact, view
from tests.adapters.reasoners.extractive.test_report_passages import known_of

LOG = fact("An append-only log survives a power cut because each record is synced.", "corpus:a.md")
OTHERS = tuple(fact(f"Paragraph {number} tells nothing of subject {number}.", f"corpus:{number}.md") for number in range(20))
PARTS = "How does an append-only log survive a power cut, and how is Kafka configured?"


def gaps(query: str, known: TermStatistics | None = None, facts: tuple[Fact, ...] = (LOG, *OTHERS)) -> tuple[Gap, ...]:
    question = GapsQuestion(
        query=query, perspectives=(view(query),), facts=facts, validated=(), contradictions=(), open_questions=(),
        statistics=known or TermStatistics(),
    )  # fmt: skip
    return find_gaps(question).gaps


def test_a_question_is_open_until_a_passage_covers_it() -> None:
    worker = view("What survives a power cut?", "Which tea grows in the shade?")
    answer = evaluate(EvaluationQuestion(query="q", perspective=worker, iteration=1, facts=(LOG, *OTHERS), summary=""))
    assert answer.gaps == ("Which tea grows in the shade?",)


def test_without_facts_every_question_is_open() -> None:
    worker = view("What survives a power cut?")
    assert evaluate(EvaluationQuestion(query="q", perspective=worker, iteration=1, facts=(), summary="")).gaps == worker.questions


def test_the_part_without_evidence_is_a_gap_that_names_what_is_missing() -> None:
    (gap,) = gaps(PARTS)
    assert "Kafka" in gap.question
    assert "“Kafka”" in gap.reason


def test_what_the_index_is_known_not_to_hold_is_a_gap_worth_no_search() -> None:
    (looked_up,) = gaps(PARTS, known_of((LOG, *OTHERS)))
    (unknown,) = gaps(PARTS)
    assert looked_up.importance < 0.5 <= unknown.importance  # from 0.5 on a gap becomes a worker


def test_a_query_of_one_part_has_no_gaps_for_the_gate_judges_it_as_a_whole() -> None:
    assert gaps("How is Kafka configured?") == ()
