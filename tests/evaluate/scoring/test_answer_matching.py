"""Whether a text holds an expected answer."""

from __future__ import annotations

import re

import pytest

from pipeline.evaluate.scoring.answer_matching import first_words, found, pattern_of, word_count
from pipeline.text.normalise import normalised


@pytest.mark.parametrize(
    ("text", "alternative"),
    [
        ("It waits FIVE  seconds\nat most.", "five seconds"),
        ("It keeps weak references only.", "weak reference"),
        ("The handler of \u2018last resort\u2019", "'last resort'"),
        ("open it with newline=''", "newline=''"),
        ("integers between -5 and 256.", "re:-5 (and|to) 256"),
        ("files called test*.py", "test*.py"),
        ("a limit of 4300 digits", "4300"),
    ],
)
def test_case_white_space_quotation_marks_and_endings_do_not_count(text: str, alternative: str) -> None:
    assert found(text, [alternative])


@pytest.mark.parametrize(
    ("text", "alternative"),
    [
        ("an unstable sort", "stable"),
        ("132 bytes", "32 bytes"),
        ("43000 digits", "4300"),
        ("test1py", "test*.py"),
        ("", "anything"),
    ],
)
def test_parts_of_other_words_and_numbers_are_no_answer(text: str, alternative: str) -> None:
    assert not found(text, [alternative])


def test_the_first_alternative_that_matches_is_returned_as_it_stands() -> None:
    assert found("It raises a ValueError or a KeyError.", ["TypeError", "keyerror", "ValueError"]) == "KeyError"


def test_a_faulty_pattern_is_an_error_and_no_miss() -> None:
    with pytest.raises(re.error):
        pattern_of("re:(")


def test_the_number_of_words_is_that_of_the_text_cut_to_it() -> None:
    assert first_words("one  two\nthree four", 3) == "one two three"
    assert word_count(first_words("one two", 5)) == 2


def test_a_plain_alternative_is_found_in_itself() -> None:
    for text in ("min(32, os.cpu_count() + 4)", "a @ b", "**", "OpenSSL 1.1.1", "\u201cquoted\u201d"):
        assert found(text, [text]) == normalised(text)
