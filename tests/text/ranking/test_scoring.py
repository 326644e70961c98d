"""How well passages answer a question: scores in their range, and the same in whatever order the passages come."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import (
    BEST,
    StemmedText,
    coverage,
    rarity,
    scores,
    statistics_of,
    term_weights,
)
from pipeline.text.ranking.term_statistics import TermStatistics
from tests.text.ranking.pages import ranked

QUESTION = "How does a journal survive a power cut?"
TEXTS = ranked(
    [
        "A journal survives a power cut because each record is synced before it is acknowledged.",
        "A journal is a file that grows at its end.",
        "The power of a pump is given in watts.",
        "A cut in the budget was announced.",
        "Nothing of note stands here.",
    ]
)
PIECES = ["journal", "power", "cut", "survive", "record", "pump", "fsync", "os.replace", "the", "of", "5", "ms"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=30)


def _of(words: list[str]) -> StemmedText:
    return StemmedText.of(" ".join(words[2:]), " ".join(words[:2]), "english")


def test_the_passage_that_speaks_of_all_that_is_asked_is_the_best_and_a_stranger_has_nothing() -> None:
    found = scores(parse_question(QUESTION), TEXTS, statistics_of(TEXTS))
    assert max(found) == found[0]
    assert found[-1] == 0.0


@settings(deadline=None)
@given(st.lists(WORDS, min_size=1, max_size=12), st.integers(0, 2**16))
def test_scores_are_in_range_and_do_not_depend_on_the_order_of_the_passages(bodies: list[list[str]], seed: int) -> None:
    texts = [_of(words) for words in bodies]
    places = list(range(len(texts)))
    random.Random(seed).shuffle(places)
    query = parse_question(QUESTION)
    found = scores(query, texts, statistics_of(texts))
    shuffled = [texts[place] for place in places]
    assert statistics_of(shuffled) == statistics_of(texts) or len(texts) > 1  # averages may differ in the last digit
    assert scores(query, shuffled, statistics_of(texts)) == [found[place] for place in places]
    assert all(0.0 <= score <= BEST + 1e-9 for score in found)


def test_statistics_count_each_passage_once_a_stem_headings_included() -> None:
    known = statistics_of([StemmedText.of("pump pump", "valve", "english"), StemmedText.of("pump", "pump", "english")])
    assert (known.passages, known.counts) == (2, {"pump": 2, "valv": 1})
    assert (known.body_stems, known.heading_stems) == (1.5, 1.0)


def test_a_rare_stem_weighs_more_than_a_frequent_one_and_what_stands_nowhere_most() -> None:
    known = TermStatistics(passages=100, counts={"often": 90, "rare": 2, "all": 100})
    found = [rarity(stem, known) for stem in ("nowhere", "rare", "often", "all")]
    assert found == sorted(found, reverse=True)
    assert found[-1] > 0


@given(WORDS, WORDS)
def test_more_words_never_cover_less(some: list[str], more: list[str]) -> None:
    query, known = parse_question(QUESTION), statistics_of(TEXTS)
    few, many = _of(some).body, (*_of(some).body, *_of(more).body)
    assert 0.0 <= coverage(term_weights(query, known), few) <= coverage(term_weights(query, known), many) <= 1.0


@pytest.mark.parametrize("held", [("os.replac",), ("os", "replac")])
def test_a_compound_is_covered_whole_or_by_all_its_parts(held: tuple[str, ...]) -> None:
    query = parse_question("What is os.replace?")
    known = statistics_of(ranked(["os.replace renames a file", "another file"]))
    assert coverage(term_weights(query, known), held) == 1.0
    assert coverage(term_weights(query, known), held[:1]) in (0.0, 1.0)
    assert coverage(term_weights(query, known), ()) == 0.0
