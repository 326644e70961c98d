"""What is searched of a note, in any script."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.site.search_index.terms import (
    _WORD,
    Content,
    _counts,
    _parts,
    content_of,
    folded,
    is_spelt,
    terms,
    unpacked,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("The torn record", ["torn", "record"]),
        ("Énergie Straße", ["energie", "straße"]),
        ("日本語。テスト", ["日本", "本語", "テス", "スト"]),
        ("データ", ["デー", "ータ"]),
        ("PostgreSQL入門", ["postgresql", "入門"]),
        ("세종대왕", ["세종", "종대", "대왕"]),
        ("गंगा का पानी।", ["गंगा", "का", "पानी"]),
        ("الْعَرَبِيَّة", ["العربيه"]),
        ("שָׁלוֹם עולם", ["שלום", "עולם"]),
        ("เมือง", ["เม", "มื", "ือ", "อง"]),
        ("x" * 25, []),
    ],
)
def test_words_are_cut_as_their_script_does(text: str, found: list[str]) -> None:
    assert terms(text) == found


@given(st.text(max_size=40))
def test_no_term_has_a_sign_that_the_index_uses_itself(text: str) -> None:
    assert not [term for term in terms(text) if set(term) & set(" :=\n\t")]


SIGNS = "aB z1_“”‘’„«»–—…·•→×∴\u00a0é日½¹-"


@given(st.text(alphabet=SIGNS, max_size=30))
def test_a_quick_look_at_plain_words_finds_the_same_as_a_thorough_one(text: str) -> None:
    thorough = [part for word in _WORD.findall(folded(text)) for part in _parts(word)]
    assert terms(text) == thorough
    assert _counts(text) == Counter(thorough)


@given(st.lists(st.sampled_from(["Topic/A", "topic/b", "x"])), st.text(alphabet="ab \n\té日", max_size=20))
def test_what_was_packed_is_unpacked_as_it_was(tags: list[str], text: str) -> None:
    content = content_of("Title", tags, text)
    assert unpacked(content.packed()) == content
    assert isinstance(content, Content)


def test_only_words_that_can_be_misspelt_are_listed_for_it() -> None:
    assert [term for term in ("vacuum", "log", "sha256", "日本", "kind=report") if is_spelt(term)] == ["vacuum"]
