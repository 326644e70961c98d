"""The drawing of numbers over time, and how it comes into the notes of a report and of a question."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.charts.numbers.number_chart import WIDTH, number_chart, number_words, scale_of
from pipeline.vault.charts.numbers.number_series import Point, Series
from tests.fakes import MemoryStore
from tests.vault.builders import Story, Workplace, afresh, fact, night

SVG = "{http://www.w3.org/2000/svg}"
LEVELS = "In 2019 the level was 5 m. In 2020 the level was 6 m. In 2021 the level was 4 m."


def series(*values: tuple[str, str], label: str = "The level was …", unit: str = "m") -> Series:
    points = (Point(day, Decimal(value), value, "corpus:a.md", "f1") for day, value in values)
    return Series(label, unit, tuple(points), by_reading=False)


def telling(store: MemoryStore, day: str, quote: str, previous: str = "") -> Story:
    """A session whose answer is this quote."""
    story = Story(store, id=f"{day}-level-3f2a", date=day, query_id="level", previous=previous)
    story.facts = (fact(story.pages[0], quote), *story.facts[1:])
    return story.whole()


def test_the_drawing_names_every_point_and_is_the_same_every_time() -> None:
    drawn = number_chart(series(("2019", "5"), ("2020", "6"), ("2022", "4")))
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert [dot.findtext(f"{SVG}title") for dot in root.iter(f"{SVG}circle")] == ["2019: 5 m", "2020: 6 m", "2022: 4 m"]
    assert root.findtext(f"{SVG}desc") == "2019: 5 m, 2020: 6 m and 2022: 4 m."
    first, second, third = (float(dot.get("cx", "")) for dot in root.iter(f"{SVG}circle"))
    assert third - second == pytest.approx(2 * (second - first), rel=0.01)  # time is to scale
    assert drawn == number_chart(series(("2019", "5"), ("2020", "6"), ("2022", "4")))


def test_hostile_words_are_words() -> None:
    drawn = number_chart(series(("2019", "5"), ("2020", "6"), ("2021", "4"), label="<script>&\x00]]>" * 9, unit="<b>"))
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert not list(root.iter(f"{SVG}script"))


@pytest.mark.parametrize(
    ("value", "unit", "words"),
    [
        ("1200", "tonnes", "1,200 tonnes"),
        ("1200000", "tonnes", "1.2 million tonnes"),
        ("-5", "$", "-$5"),
        ("0.25", "%", "0.25 %"),
        ("14", "€/month", "€14/month"),
        ("2500000000", "", "2.5 billion"),
    ],
)
def test_numbers_read_as_a_person_writes_them(value: str, unit: str, words: str) -> None:
    assert number_words(Decimal(value), unit) == words


@settings(max_examples=150)
@given(
    st.lists(st.decimals(-(10**12), 10**12, allow_nan=False, places=3), min_size=3, max_size=20).filter(lambda v: len(set(v)) > 1)
)
def test_every_value_is_within_a_scale_of_few_round_numbers(values: list[Decimal]) -> None:
    scale = scale_of(values)
    assert 2 <= len(scale.ticks) <= 7
    assert all(-1e-9 <= scale.share(value) <= 1 + 1e-9 for value in values)


def test_the_scale_begins_at_zero_unless_the_differences_would_not_be_seen() -> None:
    assert scale_of([Decimal(5), Decimal(9)]).ticks[0] == 0
    assert scale_of([Decimal(990), Decimal(1000)]).ticks[0] > 0


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.dates(), st.integers(-(10**9), 10**9)), min_size=3, max_size=40, unique_by=lambda one: one[0]))
def test_every_dot_is_inside_the_drawing(points: list[tuple[object, int]]) -> None:
    chosen = sorted((str(day), str(value)) for day, value in points)
    if len({value for _, value in chosen}) > 1:
        root = ElementTree.fromstring(number_chart(series(*chosen)))  # noqa: S314
        height = float(root.get("height", ""))
        assert all(
            0 < float(dot.get("cx", "")) < WIDTH and 0 < float(dot.get("cy", "")) < height for dot in root.iter(f"{SVG}circle")
        )


def test_a_report_whose_answer_gives_a_number_for_three_years_shows_it_with_a_link_to_each_quote(tmp_path: Path) -> None:
    place = Workplace(tmp_path, MemoryStore())
    story = telling(place.store, "2026-11-21", LEVELS)
    place.build()
    note = place.note("reports/").read_text()
    assert "## Numbers over time" in note
    assert "[[#Numbers over time|Numbers over time]]" in note
    assert "-numbers-1.svg|In … the level was … over time]]" in note
    assert "> | 2020 | 6 m | [[sources/" in note
    assert note.count(f"#^q-{story.facts[0].id}") >= 3
    (drawing,) = place.vault.glob("charts/*-numbers-1.svg")
    assert "<circle" in drawing.read_text()


def test_a_report_without_such_numbers_has_no_heading_for_them(tmp_path: Path) -> None:
    place = Workplace(tmp_path, MemoryStore())
    Story(place.store).whole()
    place.build()
    assert "Numbers over time" not in place.note("reports/").read_text()
    assert not list(place.vault.glob("charts/*-numbers-*"))


def test_a_question_researched_on_three_days_shows_what_its_source_said_on_each(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "one", MemoryStore())
    for day, fee in (("2026-11-21", 14), ("2026-11-28", 15), ("2026-12-05", 12)):
        before = next(iter(sorted(place.store.session_ids(), reverse=True)), "")
        night(place.store, telling(place.store, day, f"The fee is {fee} EUR per night.", previous=before), date=day)
        place.build()
        assert bool(list(place.vault.glob("charts/question-*"))) == (fee == 12)
    note = place.note("questions/").read_text()
    assert "> | 28 Nov 2026 | 15 EUR | [[sources/" in note
    assert place.files() == afresh(place, tmp_path / "other")


def test_a_drawing_goes_when_its_numbers_go(tmp_path: Path) -> None:
    place = Workplace(tmp_path, MemoryStore())
    for day, fee in (("2026-11-21", 14), ("2026-11-28", 15), ("2026-12-05", 12)):
        telling(place.store, day, f"The fee is {fee} EUR per night.")
    place.build()
    assert list(place.vault.glob("charts/question-*"))
    gone = "2026-11-28-level-3f2a"
    del place.store.streams[gone]
    place.store.given_up.add(gone)
    place.build()
    assert not list(place.vault.glob("charts/question-*"))
    assert "Numbers over time" not in place.note("questions/").read_text()
