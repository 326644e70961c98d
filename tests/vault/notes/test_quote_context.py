"""The address that opens a page at a quote."""

from __future__ import annotations

from urllib.parse import unquote

from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.notes.source import fragment_of


def test_an_address_names_the_first_and_the_last_words_of_a_quote() -> None:
    assert fragment_of("It never shrinks.") == ":~:text=It%20never%20shrinks."
    long = " ".join(f"w{number}" for number in range(40))
    assert unquote(fragment_of(long)) == ":~:text=w0 w1 w2 w3 w4 w5,w34 w35 w36 w37 w38 w39"
    assert fragment_of("A power-cut, again & again") == ":~:text=A%20power%2Dcut%2C%20again%20%26%20again"


@given(st.text(max_size=80))
def test_whatever_a_quote_says_its_address_has_no_sign_of_markdown(said: str) -> None:
    assert not set(fragment_of(said).removeprefix(":~:text=")) & set("- \n()[]<>&#\"'")
