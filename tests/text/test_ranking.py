"""Scores of passages, the choice of those that add something, and the fusion of rankings."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.questions import parse_question
from pipeline.text.ranking import (
    BEST,
    StemmedText,
    TermStatistics,
    chosen_passages,
    coverage,
    fused_ranking,
    page_origin,
    rarity,
    scores,
    statistics_of,
    term_weights,
    with_shares,
)
from pipeline.text.words import word_count
from tests.text.pages import ranked

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


CONCEPTS = st.lists(
    st.sampled_from(["seal", "torn", "record", "disk", "cache", "flush", "pump", "valve"]), min_size=1, max_size=25
)
BACKGROUND = [f"nothing{number} of note{number}" for number in range(40)]


def known_of(texts: list[StemmedText]) -> TermStatistics:
    return statistics_of([*texts, *ranked(BACKGROUND)])


def _chosen(texts: list[str], words: int, strength: list[float] | None = None) -> list[int]:
    made = ranked(texts)
    given = strength or [1.0] * len(made)
    order = sorted(range(len(made)), key=lambda place: (-given[place], place))
    return chosen_passages([order], given, made, [word_count(text) for text in texts], known_of(made), words)


def test_what_brings_up_something_new_comes_before_what_was_said() -> None:
    texts = ["seal torn", "flush cache", "seal torn record", "pump valve disk", "seal torn record", "pump valve disk"]
    order = _chosen(texts, 100)
    assert order[0] == 0  # the best comes first whatever it says
    assert {order[1], order[2]} in ({2, 3}, {4, 5}, {2, 5}, {3, 4})


@settings(deadline=None)
@given(st.lists(CONCEPTS, min_size=1, max_size=12), st.integers(0, 60))
def test_the_budget_is_kept_and_nothing_is_chosen_twice(bodies: list[list[str]], words: int) -> None:
    texts = [" ".join(body) for body in bodies]
    found = _chosen(texts, words)
    assert len(set(found)) == len(found)
    assert sum(len(texts[place].split()) for place in found) <= words
    assert found == _chosen(texts, words)


def test_the_best_of_each_part_of_a_question_comes_first() -> None:
    made = ranked(["seal torn", "seal disk", "flush cache", "pump valve", "seal pump"])
    found = chosen_passages([[0, 1, 4], [2], [3]], [1.0, 0.9, 0.1, 0.1, 0.8], made, [2] * 5, known_of(made), 100)
    assert set(found[:3]) == {0, 2, 3}
    assert found[0] == 0


LENGTHS = st.integers(0, 12)


def own(count: int) -> list[str]:
    return [f"corpus:{at:02d}.md" for at in range(count)]


def web(count: int) -> list[str]:
    return [f"https://e.org/{at:02d}" for at in range(count)]


def both(mine: list[str], theirs: list[str], limit: int) -> tuple[str, ...]:
    return fused_ranking(mine, theirs, limit, lambda url: url)


def test_equal_ranks_take_turns_and_ones_own_comes_first() -> None:
    assert both(own(3), web(3), 5) == ("corpus:00.md", "https://e.org/00", "corpus:01.md", "https://e.org/01", "corpus:02.md")


@given(LENGTHS, LENGTHS, LENGTHS)
def test_each_side_keeps_its_order_and_gets_a_third_of_the_places(mine: int, theirs: int, limit: int) -> None:
    found = both(own(mine), web(theirs), limit)
    assert len(found) == min(limit, mine + theirs)
    assert list(found) == list(dict.fromkeys(found))
    for side in (own(mine), web(theirs)):
        kept = [url for url in found if url in side]
        assert kept == side[: len(kept)]
        assert limit < 2 or len(kept) >= min(len(side), -(-limit // 3))


@given(st.lists(st.sampled_from("ow"), max_size=14), LENGTHS)
def test_shares_keep_the_order_and_take_the_best_of_each_side(sides: list[str], limit: int) -> None:
    urls = [f"{'corpus:' if side == 'o' else 'https://e.org/'}{at:02d}" for at, side in enumerate(sides)]
    chosen = with_shares(urls, limit, page_origin)
    assert len(chosen) == min(limit, len(urls))
    assert list(chosen) == [url for url in urls if url in chosen]
    for origin in ("own", "web"):
        ranked = [url for url in urls if page_origin(url) == origin]
        kept = [url for url in chosen if page_origin(url) == origin]
        assert kept == ranked[: len(kept)]
        assert limit < 2 or len(kept) >= min(len(ranked), -(-limit // 3))
