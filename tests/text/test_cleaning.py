"""Text at the door."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.cleaning import clean, one_line, slug, tokens
from pipeline.text.quotes import holds_quote

ANY = st.text(st.characters(codec=None), max_size=80)
SPACE = st.sampled_from([" ", "  ", "\t", "\n", " \n ", "\u00a0", "\u2003 "])  # no blank line: it ends a sentence


@given(ANY)
def test_clean_text_holds_no_control_format_or_half_character_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    assert not [c for c in cleaned if unicodedata.category(c) in {"Cc", "Cs"} and c not in "\t\n"]
    assert not set(cleaned) & set("\u200b\u202e\u2066\ufeff\u00ad\U000e0041")
    assert clean(cleaned) == cleaned
    cleaned.encode()


@pytest.mark.parametrize(
    ("raw", "cleaned"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\x1b[31mred\x1b[0m", "[31mred[0m"),
        ("\x9b31mred", "31mred"),
        ("in\u200bvis\u00adible", "invisible"),
        ("safe\u202egnp.exe", "safegnp.exe"),
        ("tag\U000e0041s", "tags"),
        ("half \ud83d pair", "half  pair"),
        ("whole 😀 pair, é, 日本", "whole 😀 pair, é, 日本"),
    ],
)
def test_cleaning_takes_out_what_is_not_seen_and_nothing_else(raw: str, cleaned: str) -> None:
    assert clean(raw) == cleaned


@given(st.lists(st.text("abcé", min_size=1, max_size=5), min_size=1, max_size=8), st.data())
def test_a_quote_stands_in_its_text_whatever_the_white_space(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    text = "".join(word + data.draw(SPACE) for word in words)
    quote = "".join(data.draw(SPACE) + word for word in words[first:last])
    assert holds_quote(text, quote)
    assert not holds_quote(text, f"{quote} zebra")


def test_quotation_marks_of_all_kinds_are_alike_in_quotes() -> None:
    assert holds_quote("He said “it’s «done»”.", '"it\'s "done""')


@given(ANY, st.integers(1, 60))
def test_one_line_is_one_line_of_at_most_its_limit(text: str, limit: int) -> None:
    line = one_line(text, limit)
    assert len(line) <= limit
    assert len(line.splitlines()) <= 1
    assert line == line.strip()
    assert one_line(line, limit) == line


@given(ANY, st.integers(9, 60))
def test_a_slug_is_a_short_plain_name_and_never_empty(text: str, limit: int) -> None:
    name = slug(text, limit)
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name)
    assert len(name) <= limit
    assert slug(name, limit) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("What's an Append-Only Log?", "whats-an-append-only-log"),
        ("Crème brûlée", "creme-brulee"),
        ("C++ / C#", "c-c"),
    ],
)
def test_a_slug_keeps_latin_letters_and_digits(text: str, name: str) -> None:
    assert slug(text) == name


@given(ANY, ANY)
def test_the_estimate_of_tokens_grows_with_the_text_and_is_none_only_for_nothing(text: str, more: str) -> None:
    assert tokens(text) <= tokens(text + more) <= tokens(text) + tokens(more)
    assert (tokens(text) == 0) == (text == "")
