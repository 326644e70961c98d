"""What a page tells about the topic as a whole."""

from __future__ import annotations

from pipeline.reasoners.extractive.portrait import LONGEST, portrait
from pipeline.reasoners.extractive.reading import read

QUERY = "How does an archive keep letters?"
PAGE = """# Letters in the archive

An archive keeps letters in boxes of plain cardboard.

## Boxes {#boxes}

Each box holds two hundred letters in the order of their arrival.

## Shelves for letters {#shelves}

The shelves for the boxes stand two metres from the window.

## Canteen {#canteen}

Soup and bread are served at noon to whoever is hungry.
Guests may bring their own sandwiches on a sunny day.
Coffee is sold by the porter until four in the afternoon.
The tables are wiped by whoever leaves as the last one.
"""


def _told(text: str, title: str = "Letters in the archive", keywords: tuple[str, ...] = ("archive", "letters")) -> list[str]:
    return [read(text).units[place].text for place in portrait(text, title, QUERY, keywords)]


def test_a_page_about_the_topic_tells_more_than_the_sentences_that_name_it() -> None:
    told = _told(PAGE)
    assert "An archive keeps letters in boxes of plain cardboard." in told
    assert "The shelves for the boxes stand two metres from the window." in told


def test_a_place_that_never_names_the_topic_comes_last_and_is_left_out_by_half() -> None:
    told = _told(PAGE)
    assert len(told) == len(read(PAGE).units) // 2
    assert not any(word in told[0] for word in ("Soup", "sandwiches", "Coffee", "tables"))


def test_a_page_without_the_topic_tells_nothing() -> None:
    assert _told("# Weather\n\nRain is expected in the northern valleys during the week.\n", "Weather") == []


def test_no_two_statements_overlap_and_a_long_page_is_not_told_whole() -> None:
    sentences = [f"The archive keeps letter number {number} in box {number * 7}." for number in range(300)]
    page = "# The archive\n\n" + "\n\n".join(f"{sentence} It is sealed." for sentence in sentences) + "\n"
    units = [read(page).units[place] for place in portrait(page, "The archive", QUERY, ("archive", "letters"))]
    spoken = [number for unit in units for number in range(unit.first, unit.last + 1)]
    assert len(units) == LONGEST
    assert len(spoken) == len(set(spoken))
