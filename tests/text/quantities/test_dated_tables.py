"""Tables with dates: each numeric column, or row, measures one thing; where a row may be about something else, none does."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.text.quantities.dated_tables import table_measurements

Rows = list[list[str]]


def said(rows: Rows) -> list[tuple[str, str, str]]:
    return [(one.label, one.day.shown if one.day else "", one.shown) for one in table_measurements(rows)]


def test_each_numeric_column_beside_the_dates_is_a_quantity_and_an_empty_cell_is_left_out() -> None:
    rows = [["Year", "Sales (t)", "Staff"], ["2019", "1,200", "4"], ["2020", "–", "5"]]
    assert said(rows) == [("Sales (t)", "2019", "1,200"), ("Staff", "2019", "4"), ("Staff", "2020", "5")]


def test_dates_in_the_header_are_read_by_row() -> None:
    rows = [["", "2019", "2020"], ["Sales", "5 t", "6 t"], ["Staff", "4", "5"]]
    assert said(rows) == [("Sales", "2019", "5 t"), ("Sales", "2020", "6 t"), ("Staff", "2019", "4"), ("Staff", "2020", "5")]


def test_a_table_whose_rows_are_about_different_things_measures_nothing() -> None:
    assert said([["Date", "Town", "People"], ["2019", "Elm", "5"], ["2020", "Ash", "6"]]) == []
    assert said([["Town", "Counted in", "People"], ["Elm", "2019", "5"], ["Ash", "2020", "6"]]) == []


def test_remarks_do_not_hinder() -> None:
    assert len(said([["Year", "People", "Notes"], ["2019", "5", "a census"], ["2020", "6", "an estimate"]])) == 2


def test_columns_that_name_things_are_no_quantities() -> None:
    assert said([["Date", "Version", "Rank"], ["2019", "3", "1"], ["2020", "4", "2"]]) == []


def test_cells_with_more_than_a_number_are_left_out() -> None:
    assert said([["Year", "People"], ["2019", "5 to 7"], ["2020", "> 6"], ["2021", "1.234"], ["2022", "5/7"]]) == []


def test_a_table_without_rows_or_with_uneven_ones_measures_nothing() -> None:
    assert said([["Year", "People"]]) == []
    assert said([["Year", "People"], ["2019"]]) == []
    assert said([]) == []


@settings(max_examples=100)
@given(
    st.lists(st.lists(st.sampled_from(["2019", "2020", "5", "–", "x", "", "1,200 t", "May 2019", "|"]), max_size=4), max_size=5)
)
def test_any_table_is_read_without_an_error(rows: Rows) -> None:
    assert isinstance(table_measurements(rows), tuple)
