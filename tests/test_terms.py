from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.reasoners.extractive.needs import asks_for_default, coverage, needs_of
from pipeline.terms import alike, forms, needs, rarity, spread, stem, term_set, terms


@pytest.mark.parametrize(
    "family",
    [
        "delete deletes deleted deleting deletion",
        "replace replaces replaced replacement",
        "policy policies",
        "compress compression",
    ],
)
def test_the_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


def test_an_identifier_stands_for_itself_and_for_its_parts() -> None:
    assert forms("ThreadPoolExecutor") == ("threadpoolexecutor", "thread", "pool", "executor")
    assert "os.replace" in forms("os.replace")
    assert forms("3.11") == ("3.11",)
    assert forms("the") == ()


@given(st.text(max_size=200))
def test_any_text_has_terms_without_white_space(text: str) -> None:
    assert all(term and not term.isspace() for term in terms(text))


def test_names_and_numbers_weigh_more_than_common_words() -> None:
    weights = needs("What is the default number of max_workers?")
    assert weights["max_workers"] > weights["default"]


def test_a_default_can_be_asked_for_without_the_word() -> None:
    assert asks_for_default("How many threads does it start if I don't say so?")
    assert asks_for_default("Which port is used unless I configure one?")
    assert not asks_for_default("How many threads does it start?")


def test_another_word_for_the_same_counts_but_less() -> None:
    wanted = needs_of("How do I delete a folder?")
    same, akin, none = (
        coverage(wanted, term_set(text), {}, {}) for text in ("Delete a folder.", "Remove a directory.", "Eat a pie.")
    )
    assert same > akin > none == 0.0


def test_rare_terms_tell_more() -> None:
    rare = rarity({"everywhere": 10, "once": 1}, 10)
    assert rare["once"] > rare["everywhere"] > 0


def test_spreading_prefers_the_unlike_to_the_slightly_better() -> None:
    texts = [term_set("red apples taste sweet"), term_set("red apples taste sweeter"), term_set("green trains run late")]
    assert spread([1.0, 0.9, 0.7], texts, 2, 0.5) == [0, 2]


def test_likeness_is_between_nothing_and_all() -> None:
    assert alike(term_set("red apples"), term_set("red apples")) == 1.0
    assert alike(term_set("red apples"), term_set("late trains")) == 0.0
