"""One quantity over several dates: found where it is sure that it is one, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pytest

from pipeline.domain.state import PageDone
from pipeline.text.normalise import digest_of
from pipeline.vault.charts.numbers.number_series import Series, series_of
from pipeline.vault.session_card import Quoted, Reading

LEVELS = "In 2019 the level was 5 m. In 2020 the level was 6 m. In 2021 the level was 450 cm."


def quoted(text: str, heading: str = "", lead: str = "") -> Quoted:
    return Quoted(digest_of(text.encode())[:12], text, "", heading, "", "", (), (), cited=True, lead=lead)


def reading(*quotes: Quoted | str, url: str = "corpus:a.md", at: str = "2026-11-21", session: str = "") -> Reading:
    page = PageDone(url=url, title="A", digest="", characters=1, at=f"{at}T02:00:00.000Z")
    found = tuple(quoted(one) if isinstance(one, str) else one for one in quotes)
    return Reading(session or f"s-{at}", page, 1, 1, "", (), found)


def found_in(readings: Iterable[Reading]) -> tuple[Series, ...]:
    known = tuple(readings)
    return series_of(known, {one.fact for read in known for one in read.quotes})


def values(series: Series) -> list[tuple[str, float]]:
    return [(point.day, float(point.value)) for point in series.points]


def test_sentences_that_differ_in_number_and_year_are_a_series_in_one_unit() -> None:
    (series,) = found_in([reading(LEVELS)])
    assert values(series) == [("2019", 500), ("2020", 600), ("2021", 450)]
    assert (series.label, series.unit, series.by_reading) == ("In … the level was …", "cm", False)
    assert [point.shown for point in series.points] == ["5 m", "6 m", "450 cm"]


def test_the_columns_of_a_table_are_series_and_rows_of_it_in_another_quote_belong_to_them() -> None:
    first = quoted("| Year | Ships |\n| 2018 | 1,402 |\n| 2019 | 1,377 |", "Traffic")
    second = quoted("| 2020 | 1,010 |\n| 2021 | 1,098 |", "Traffic", lead="| Year | Ships |")
    (series,) = found_in([reading(first, second)])
    assert values(series) == [("2018", 1402), ("2019", 1377), ("2020", 1010), ("2021", 1098)]
    assert series.label == "Traffic: Ships"


def test_a_list_by_years_is_named_by_the_line_that_introduces_it() -> None:
    (series,) = found_in([reading(quoted("- 2019: 5 tonnes\n- 2020: 6 tonnes\n- 2021: 4 tonnes", lead="Catches of herring:"))])
    assert (series.label, series.unit) == ("Catches of herring", "tonnes")


def test_a_number_without_a_date_is_joined_over_the_days_on_which_its_source_was_read() -> None:
    said = {"2026-11-21": 14, "2026-11-22": 15, "2026-11-23": 15, "2026-11-29": 17}
    readings = [reading(f"The fee is {fee} EUR per night.", at=day) for day, fee in said.items()]
    (series,) = found_in(readings)
    assert values(series) == list(said.items())
    assert (series.unit, series.by_reading) == ("€", True)


def test_yearly_reports_are_one_series_and_other_documents_are_not() -> None:
    sold = {2019: 5, 2020: 6, 2021: 7}
    yearly = [reading(f"In {year} it sold {n} boats.", url=f"corpus:elm/report-{year}.md") for year, n in sold.items()]
    (series,) = found_in(yearly)
    assert [point.url for point in series.points] == [f"corpus:elm/report-{year}.md" for year in sold]
    assert not found_in(reading(f"In {year} it sold {n} boats.", url=f"corpus:{'abc'[n - 5]}.md") for year, n in sold.items())


def test_the_same_words_under_another_heading_are_another_quantity() -> None:
    parts = LEVELS.split(". ")
    assert not found_in([reading(*(quoted(part, f"Lake {number}") for number, part in enumerate(parts)))])
    assert found_in([reading(*(quoted(part, f"Levels in {2019 + number}") for number, part in enumerate(parts)))])


@pytest.mark.parametrize(
    "text",
    [
        "In 2019 the level was 5 m. In 2020 the level was 6 m.",  # two dates
        "In 2019 the level was 5 m. In 2020 the level was 5 m. In 2021 the level was 5 m.",  # nothing changes
        "In 2019 the level was 5 m. In 2020 the level was 6 m. In 2021 the level was 7 kg.",  # another unit
        "In 2019 the level was 5 m. In 2020 the level was 6 m. In 2021 the tide was 7 m.",  # another thing
        "In 2019 the size was 5 MB. In 2020 the size was 6 GB. In 2021 the size was 7 KB.",  # of 1,000 or of 1,024?
        f"{LEVELS} In 2020 the level was 9 m.",  # two values for one date
        "In 2019 the level was 5 m. In 2020 the level was 6 m. In May 2021 the level was 7 m.",  # a month is no year
        "The level was 5 m. The level was 6 m. The level was 7 m.",  # no date
    ],
)
def test_where_it_is_not_sure_that_it_is_one_quantity_there_is_no_series(text: str) -> None:
    assert not found_in([reading(text)])


def test_a_reading_that_says_two_things_with_the_same_words_gives_no_series() -> None:
    readings = [reading(f"The fee is {fee} EUR. The fee is 3 EUR.", at=f"2026-11-2{fee - 10}") for fee in (11, 12, 13)]
    assert not found_in(readings)


def test_what_a_source_says_later_of_the_same_year_replaces_what_it_said() -> None:
    revised = LEVELS.replace("was 5 m", "was 4 m")
    (series,) = found_in([reading(LEVELS), reading(revised, at="2026-11-22")])
    assert float(series.points[0].value) == 400
    two = [replace(reading(LEVELS, url="corpus:2019.md")), reading(revised, url="corpus:2020.md")]
    assert not found_in(two)  # two sources that differ; whether they mean the same is not sure


def test_only_what_the_answer_cites_is_shown() -> None:
    known = (reading(LEVELS),)
    assert series_of(known, {"another"}) == ()
    assert series_of(known, ()) == ()


def test_the_same_points_are_shown_once_and_four_series_at_most() -> None:
    table = "| Year | A | B | C | D | E |\n" + "\n".join(
        f"| {year} | {' | '.join(str(year % 7 + n) for n in range(5))} |" for year in range(2018, 2023)
    )
    assert len(found_in([reading(table)])) == 4
    assert len(found_in([reading(LEVELS, f"{LEVELS} More.")])) == 1
