"""One number of a sentence: what it measures, when, and when it is better taken for none."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.quantities.measurements import day_named, sentence_measurement


@pytest.mark.parametrize(
    ("sentence", "words", "shown", "year"),
    [
        ("In 2019, the plant sold 1.2 million tonnes.", "in @ the plant sold #", "1.2 million tonnes", 2019),
        ("In 2020 the plant sold about 950 thousand tonnes.", "in @ the plant sold #", "about 950 thousand tonnes", 2020),
        ("On 3 May 2019 the level was 3.4 m.", "on @ the level was #", "3.4 m", 2019),
        ("The rate was 5.2% (2021).", "the rate was # (@)", "5.2%", 2021),
        ("The fee is €14.", "the fee is #", "€14", 0),
    ],
)
def test_a_sentence_with_one_number_measures_what_its_words_say(sentence: str, words: str, shown: str, year: int) -> None:
    found = sentence_measurement(sentence)
    assert found
    assert (found.words, found.shown, found.day.year if found.day else 0) == (words, shown, year)


def test_the_same_words_in_another_year_are_the_same_quantity_and_other_words_are_not() -> None:
    said = [
        sentence_measurement(f"In {year} the {what} sold 5 tonnes.")
        for year, what in ((2019, "plant"), (2020, "plant"), (2020, "mine"))
    ]
    first, second, third = [one.words for one in said if one]
    assert first == second != third


@pytest.mark.parametrize(
    "sentence",
    [
        "Sales rose from 3 to 5 in 2019.",
        "Between 2018 and 2019, sales were 5 kg.",
        "Since 2019, sales were 5 kg.",
        "In 2019 more than 5 kg were sold.",
        "At most 5 kg were sold in 2019.",
        "In 2019 it was 3-5 kg.",
        "The stable version is 12.",
        "In 2019 we used Debian 10.",
        "See section 4.",
        "It came 3rd in 2019.",
        "On 3.4.2019 the level was 5 m.",
        "Was it 5 kg in 2019?",
        "It weighs 1.234 kg in 2019.",
        "In 2019 five were sold.",
        "It met on 3 April with 5 members.",
        "In 2019 the key was 1234567890123456 members.",
    ],
)
def test_bounds_ranges_names_and_uncertain_dates_are_no_measurement(sentence: str) -> None:
    assert sentence_measurement(sentence) is None


@pytest.mark.parametrize(
    ("cell", "parts"),
    [("2019", (2019, 0, 0)), (" May 2019 ", (2019, 5, 0)), ("2019-05-03", (2019, 5, 3)), ("**2019**", (2019, 0, 0))],
)
def test_a_cell_that_is_a_date_is_read_as_one(cell: str, parts: tuple[int, int, int]) -> None:
    day = day_named(cell)
    assert day
    assert (day.year, day.month, day.day) == parts


@pytest.mark.parametrize("cell", ["", "12", "2019 t", "3.4.2019", "2019 and 2020", "31 February 2019", "Elmsund"])
def test_other_cells_are_no_date(cell: str) -> None:
    assert day_named(cell) is None


@settings(max_examples=150)
@given(st.text(alphabet=st.sampled_from("In 20192021-05,.%€$ kgMB tonnes was (at) May3–12th#@|\n"), max_size=120))
def test_any_text_is_read_without_an_error_and_what_is_shown_is_in_it(text: str) -> None:
    found = sentence_measurement(text)
    assert found is None or found.shown in " ".join(text.split())
