"""Manual pages as a terminal shows them, in a text or inside ``pre``: sections, terms, words cut at the end of a line."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pipeline.adapters.documents.html.html_to_page import read_html
from pipeline.adapters.documents.manual.printed_manual import is_printed_manual, write_printed_manual
from pipeline.adapters.documents.page_writer import PageText
from pipeline.adapters.search.local.read_document import parse
from pipeline.text.page_format import blocks

MANUAL = """
HARBOUR(8)                                                      HARBOUR(8)

NAME
       harbour - the pilot of the harbour

SYNOPSIS
       harbour [-v]

DESCRIPTION
       The  harbour  daemon  brings ships in.  It asks the harbour mas-
       ter before each of them.

   Tides
       At low tide it waits.

OPTIONS
       ship_limit (12)
              The  maximal  number  of ships in the harbour, as the master coun-
              ted them.

       -v     Be verbose: say the name of each ship, and where it is to be moo-
              red.

       -c class,...
              Only ships of these classes.

       After the options come the names of ships.

FILES
       /etc/harbour, the settings
"""


def page_of(text: str) -> str:
    page = PageText()
    write_printed_manual(text, page)
    return page.rendered("harbour(8)")


def test_terms_with_short_descriptions_are_the_items_of_their_section() -> None:
    found = [(block.heading, block.text) for block in blocks(page_of(MANUAL)) if block.kind == "item"]
    assert found == [
        ("OPTIONS", "ship_limit (12): The maximal number of ships in the harbour, as the master counted them."),
        ("OPTIONS", "-v: Be verbose: say the name of each ship, and where it is to be moored."),
        ("OPTIONS", "-c class,...: Only ships of these classes."),
    ]


def test_a_term_with_a_description_of_several_paragraphs_is_a_heading_over_them() -> None:
    more = MANUAL.replace("ted them.\n", "ted them.\n\n              Zero is no limit.\n")
    found = {block.text: block.heading for block in blocks(page_of(more)) if block.kind == "paragraph"}
    assert found["Zero is no limit."] == "ship_limit (12)"
    assert found["After the options come the names of ships."] == "OPTIONS"


def test_text_after_the_terms_stands_under_its_section_again() -> None:
    found = {block.text: block.heading for block in blocks(page_of(MANUAL)) if block.kind == "paragraph"}
    assert found["After the options come the names of ships."] == "OPTIONS"
    assert found["At low tide it waits."] == "Tides"


def test_a_printed_manual_in_a_web_page_is_read_like_one() -> None:
    document = read_html(f"<title>Harbour</title><body><pre>{MANUAL}</pre></body>", "harbour.8")
    assert "- ship_limit (12): The maximal" in document.text
    assert "harbour master before each of them" in document.text
    assert "```" not in document.text


def test_a_printed_manual_in_a_text_file_is_named_by_its_first_line_and_description() -> None:
    found = parse(MANUAL.encode(), Path("page-12.txt"))
    assert found.title == "harbour(8): the pilot of the harbour"
    assert "- ship_limit (12): The maximal" in found.text


def test_of_several_names_the_first_gives_the_title() -> None:
    text = MANUAL.replace("pilot of the harbour\n", "pilot of the harbour\n       tide - the water of the harbour\n")
    assert parse(text.encode(), Path("page-12.txt")).title == "harbour(8): the pilot of the harbour"


def test_a_word_that_a_terminal_cuts_with_its_own_hyphen_is_whole() -> None:
    name = "NAME\n       tide - wait for the har\u2010\n       bour\n\n"
    rest = "USE\n       Ships may\n       wait.\n       All\n       do.\n\nSEE ALSO\n" + 6 * "       harbour(8)\n"
    text = f"TIDE(2)   Manual   TIDE(2)\n\n{name}{rest}"
    assert parse(text.encode(), Path("tide.2.txt")).title == "tide(2): wait for the harbour"


def test_a_listing_with_capitals_stays_code() -> None:
    listing = "NAME\n    INTEGER\nSIZE\n    INTEGER\n"
    assert not is_printed_manual(listing)
    assert "```" in read_html(f"<h1>Types</h1><p>All types:</p><pre>{listing}</pre>", "types").text


@given(
    st.lists(
        st.sampled_from(["", "NAME", "OPTIONS", "A(1) B A(1)", "x", "    a", "       -v   say", "              more of it-"])
    )
)
def test_no_word_of_a_page_is_lost(lines: list[str]) -> None:
    page = PageText()
    write_printed_manual("\n".join(lines), page)
    said = page.rendered("t")
    assert all(word in said for line in lines if not line.startswith("A(1)") for word in line.rstrip("-").split())
