"""How special a word is: a name, a term, or everybody's."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.word_frequency import everyday_rarity, is_word, specificity


def test_a_name_is_more_special_than_a_usual_word_and_that_more_than_the_most_usual_one() -> None:
    found = [specificity(word, "english") for word in ("fdatasync", "harbour", "people", "the")]
    assert found == sorted(found, reverse=True)
    assert (found[0], found[-1]) == (1.0, 0.0)


def test_a_word_is_as_special_as_it_is_in_its_own_language() -> None:
    assert specificity("nicht", "german") < specificity("nicht", "english")


def test_of_a_language_without_frequencies_every_word_is_special() -> None:
    assert specificity("the", "tamil") == 1.0


@given(st.text(max_size=80), st.sampled_from(["english", "german", "russian", "tamil", ""]))
def test_any_word_is_special_to_a_degree_between_0_and_1(word: str, language: str) -> None:
    assert 0.0 <= specificity(word, language) <= 1.0


def test_usual_words_are_words_and_names_of_programs_are_not() -> None:
    assert is_word("continue", "english")
    assert not is_word("btrfs", "english")
    assert not is_word("continue", "an unknown language")


def test_what_everybody_says_is_not_rare_and_a_word_that_nobody_knows_is_infinitely_so() -> None:
    found = [everyday_rarity(word, "english") for word in ("people", "keep", "dies", "placeholder", "zorbitlex")]
    assert found == sorted(found)
    assert math.isinf(found[-1])
    assert math.isinf(everyday_rarity("people", "klingon"))
