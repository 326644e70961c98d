"""What a sentence may compute from its sources, and what no source gives."""

from __future__ import annotations

import pytest

from pipeline.text.quantities import unsupported_quantity


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("A commit can be unsafe for up to 600 milliseconds.", "The delay is three times the sleep. The sleep is 200 ms."),
        ("The bill is 286 euros a month lower.", "The bill fell from 310 euros a month to 24 euros a month."),
        ("That is 11.8% of the cuts.", "It was found after 118 of the 1,000 cuts."),
    ],
)
def test_a_derived_amount_may_be_computed_from_its_sources(sentence: str, source: str) -> None:
    assert unsupported_quantity(sentence, [source], derived=True) == ""
    assert unsupported_quantity(sentence, [source])


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The first byte comes 20 times as fast.", "The time to first byte fell from 620 ms to 45 ms, measured from 20 places."),
        (
            "Batches of 200 records reach 71,000 records per second.",
            "A batch of 20 records raised it to 7,100 records per second.",
        ),
    ],
)
def test_neither_a_place_in_a_row_nor_a_round_factor_makes_a_figure_computable(sentence: str, source: str) -> None:
    assert unsupported_quantity(sentence, [source], derived=True)


@pytest.mark.parametrize("said", ["9 days", "fourteen months", "1 year", "61 weeks", "2 years"])
def test_a_time_between_two_dates_may_be_computed(said: str) -> None:
    source = {
        "9 days": "It was released on 21 July 2010 and repaired on 30 July 2010.",
        "2 years": "It was released in July 2010 and repaired in August 2012.",
    }.get(said, "It was released on 21 July 2010, and repaired on 21 September 2011.")
    assert unsupported_quantity(f"It was repaired {said} later.", [source], derived=True) == ""
    assert unsupported_quantity("It was repaired 3 days later.", [source], derived=True)
    assert unsupported_quantity("It was repaired 44 months later.", [source], derived=True)


def test_a_date_that_no_calendar_has_gives_no_time() -> None:
    assert unsupported_quantity("It took 9 days.", ["From 21 February 2010 to 30 February 2010."], derived=True)


def test_half_a_unit_is_an_amount() -> None:
    assert unsupported_quantity("It grows to 500 MB.", ["It grows to about half a gigabyte."]) == ""
    assert unsupported_quantity("It takes 15 minutes.", ["It takes a quarter of an hour."]) == ""
    assert unsupported_quantity("It grows to 600 MB.", ["It grows to half a gigabyte."])
    assert unsupported_quantity("It grows to half a gigabyte.", ["It grows to 800 MB."])
    assert unsupported_quantity("It took half a century of work.", ["It took 50 years."]) == ""
