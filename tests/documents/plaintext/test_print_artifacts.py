"""Words that were split at the end of a line: the hyphen goes, unless it belongs to the word."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.plaintext.print_artifacts import with_whole_words


@pytest.mark.parametrize("hyphen", ["-", "\u2010", "\u00ad"])
@pytest.mark.parametrize(
    ("cut", "whole"), [("con|tinue", "continue"), ("through|out", "throughout"), ("sup|ported", "supported")]
)
def test_a_word_of_the_language_loses_the_hyphen_of_the_line_end(hyphen: str, cut: str, whole: str) -> None:
    split = cut.replace("|", f"{hyphen}\n       ")
    assert with_whole_words(f"The ships {split} the night.") == f"The ships {whole} the night."


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("An append\u2010\nonly log. It is append-only.", "append-only log"),  # the document holds it with its hyphen
        ("It runs single\u2010\nthreaded by design.", "single-threaded by"),  # both halves are words
        ("A self\u2010\nsigned key.", "self-signed key"),
        ("A multi\u2010\nvolume archive.", "multi-volume archive"),
        ("the gribble\u2010\nwack. One gribblewack.", "the gribblewack."),  # the document holds it without
        ("the in\u2010\nvocation of it.", "the invocation of"),  # "in" is a syllable here
    ],
)
def test_a_hyphen_stays_where_it_belongs_to_the_word(text: str, kept: str) -> None:
    assert kept in with_whole_words(text)


def test_a_typographic_hyphen_within_a_line_becomes_a_plain_one() -> None:
    assert with_whole_words("Use \u2010\u2010keep and non\u2011root.") == "Use --keep and non-root."


WORDS = st.text("abcdefghij", min_size=1, max_size=9)


@given(st.lists(st.tuples(WORDS, st.sampled_from([" ", "\n", "-\n", "\u2010\n", "\u00ad\n", "-\n   "])), max_size=20))
def test_no_letter_is_lost_and_only_line_ends_are_joined(parts: list[tuple[str, str]]) -> None:
    source = "".join(word + end for word, end in parts) + "end"
    joined = with_whole_words(source)
    assert re.sub(r"[^a-z]", "", joined) == re.sub(r"[^a-z]", "", source)
    assert "\u2010" not in joined
    assert len(re.findall(r"[^\s-]+", joined)) <= len(re.findall(r"[a-z]+", source))


@given(WORDS, WORDS)
def test_what_the_document_holds_as_one_word_is_one_word(first: str, second: str) -> None:
    assert with_whole_words(f"{first}{second} {first}\u2010\n{second} x").split() == [first + second, first + second, "x"]
