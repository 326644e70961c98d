"""The sentences around a quote, and the address that opens a page at it."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.notes.source import LONGEST, fragment_of, sentences_around

PAGE = (
    "# Logs\n\nA log grows. It never shrinks. Nobody minds.\n\n"
    + "Another paragraph begins. It ends.\n\n## Limits\n\nDisks fill up.\n"
)


def test_a_quote_has_the_sentence_before_it_and_the_one_after_it() -> None:
    assert sentences_around(PAGE, "It never shrinks.") == ("A log grows.", "Nobody minds.")


def test_the_sentences_around_may_stand_in_the_paragraphs_beside() -> None:
    assert sentences_around(PAGE, "Another paragraph begins. It ends.") == ("Nobody minds.", "")
    assert sentences_around(PAGE, "Nobody minds.") == ("It never shrinks.", "Another paragraph begins.")


def test_an_address_names_the_first_and_the_last_words_of_a_quote() -> None:
    assert fragment_of("It never shrinks.") == ":~:text=It%20never%20shrinks."
    long = " ".join(f"w{number}" for number in range(40))
    assert unquote(fragment_of(long)) == ":~:text=w0 w1 w2 w3 w4 w5,w34 w35 w36 w37 w38 w39"
    assert fragment_of("A power-cut, again & again") == ":~:text=A%20power%2Dcut%2C%20again%20%26%20again"


@given(st.text(max_size=300), st.text(max_size=80))
def test_whatever_the_page_says_what_is_around_a_quote_is_short_and_stands_in_it(page: str, said: str) -> None:
    around = sentences_around(page, said)
    assert all(len(part) <= LONGEST and "\n" not in part for part in around)
    fragment = fragment_of(said)
    assert not set(fragment.removeprefix(":~:text=")) & set("- \n()[]<>&#\"'")
