"""Planted contradictions, decoys and false alarms, distinguished."""

from __future__ import annotations

from pipeline.domain.values import Fact
from pipeline.evaluate.question_set.rows import Decoy, Planted, Side, Subject
from pipeline.evaluate.scoring.contradictions import is_pair, is_same, score_conflicts, side_of


def side(document: str, sentence: str) -> Side:
    return Side(document=document, sentence=sentence)


EARLY, LATE = side("guide", "It opened in 1931."), side("history.md", "It opened in 1934.")
BEGUN, ODD = side("upkeep", "Work began in 1927."), side("upkeep", "It is red.")
READ_LATE = side("history", "It opened in 1934.")
SUBJECT = Subject(
    id="bridge", query="When?", planted=(Planted(kind="date", a=EARLY, b=LATE),), near=(Decoy(why="begun", a=EARLY, b=BEGUN),)
)


def test_a_quote_is_a_sentence_when_one_holds_the_other_in_the_same_document() -> None:
    assert is_same(EARLY, side("guide", "Built long ago. It opened  in **1931**."))
    assert is_same(EARLY, side("guide", "opened in 1931"))
    assert is_same(LATE, READ_LATE)
    assert not is_same(EARLY, side("history", "It opened in 1931."))
    assert not is_same(EARLY, side("guide", "It closed in 1931."))


def test_the_order_of_the_sides_does_not_matter() -> None:
    assert is_pair(SUBJECT.planted[0], EARLY, READ_LATE)
    assert is_pair(SUBJECT.planted[0], READ_LATE, EARLY)
    assert not is_pair(SUBJECT.planted[0], EARLY, EARLY)


def test_found_near_and_other_are_counted_apart() -> None:
    score = score_conflicts(SUBJECT, [SUBJECT], [(READ_LATE, EARLY), (EARLY, BEGUN), (READ_LATE, ODD)])
    assert (score.found, score.right, score.near) == (SUBJECT.planted, 1, SUBJECT.near)
    assert score.other == ((READ_LATE, ODD),)


def test_a_planted_pair_of_another_subject_is_right_but_not_found() -> None:
    elsewhere = Subject(id="tower", query="How high?", planted=(Planted(kind="number", a=BEGUN, b=LATE),))
    score = score_conflicts(SUBJECT, [SUBJECT, elsewhere], [(BEGUN, READ_LATE)])
    assert (score.found, score.right, score.near, score.other) == ((), 1, (), ())


def test_a_fact_is_known_by_its_document_s_name() -> None:
    fact = Fact(id="f", claim="c", quote="It opened in 1931.", url="corpus:old/guide.md", digest="d")
    assert side_of(fact) == EARLY
