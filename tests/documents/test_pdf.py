from __future__ import annotations

from itertools import pairwise

import pytest

from pipeline.documents.pdf_reader import read_pdf
from pipeline.errors import ReadFailed
from pipeline.text.cleaning import normalised
from tests.documents.pdfs import Line, pdf

LONG = "an append-only log survives a power cut when every record is written out"


def sheet(*lines: str, top: float = 700) -> list[Line]:
    """Return lines of 11 points, 14 apart; an empty one leaves a gap."""
    return [(11, top - 14 * at, line) for at, line in enumerate(lines) if line]


def text_of(*pages: list[Line]) -> str:
    return read_pdf(pdf(pages), "name").text


def test_a_word_that_is_written_with_a_hyphen_elsewhere_keeps_it() -> None:
    assert "is append-only too" in text_of(sheet(LONG + " and a store is append-", "only too, as said."))


def test_a_compound_that_a_line_ends_in_keeps_its_hyphen_if_its_parts_are_words_elsewhere() -> None:
    lines = sheet(
        "Ask the debian list or the user list first of all, then write to the debian-", "user list.", "", "IF ELE-", "MENT so"
    )
    assert "debian-user list" in text_of(lines)
    assert "IF ELEMENT so" in text_of(lines)


def test_larger_letters_are_headings() -> None:
    text = text_of([(20, 760, "The Title"), *sheet(LONG, "here."), (15, 600, "A Part"), *sheet(LONG, "there.", top=570)])
    assert text.startswith("# The Title\n")
    assert "\n\n## A Part {#a-part}\n\n" in text


def test_repeated_headers_and_page_numbers_are_dropped() -> None:
    pages = [
        [(9, 780, "Annual report"), *sheet(f"Of {word * 3}", LONG, "and so on", f"on page {word}."), (9, 20, str(n))]
        for n, word in enumerate("abcd", 1)
    ]
    text = text_of(*pages)
    assert text.count("Annual") == 1  # of a letterhead nothing is lost
    assert "\n1\n" not in text
    assert text.count(LONG) == 4


@pytest.mark.parametrize("period", ["202{}", "0{}/2024"])
def test_lines_at_the_edges_of_pages_that_differ_in_numbers_are_kept_and_what_is_left_out_is_counted(period: str) -> None:
    def payslip(month: int) -> list[Line]:
        head = [(9, 780, "Berger works", 50), (9, 780, f"Page {month} of 4", 500)]
        top = f"Statement of {period.format(month)}", f"Bonus: {900 - month}.50 EUR"
        foot = [(11, 60, "Days of leave left", 50), (11, 60, str(31 - 2 * month), 400), (9, 20, "IBAN DE12 3456", 50)]
        return [*head, *sheet(*top, f"Salary {'abcd'[month - 1]}", LONG), *foot]

    page = read_pdf(pdf([payslip(month) for month in range(1, 5)]), "slips")
    counts = [page.text.count(said) for said in ("Berger works", "Page 2", "IBAN", "Statement of ", "Bonus: 89")]
    assert counts == [1, 0, 0, 4, 4]
    assert all(f"Days of leave left {days}" in page.text for days in (29, 27, 25, 23))
    assert page.dropped == {"headers, footers, table of contents": 3 * 6 + 4 * 3}


def test_a_running_header_that_is_a_heading_with_the_page_s_number_is_dropped() -> None:
    names = ("1. Locks", "3. Sluices", "4. Weirs", "7. Moles")
    pages = [[(9, 780, f"{name} {at + 6}"), (20, 740, name), *sheet(LONG, name[3:])] for at, name in enumerate(names)]
    assert text_of(*pages).count("4. Weirs") == 1


def test_title_author_and_date_come_from_the_file_unless_they_are_poor() -> None:
    document = read_pdf(pdf([sheet(LONG)], "/Title (Logs) /Author (A. Author) /CreationDate (D:20240501120000Z)"), "name")
    assert (document.title, document.author, document.published) == ("Logs", "A. Author", "2024-05-01")
    assert read_pdf(pdf([sheet(LONG)], "/Title (report.docx)"), "name").title == "name"


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"not a pdf", pdf([sheet(LONG)])[:200], b"%PDF" + bytes(1000)])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed):
        read_pdf(data, "name")


def test_where_each_page_begins_is_known_in_the_normalised_text() -> None:
    first = [(20.0, 700.0, "Harbours"), (11.0, 650.0, "The tide is high at noon.")]
    third = [(11.0, 650.0, "Ships wait for the pilot outside.")]
    document = read_pdf(pdf([first, [], third]), "x")
    whole = normalised(document.text.strip())
    assert [whole[start:][:10] for start in document.sheets[1:]] == ["Ships wait", "Ships wait"]
    assert document.sheets[0] < whole.index("The tide") < document.sheets[1]
    assert len(document.sheets) == 3


LEFT = (
    "The survey of the marsh began in",
    "the spring of 2019. Each of nine",
    "plots was visited four times and",
    "nests counted.",
)
RIGHT = ("The second part is on the water.", "The sluice was closed for days", "in May as its gate was old,", "and high.")


@pytest.mark.parametrize("by_rows", [True, False])
def test_columns_are_read_one_after_the_other_in_whatever_order_they_were_drawn(by_rows: bool) -> None:
    left = [(11, 600 - 14 * at, line, 50) for at, line in enumerate(LEFT)]
    right = [(11, 600 - 14 * at, line, 320) for at, line in enumerate(RIGHT)]
    drawn = [line for pair in zip(left, right, strict=True) for line in pair] if by_rows else [*right, *left]
    head = (11, 640, "A line above both columns says what the whole page is about, and it is as wide as both.", 50)
    text = read_pdf(pdf([[head, *drawn]]), "name").text
    assert text.index("A line above") < text.index("The survey") < text.index("nests counted.") < text.index("The second part")
    assert " ".join(LEFT) in text
    assert " ".join(RIGHT) in text


def test_cells_below_each_other_are_rows() -> None:
    cells = [("Vessel", "Pilot", "Draught"), ("Ouzel", "Hartnell", "3.4 m"), ("Dunlin", "Pask", "5.1 m")]
    lines = [(11, 600 - 16 * row, cell, 50 + 150 * at) for row, texts in enumerate(cells) for at, cell in enumerate(texts)]
    assert (
        "| Vessel | Pilot | Draught |\n| Ouzel | Hartnell | 3.4 m |\n| Dunlin | Pask | 5.1 m |"
        in read_pdf(pdf([lines]), "n").text
    )


@pytest.mark.parametrize("boxes", [True, False])
def test_an_empty_cell_of_a_ruled_table_keeps_its_column(boxes: bool) -> None:
    edges, levels = [50, 110, 160, 220], [610, 594, 578]
    cells = [(55, 598, "Roach rope"), (112, 598, "17.3 kN"), (165, 598, "Orkel"), (55, 582, "Vimba rope"), (165, 582, "Bergen")]
    drawn = (
        " ".join(f"{a} {low} {b - a} 16 re S" for a, b in pairwise(edges) for low in levels[1:])
        if boxes
        else " ".join([*(f"{x} 610 m {x} 578 l S" for x in edges), *(f"50 {y} m 220 {y} l S" for y in levels)])
    )
    lines = [(11, 640, "Said before it.", 50), *((9, y, text, x) for x, y, text in cells), (11, 550, "Said after it.", 50)]
    assert read_pdf(pdf([lines], drawn=drawn), "n").text.endswith(
        "Said before it.\n\n| Roach rope | 17.3 kN | Orkel |\n| Vimba rope |  | Bergen |\n\nSaid after it.\n"
    )


@pytest.mark.parametrize("quarters", [1, 2, 3])
def test_a_page_that_is_turned_is_turned_back(quarters: int) -> None:
    text = read_pdf(pdf([sheet(LONG, "and the disk has answered.")], turned=quarters), "name").text
    assert f"{LONG} and the disk has answered." in text
