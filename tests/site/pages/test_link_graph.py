"""The drawing of a note's neighbours: each is a link, and a few are not worth a drawing."""

from __future__ import annotations

from pipeline.site.pages.link_graph import FEWEST, MOST, local_graph
from pipeline.site.pages.page_values import Link


def neighbours(count: int) -> list[Link]:
    return [Link(f"n{number}.html", f"Note {number}", "report") for number in range(count)]


def test_one_or_two_neighbours_are_listed_and_not_drawn() -> None:
    assert [bool(local_graph("A", "report", neighbours(count))) for count in range(FEWEST + 1)] == [False, False, False, True]


def test_each_of_the_first_neighbours_is_a_link_and_all_are_counted() -> None:
    drawn = local_graph("A <b>", "report", neighbours(20))
    assert drawn.count("<a href=") == MOST
    assert 'aria-label="A &lt;b&gt;: linked with 20 notes"' in drawn
