"""Planted contradictions, near misses and false alarms told apart."""

from __future__ import annotations

from bench.quality.conflicts import is_pair, same, score_conflicts, side_of
from bench.quality.sets import Pair, Side, Subject
from pipeline.values import Fact

EARLY, LATE = Side("guide", "It opened in 1931."), Side("history", "It opened in 1934.")
BEGUN, ODD = Side("upkeep", "Work began in 1927."), Side("upkeep", "It is red.")
SUBJECT = Subject("bridge", "dev", "When?", (Pair("date", EARLY, LATE),), (Pair("begun, not opened", EARLY, BEGUN),))


def test_a_quote_is_a_sentence_when_one_holds_the_other_in_the_same_document() -> None:
    assert same(EARLY, Side("guide", "Built long ago. It opened  in 1931."))
    assert same(EARLY, Side("guide", "opened in 1931"))
    assert not same(EARLY, Side("history", "It opened in 1931."))
    assert not same(EARLY, Side("guide", "It closed in 1931."))


def test_the_order_of_the_sides_does_not_matter() -> None:
    assert is_pair(SUBJECT.planted[0], EARLY, LATE)
    assert is_pair(SUBJECT.planted[0], LATE, EARLY)
    assert not is_pair(SUBJECT.planted[0], EARLY, EARLY)


def test_found_near_and_other_are_counted_apart() -> None:
    score = score_conflicts(SUBJECT, [SUBJECT], [(LATE, EARLY), (EARLY, BEGUN), (LATE, ODD)], [EARLY, LATE])
    assert (score.found, score.seen, score.near) == (SUBJECT.planted, SUBJECT.planted, SUBJECT.near)
    assert score.other == ((LATE, ODD),)
    assert score.false_alarms == 2


def test_a_planted_pair_of_another_subject_is_neither_found_nor_a_false_alarm() -> None:
    elsewhere = Subject("tower", "dev", "How high?", (Pair("number", BEGUN, LATE),), ())
    score = score_conflicts(SUBJECT, [SUBJECT, elsewhere], [(BEGUN, LATE)], [BEGUN])
    assert (score.found, score.seen, score.false_alarms) == ((), (), 0)


def test_a_fact_is_told_by_its_document_s_name() -> None:
    fact = Fact(id="f", claim="c", quote="It opened in 1931.", url="corpus:old/guide.md", digest="d")
    assert side_of(fact) == EARLY
