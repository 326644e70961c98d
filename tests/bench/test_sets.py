"""The question sets are well formed; whether the documentation bears them out is checked by ``bench.quality.verify``."""

from __future__ import annotations

from collections import Counter

from bench.quality.matching import found, pattern_of
from bench.quality.sets import PLANTED_DOCUMENTS, Side, broad_questions, narrow_questions, subjects
from pipeline.text import holds_quote


def test_both_halves_of_every_set_are_as_large_within_one() -> None:
    for entries in (narrow_questions(), broad_questions(), subjects()):
        halves = Counter(entry.split for entry in entries)
        assert abs(halves["dev"] - halves["held-out"]) <= 1


def test_ids_are_unique_over_all_sets() -> None:
    names = [q.id for q in narrow_questions()] + [q.id for q in broad_questions()] + [s.id for s in subjects()]
    assert len(names) == len(set(names))


def test_a_supporting_sentence_holds_the_answer_and_the_question_does_not() -> None:
    for question in narrow_questions():
        assert found(question.support, question.expected), question.id
        assert not found(question.question, question.expected), question.id


def test_a_broad_question_has_ten_facets_or_more_under_different_names() -> None:
    for question in broad_questions():
        assert len({facet.name for facet in question.facets}) == len(question.facets) >= 10
        assert all(pattern_of(alternative) for facet in question.facets for alternative in facet.any)


def test_every_side_of_a_pair_stands_in_its_document_and_the_sides_in_different_ones() -> None:
    for subject in subjects():
        for pair in (*subject.planted, *subject.near):
            assert pair.a.document != pair.b.document
            assert stands(pair.a), pair.a
            assert stands(pair.b), pair.b


def test_no_pair_is_both_planted_and_a_near_miss() -> None:
    for subject in subjects():
        planted = {frozenset((pair.a, pair.b)) for pair in subject.planted}
        assert planted.isdisjoint(frozenset((pair.a, pair.b)) for pair in subject.near)


def stands(side: Side) -> bool:
    return holds_quote((PLANTED_DOCUMENTS / f"{side.document}.md").read_text(encoding="utf-8"), side.sentence)
