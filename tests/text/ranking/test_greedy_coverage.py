"""Passages for a broad question: each brings something new, as long as there is room."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.ranking.scoring import StemmedText, chosen_passages, concept_weights, statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from tests.text.ranking.pages import ranked

WORDS = st.lists(st.sampled_from(["seal", "torn", "record", "disk", "cache", "flush", "pump", "valve"]), min_size=1, max_size=25)
BACKGROUND = [f"nothing{number} of note{number}" for number in range(40)]


def known_of(texts: list[StemmedText]) -> TermStatistics:
    return statistics_of([*texts, *ranked(BACKGROUND)])


def _chosen(texts: list[str], words: int, strength: list[float] | None = None) -> list[int]:
    made = ranked(texts)
    given = strength or [1.0] * len(made)
    order = sorted(range(len(made)), key=lambda place: (-given[place], place))
    return chosen_passages([order], given, made, known_of(made), words)


def test_what_brings_up_something_new_comes_before_what_was_said() -> None:
    texts = ["seal torn", "flush cache", "seal torn record", "pump valve disk", "seal torn record", "pump valve disk"]
    order = _chosen(texts, 100)
    assert order[0] == 0  # the best comes first whatever it says
    assert {order[1], order[2]} in ({2, 3}, {4, 5}, {2, 5}, {3, 4})


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=12), st.integers(0, 60))
def test_the_budget_is_kept_and_nothing_is_chosen_twice(bodies: list[list[str]], words: int) -> None:
    texts = [" ".join(body) for body in bodies]
    found = _chosen(texts, words)
    assert len(set(found)) == len(found)
    assert sum(len(texts[place].split()) for place in found) <= words
    assert found == _chosen(texts, words)


def test_the_best_of_each_part_of_a_question_comes_first() -> None:
    made = ranked(["seal torn", "seal disk", "flush cache", "pump valve", "seal pump"])
    found = chosen_passages([[0, 1, 4], [2], [3]], [1.0, 0.9, 0.1, 0.1, 0.8], made, known_of(made), 100)
    assert set(found[:3]) == {0, 2, 3}
    assert found[0] == 0


def test_what_only_one_passage_holds_is_no_concept() -> None:
    texts = ranked(["seal alone torn", "seal torn"])
    assert concept_weights(texts, known_of(texts)).keys() == {"seal", "torn"}
