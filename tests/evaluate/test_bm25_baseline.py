"""The plain ranking of windows."""

from __future__ import annotations

from pipeline.evaluate.bm25_baseline import WINDOW_WORDS, Baseline, plain_text, windows


def test_a_text_is_cut_into_windows_of_150_words() -> None:
    cut = list(windows("word " * 310))
    assert [len(window.split()) for window in cut] == [WINDOW_WORDS, WINDOW_WORDS, 10]


def test_marks_of_the_page_format_are_no_words() -> None:
    text = "# Title\n\n## Depths {#depths}\n\n- one\n- two\n\n| name | metres |\n| low | 12 |\n\n```\ncode here\n```"
    assert plain_text(text) == "Title Depths one two name metres low 12 code here"


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    pages = ["# A\n\nThe harbour is deep.", "# B\n\nThe harbour has a lighthouse.", "# C\n\nThe harbour is old."]
    assert Baseline(pages).best("harbour lighthouse", 1) == ["B The harbour has a lighthouse."]


def test_no_word_in_common_finds_nothing_and_an_empty_index_neither() -> None:
    assert Baseline(["# A\n\nThe harbour is deep."]).best("zebra") == []
    assert Baseline([]).best("harbour") == []


def test_ties_go_to_the_earlier_window() -> None:
    assert Baseline(["# A\n\nsame words", "# A\n\nsame words"]).best("same", 2) == ["A same words"] * 2
