"""Manual pages as a terminal shows them, in a text or inside ``pre``: sections, terms, words cut at the end of a line."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.html.html_to_page import read_html
from pipeline.documents.manual.printed_manual import is_printed_manual, write_printed_manual
from pipeline.documents.page_writer import Document, PageText
from pipeline.documents.read_document import parse
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


WRAPPED = """
NAME
       berth - places of ships

DESCRIPTION
       -v     Be verbose: say the name of each ship, and where it lies.

       A ship in the outer harbour is moved only at the static priority
       0; the nice value of the crew does not matter for it.

       The harbour master causes the ship to wait with the number on the board
       line.  In the examples below, the board says 99.

       berth_low_water (Boolean; default: off; since Release 2.4.21/2.6;
       obsolete since Release 4.14)
              The harbour closes at low water, whatever the master says about it.

       -e read=set
       -e reads=set
       --read=set
              Write down all that comes in.

       -E name=value
       --env=name=value
       -u     Run with the value in the environment of the ship, for a while.

       BERTH_NORTH, BERTH_SOUTH, BERTH_EAST, BERTH_WEST, BERTH_INNER,
       BERTH_OUTER
              The place of the ship in the harbour.

       void
       moor(int ship)
       {
           /* A ship must not be moored
              twice in the same place. */
           tie(ship);
       }
"""


def test_the_second_line_of_a_sentence_is_no_term() -> None:
    found = [block.text for block in blocks(page_of(WRAPPED)) if block.kind == "paragraph"]
    assert found[1].endswith("at the static priority 0; the nice value of the crew does not matter for it.")
    assert found[2].endswith("with the number on the board line. In the examples below, the board says 99.")


def test_a_term_of_several_lines_or_several_terms_with_one_description_are_whole() -> None:
    found = [block.text for block in blocks(page_of(WRAPPED)) if block.kind == "item"]
    assert [text.rpartition(": ")[0] for text in found[1:]] == [
        "berth_low_water (Boolean; default: off; since Release 2.4.21/2.6; obsolete since Release 4.14)",
        "-e read=set, -e reads=set, --read=set",
        "-E name=value, --env=name=value, -u",
        "BERTH_NORTH, BERTH_SOUTH, BERTH_EAST, BERTH_WEST, BERTH_INNER, BERTH_OUTER",
    ]


def test_the_brace_of_a_function_is_no_term_and_its_lines_stay_code() -> None:
    (code,) = [block.text for block in blocks(page_of(WRAPPED)) if block.kind == "code"]
    assert code.split("\n")[:3] == ["void", "moor(int ship)", "{"]
    assert code.endswith("    tie(ship);\n}")


def test_numbered_items_without_a_blank_line_between_are_items() -> None:
    text = WRAPPED.partition("       void")[0] + "       1. Ring the bell.\n       2. Wait for the master\n          to come.\n"
    assert page_of(text).endswith("- 1. Ring the bell.\n- 2. Wait for the master to come.\n")


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


DISPLAYED = """
HARBOUR(8)\t\tHarbour Manual\t\tHARBOUR(8)

NAME
       pilot, harbour - brings the
       ships in

SYNOPSIS
       harbour [-v] [-t tide] ship ...
       harbour -l [-v] ship

DESCRIPTION
       The  harbour  daemon  brings ships in.  It will con\u2010
       tinue at night.  These are brought in first:

       \u2022  ferries

       \u2022  tugs, if they are not at work for another ship that has come in
          before them.

OPTIONS
       -c, --class class
           Only ships of this class.

       -o order
              In which order:

              size   Large ships first, because they need the most of the
                     water.

              none   As they come.

FILES
       /etc/harbour.conf
       /var/log/harbour.log

Harbour 2.1			  2024-03-05			 HARBOUR(8)
"""


def _read(text: str, name: str = "harbour") -> Document:
    return parse(text.encode(), Path(f"{name}.txt"))


def test_a_manual_page_in_a_text_file_has_a_title_sections_and_a_date() -> None:
    document = _read(DISPLAYED)
    assert document.title == "harbour(8): brings the ships in"
    assert document.published == "2024-03-05"
    headings = [block.text for block in blocks(document.text) if block.kind == "heading" and block.level == 2]
    assert headings[:4] == ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS"]
    assert "HARBOUR(8)" not in document.text


def test_its_words_items_and_terms_are_whole_and_its_synopsis_keeps_its_lines() -> None:
    found = [(block.kind, block.text) for block in blocks(_read(DISPLAYED).text)]
    assert ("code", "harbour [-v] [-t tide] ship ...\nharbour -l [-v] ship") in found
    assert any("It will continue at night." in text for _, text in found)
    assert ("item", "ferries") in found
    assert ("item", "tugs, if they are not at work for another ship that has come in before them.") in found
    assert ("item", "-c, --class class: Only ships of this class.") in found
    assert ("item", "size: Large ships first, because they need the most of the water.") in found
    assert ("code", "/etc/harbour.conf\n/var/log/harbour.log") in found


def test_bold_by_overstriking_and_by_escapes_is_read_as_its_letters() -> None:
    bold = DISPLAYED.replace("NAME\n", "N\bNA\bAM\bME\bE\n").replace("OPTIONS", "\x1b[1mOPTIONS\x1b[0m")
    assert _read(bold).text == _read(DISPLAYED).text


def test_of_several_names_with_a_line_each_the_files_own_is_the_title() -> None:
    text = DISPLAYED.replace(
        "pilot, harbour - brings the\n       ships in", "quay - where ships lie\n       harbour - where quays are"
    )
    assert _read(text).title == "harbour(8): where quays are"


@given(st.text(" \n\tabcNAME-.:•()1\u2010\b", max_size=300))
def test_any_text_after_a_manuals_head_is_read_without_an_error(rest: str) -> None:
    assert _read(DISPLAYED + rest).text.startswith("# ")
