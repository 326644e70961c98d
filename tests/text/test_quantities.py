"""Numbers, units and dates of a sentence, and what no source gives."""

from __future__ import annotations

import pytest

from pipeline.text.quantities import unsupported_quantity


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("It takes 200 milliseconds.", "The sleep is 200 ms."),
        ("The bill fell to 24 euros a month.", "The bill fell from 310 euros a month to 24 euros a month."),
        ("It was found after 118 of 1000 cuts.", "It was found after 118 of the 1,000 cuts."),
        ("It was released in July 2010.", "It was released on 21 July 2010."),
        ("It holds 4 KiB.", "It holds 4,096 bytes."),
        ("Version 3.10 has it.", "It came with version 3.10."),
    ],
)
def test_an_amount_or_a_date_is_given_in_whatever_unit_and_spelling(sentence: str, source: str) -> None:
    assert unsupported_quantity(sentence, [source]) == ""


@pytest.mark.parametrize(
    ("sentence", "source", "shown"),
    [
        ("It takes 200 seconds.", "The sleep is 200 ms.", "200 seconds"),
        ("Batches reach 71,000 records.", "A batch raised it to 7,100 records.", "71,000"),
        ("It was released on 22 July 2010.", "It was released on 21 July 2010.", "22 July 2010"),
        ("Version 3.1 has it.", "It came with version 3.10.", "3.1"),
        ("The dye is E220.", "The dye is E202.", "E220"),
    ],
)
def test_what_no_source_gives_is_named_as_it_is_written(sentence: str, source: str, shown: str) -> None:
    assert unsupported_quantity(sentence, [source]) == shown


def test_half_a_unit_is_an_amount() -> None:
    assert unsupported_quantity("It grows to 500 MB.", ["It grows to about half a gigabyte."]) == ""
    assert unsupported_quantity("It takes 15 minutes.", ["It takes a quarter of an hour."]) == ""
    assert unsupported_quantity("It grows to 600 MB.", ["It grows to half a gigabyte."])
    assert unsupported_quantity("It grows to half a gigabyte.", ["It grows to 800 MB."])
    assert unsupported_quantity("It took half a century of work.", ["It took 50 years."]) == ""
