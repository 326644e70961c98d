"""A page cut into passages: whole, verbatim, each text once, and in time that grows with the page alone."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.cleaning import clean, normalised
from pipeline.text.passages import LARGEST, LONGEST_LIST, Passage, passages, without_open_end
from pipeline.text.quotes import holds_quote
from tests.text.pages import Made, pages


def page(*blocks: str) -> str:
    return "# Manual\n\n" + "\n\n".join(blocks) + "\n"


def texts(*blocks: str) -> list[str]:
    return [one.text for one in passages(page(*blocks))]


def sentence(number: int, words: int = 30) -> str:
    return " ".join([f"Sentence{number}", *(f"w{number}x{place}" for place in range(words - 1))]) + "."


# ---- what holds of every page ----------------------------------------------------------------------------------


@settings(deadline=None)
@given(pages())
def test_every_passage_and_its_lead_stand_in_the_page(made: Made) -> None:
    for one in passages(made.text):
        assert holds_quote(made.text, one.text)
        assert not one.lead or holds_quote(made.text, one.lead)


@settings(deadline=None)
@given(pages(longest_code=300))
def test_no_word_of_a_page_is_lost_and_no_two_passages_share_one(made: Made) -> None:
    found = Counter(word.strip("|.`-") for one in passages(made.text) for word in one.text.split())
    assert {word: found[word] for word in made.words} == dict.fromkeys(made.words, 1)


def _with_bare_fences(text: str) -> str:
    """Return a text whose fences name no language, as in every stored page."""
    return re.sub(r"(?m)^```.*$", "```", text)


@settings(deadline=None)
@given(pages(longest_code=300))
def test_only_a_row_a_whole_list_and_what_is_introduced_make_a_passage_of_more_than_the_largest_size(made: Made) -> None:
    for one in passages(made.text):
        words = [word for word in one.text.split() if any(map(str.isalnum, word))]  # not the marks of items and fences
        several = "\n" in one.text
        assert one.text.startswith("| ") or len(words) <= (LONGEST_LIST if several else LARGEST)


@given((st.text(max_size=600).map(clean) | st.text(alphabet="#- |`\nab.:", max_size=300)).map(_with_bare_fences))
def test_any_text_is_cut_without_an_error_and_each_passage_stands_in_it(text: str) -> None:
    found = passages(text)
    assert found == passages(text)
    assert all(one.text.strip() and normalised(one.text) in normalised(text) for one in found)


# ---- what belongs together -------------------------------------------------------------------------------------


def test_short_paragraphs_of_a_section_are_one_passage_and_another_section_is_another() -> None:
    (first, second) = passages(page("## One {#one}", "A short one.", "Another one.", "## Two {#two}", "A third one."))
    assert (first.text, first.path, first.anchor) == ("A short one.\n\nAnother one.", ("Manual", "One"), "one")
    assert (second.text, second.path, second.anchor) == ("A third one.", ("Manual", "Two"), "two")


def test_a_paragraph_that_points_back_stays_with_the_one_before_it() -> None:
    first = sentence(1, 75)
    assert texts(first, "This holds for all of them.") == [f"{first}\n\nThis holds for all of them."]
    assert len(texts(first, "A pump holds for all of them.", sentence(2, 75))) == 2


def test_a_few_words_at_the_end_of_a_section_are_no_passage_of_their_own() -> None:
    first, last = sentence(1, 75), "A pump is now off."
    assert texts(first, last) == [f"{first}\n\n{last}"]
    assert len(texts(first, sentence(2, 75), "## Other", last)) == 3


def test_a_long_paragraph_is_cut_at_the_ends_of_sentences() -> None:
    sentences = [sentence(number) for number in range(9)]
    found = texts(" ".join(sentences))
    assert len(found) > 2
    assert " ".join(found) == " ".join(sentences)
    assert all(one.startswith("Sentence") and one.endswith(".") for one in found)


# ---- what a passage leans on -----------------------------------------------------------------------------------


def _many(kind: str) -> tuple[str, list[Passage]]:
    """A header or an introduction, and the passages of the long table or list under it."""
    if kind == "table":
        header = "| Name | Meaning |"
        rows = [header, *(f"| name{number} | {sentence(number)} |" for number in range(9))]
        return header, list(passages(page("## Names", "\n".join(rows))))
    introduction = "These are the names:"
    items = "\n".join(f"- {sentence(number)}" for number in range(9))
    return introduction, list(passages(page("## Names", introduction, items)))


@pytest.mark.parametrize("kind", ["table", "list"])
def test_what_goes_on_after_the_first_passage_has_the_header_or_the_introduction_as_its_lead(kind: str) -> None:
    leading, (first, *others) = _many(kind)
    assert first.text.startswith(leading)
    assert first.lead == ""
    assert len(others) > 1
    assert {one.lead for one in others} == {leading}
    assert all(leading not in one.text and one.body == f"{leading}\n{one.text}" for one in others)


# ---- what is no passage ----------------------------------------------------------------------------------------


def test_a_text_that_stands_twice_in_a_page_is_one_passage_the_first() -> None:
    said = "The pump is loud and wants oil each week, " + "which nobody remembers, " * 6 + "so that it is louder each month."
    (found,) = passages(page("## One", said, "## Two", said.upper()))
    assert found.path == ("Manual", "One")


# ---- hostile pages ---------------------------------------------------------------------------------------------


def _long(unit: str) -> str:
    return "# T\n\n" + unit * (250_000 // len(unit)) + "\n"


HOSTILE = {
    "alternating items and paragraphs": _long("- item of a list\n\nParagraph of it.\n\n"),
    "rows": _long("| a | b |\n"),
    "headings": _long("## H\n\n"),
    "an open fence": "# T\n\n```\n" + "x = 1\n" * 160_000,
    "no white space": _long("x"),
    "one paragraph of sentences": _long("It is loud. "),
    "introductions": _long("These are:\n\n"),
    "open brackets": _long("( "),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_page_of_a_quarter_of_a_megabyte_is_cut_into_passages_in_a_few_seconds(name: str) -> None:
    began = time.process_time()
    passages.__wrapped__(HOSTILE[name])
    assert time.process_time() - began < 10


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("The options are as follows:", ""),
        ("It is a pilot. The options are as follows:", "It is a pilot."),
        ("It is a pilot.\n\nThe options are:", "It is a pilot."),
        ("It is a pilot.", "It is a pilot."),
        ("The options are:\n\n- one\n- two:", "The options are:\n\n- one\n- two:"),
    ],
)
def test_an_introduction_without_its_list_is_left_out(text: str, kept: str) -> None:
    assert without_open_end(text) == kept


@pytest.mark.parametrize("what", ["- One is this. {}\n- The other is that. {}", "```\n{}\n{}\n```", "| a | {} |\n| b | {} |"])
def test_a_few_words_stay_with_the_list_the_code_or_the_table_that_they_announce(what: str) -> None:
    before = "There is much to say about pumps, and here is some of it. " * 6
    found = texts("## Part", before, "The major differences are twofold.", what.format("word " * 40, "word " * 40))
    assert found[1].startswith("The major differences are twofold.\n\n" + what[:3])


def test_a_passage_says_where_it_stands_in_the_normalised_page() -> None:
    text = page("## One", "A pump is loud.", "## Two", "A pump is loud, and it is old.\n\n- It leaks.\n- It rusts.")
    found = passages(text)
    assert [normalised(text)[one.start : one.start + len(normalised(one.text))] for one in found] == [
        normalised(one.text) for one in found
    ]
