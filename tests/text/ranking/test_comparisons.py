"""Questions that compare two subjects become one question for each."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.comparisons import compared_sides
from pipeline.text.ranking.query_terms import parse_question


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("xz or zstd: which decompresses faster?", ("which decompresses faster: xz", "which decompresses faster: zstd")),
        ("bzip2 vs xz: which needs more memory?", ("which needs more memory: bzip2", "which needs more memory: xz")),
        ("Which is faster, xz or zstd?", ("Which is faster: xz", "Which is faster: zstd")),
        ("Is zstd faster than brotli?", ("faster: zstd", "faster: brotli")),
        ("xz vs zstd", ("xz", "zstd")),
        ("Was ist der Unterschied zwischen xz und zstd?", ("Was ist der Unterschied: xz", "Was ist der Unterschied: zstd")),
        ("Worin unterscheiden sich xz und zstd?", ("Worin unterscheiden: xz", "Worin unterscheiden: zstd")),
        ("Dovecot or Cyrus SASL: which is easier?", ("which is easier: Dovecot", "which is easier: Cyrus SASL")),
    ],
)
def test_each_of_two_subjects_gets_the_question(question: str, sides: tuple[str, str]) -> None:
    assert parse_question(question).clauses == sides


@pytest.mark.parametrize(
    "question",
    [
        "How does an append-only log survive a power cut?",
        "Should I wait or go home?",
        "What's the difference between json and jsonb, or would Parquet files be quicker?",
        "Which options does mount have?",
    ],
)
def test_other_questions_are_no_comparison(question: str) -> None:
    assert (
        compared_sides(question, lambda words: any(word[:1].isupper() or word in ("json", "jsonb") for word in words.split()))
        == ()
    )


@given(st.text("ab ,:?or vsthan", max_size=200))
def test_any_text_is_read(text: str) -> None:
    assert len(compared_sides(text, bool)) in (0, 2)
