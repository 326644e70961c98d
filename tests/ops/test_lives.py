"""Whatever is recorded, pruned, forgotten, killed or refused, in whatever order: nothing is missing without a word."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ops.lives import lived
from tests.seeds import FULL, SEED


@pytest.mark.parametrize("number", range(25 if FULL else 10))
def test_nothing_is_missing_without_a_word_over_random_lives(number: int, tmp_path: Path) -> None:
    seed = SEED * 1_000 + number
    assert lived(seed, tmp_path) == [], f"lived({seed}, …)"


@pytest.mark.parametrize("number", range(3))
def test_the_vault_is_the_same_as_one_built_from_nothing_after_all_of_it(number: int, tmp_path: Path) -> None:
    seed = SEED * 1_000 + 500 + number
    assert lived(seed, tmp_path, acts=16, vault=True) == [], f"lived({seed}, …, acts=16, vault=True)"


def test_a_build_between_the_halves_of_an_interrupted_prune_is_put_right_by_the_build_after_it(tmp_path: Path) -> None:
    assert lived(2800, tmp_path, vault=True) == []


def test_the_note_of_a_source_of_which_one_reading_is_known_shows_no_text_that_was_pruned(tmp_path: Path) -> None:
    assert lived(21_600, tmp_path, vault=True) == []
