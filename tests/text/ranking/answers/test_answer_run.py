"""The run of a passage's sentences that answers a question in short."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.answers.answer_run import answer_run
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.term_statistics import TermStatistics

KEYS = (
    "Everybody makes a key pair on the first day.",
    "The default of an RSA key is 3072 bits.",
    "Keep the private half to yourself.",
)
BITS = "How many bits does an RSA key have by default?"


def run(question: str, sentences: Sequence[str], longest: int = 320, headings: str = "") -> Sequence[str]:
    return answer_run(sentences, headings, parse_question(question), TermStatistics(), longest)


def test_the_sentence_that_covers_the_question_is_the_answer() -> None:
    assert run(BITS, KEYS) == KEYS[1:2]


def test_a_sentence_that_adds_what_the_question_asks_for_is_in_it() -> None:
    said = ("Every project makes an RSA key on its first day.", "It takes 3072 bits by default.", "The moon is full tonight.")
    assert run(BITS, said) == said[:2]


def test_it_does_not_begin_with_a_word_that_points_back() -> None:
    said = ("An RSA key has a length.", "This is 3072 bits by default.")
    assert run(BITS, said) == said


def test_what_a_line_announces_is_in_it() -> None:
    said = ("The lengths of an RSA key in bits by default are these:", "- 3072 for servers", "- 4096 for roots")
    assert run(BITS, said)[:2] == said[:2]


def test_a_word_that_is_in_the_heading_need_not_be_repeated() -> None:
    said = ("Mathematics is old.", "The default is 3072 bits.")
    assert run(BITS, said, headings="RSA key") == said[1:]


def test_without_a_word_in_common_it_is_the_first_sentence() -> None:
    assert run("Why do bees hum?", KEYS) == KEYS[:1]
    assert run(BITS, ()) == ()


@given(st.lists(st.text("abc RSA.:", min_size=1, max_size=60), max_size=8), st.integers(10, 100))
def test_it_is_a_run_of_sentences_and_short_unless_one_is_too_long_or_announces_another(said: list[str], longest: int) -> None:
    found = list(run("abc RSA?", said, longest))
    assert any(found == said[start : start + len(found)] for start in range(len(said) + 1))
    assert bool(found) == bool(said)
    alone = len(found) == 1 or any(one.endswith(":") for one in found)
    assert alone or len(" ".join(found)) <= longest
