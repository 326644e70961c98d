from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.search.terms import MAX_TERMS, match_expression, prepared


def table(*texts: str) -> sqlite3.Connection:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE words USING fts5 (body, tokenize = 'porter unicode61 remove_diacritics 2')")
    db.executemany("INSERT INTO words VALUES (?)", [(prepared(text),) for text in texts])
    return db


def found(query: str, *texts: str) -> list[str]:
    """Return the texts that match, best first."""
    rows = table(*texts).execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank, rowid", (match_expression(query),))
    return [texts[row[0] - 1] for row in rows]


def test_stop_words_are_left_out_unless_there_is_nothing_else() -> None:
    assert match_expression("how does the log work?") == '"log" OR "work"'
    assert match_expression("to be or not to be") == '"to" OR "be" OR "or" OR "not"'


def test_what_stands_in_quotation_marks_is_looked_for_as_a_phrase() -> None:
    assert match_expression('a "power cut" is bad') == '"power" OR "cut" OR "bad" OR "power cut"'
    assert found('"power cut"', "cut the power", "a power cut", "nothing") == ["a power cut", "cut the power"]


def test_short_forms_are_no_words() -> None:
    assert match_expression("What doesn't SQLite’s log keep?") == '"sqlite" OR "log" OR "keep"'


def test_identifiers_are_found_whole_before_their_parts() -> None:
    texts = ("replace it in os", "call os.replace here", "the word replace")
    assert found("os.replace", *texts)[0] == "call os.replace here"
    assert found("--no-verify", "verify there is no", "give --no-verify to it")[0] == "give --no-verify to it"
    assert found("wal_level", "level of the wal", "set wal_level to it")[0] == "set wal_level to it"


def test_names_with_signs_are_words() -> None:
    assert found("C#", "C is old", "C# is newer", "C++ too") == ["C# is newer"]
    assert found("c++ templates", "C", "C++") == ["C++"]


def test_inflected_and_accented_forms_match() -> None:
    assert found("replacing caches", "it replaced the cache") == ["it replaced the cache"]
    assert found("cafe", "café", "cafe\u0301") == ["café", "cafe\u0301"]


def test_texts_without_spaces_are_found_by_pairs() -> None:
    texts = ("事件日志是只追加的", "日本語のログ", "이벤트로그는 추가만")
    assert found("日志", *texts) == [texts[0]]
    assert found("ログ", *texts) == [texts[1]]
    assert found("로그", *texts) == [texts[2]]
    assert found("हिन्दी", "हिन्दी भाषा", "other") == ["हिन्दी भाषा"]


@pytest.mark.parametrize("query", ["", "   ", "?!", '"""', "* - ^ :", "()"])
def test_a_query_without_words_looks_for_nothing(query: str) -> None:
    assert match_expression(query) == ""


def test_a_long_query_is_bounded() -> None:
    assert match_expression(" ".join(f"word{n}" for n in range(5_000))).count(" OR ") < 2 * MAX_TERMS


@given(st.text(st.one_of(st.sampled_from("\"*^:(){}-+ANDORNEAR '\\#."), st.characters(codec="utf-8")), max_size=80))
def test_no_query_is_an_error_of_syntax(query: str) -> None:
    expression = match_expression(query)
    if expression:
        table("text").execute("SELECT rowid FROM words WHERE words MATCH ? ORDER BY rank", (expression,)).fetchall()
