from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from pipeline.documents.pdf_to_page import read_pdf
from pipeline.errors import ReadFailed
from pipeline.text.normalise import normalised
from tests.documents.pdfs import Line, pdf

LONG = "an append-only log survives a power cut when every record is written out"


def sheet(*lines: str, top: float = 700) -> list[Line]:
    """Return lines of 11 points, 14 apart; an empty one leaves a gap."""
    return [(11, top - 14 * at, line) for at, line in enumerate(lines) if line]


def text_of(*pages: list[Line]) -> str:
    return read_pdf(pdf(pages), "name").text


def test_lines_are_joined_into_paragraphs_by_their_distance() -> None:
    lines = sheet(LONG, "and the disk has answered.", "", "A second paragraph follows", "over two lines.")
    assert text_of(lines) == f"# name\n\n{LONG} and the disk has answered.\n\nA second paragraph follows over two lines.\n"


def test_words_cut_at_the_end_of_a_line_are_joined() -> None:
    assert "a sentence of words." in text_of(sheet(LONG + " in a sen-", "tence of words."))


def test_a_word_that_is_written_with_a_hyphen_elsewhere_keeps_it() -> None:
    assert "is append-only too" in text_of(sheet(LONG + " and a store is append-", "only too, as said."))


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
    assert "Annual" not in text
    assert "\n1\n" not in text
    assert text.count(LONG) == 4


def test_bullets_are_items() -> None:
    assert text_of(sheet("Three things:", "- one", "- two that goes on", "over a line")).endswith(
        "- one\n- two that goes on over a line\n"
    )


def test_title_author_and_date_come_from_the_file_unless_they_are_poor() -> None:
    document = read_pdf(pdf([sheet(LONG)], "/Title (Logs) /Author (A. Author) /CreationDate (D:20240501120000Z)"), "name")
    assert (document.title, document.author, document.published) == ("Logs", "A. Author", "2024-05-01")
    assert read_pdf(pdf([sheet(LONG)], "/Title (report.docx)"), "name").title == "name"


def test_a_scan_is_reported_as_such() -> None:
    with pytest.raises(ReadFailed, match="no text layer"):
        read_pdf(pdf([[]]), "name")


@pytest.mark.parametrize("data", [b"", b"%PDF-1.4\n", b"not a pdf", pdf([sheet(LONG)])[:200], b"%PDF" + bytes(1000)])
def test_a_broken_file_is_refused(data: bytes) -> None:
    with pytest.raises(ReadFailed):
        read_pdf(data, "name")


def test_several_threads_read_at_the_same_time() -> None:
    data = pdf([sheet(LONG, f"word {n} of it.") for n in range(5)])
    with ThreadPoolExecutor(4) as threads:
        texts = set(threads.map(lambda _: read_pdf(data, "name").text, range(20)))
    assert len(texts) == 1


def test_where_each_page_begins_is_known_in_the_normalised_text() -> None:
    first = [(20.0, 700.0, "Harbours"), (11.0, 650.0, "The tide is high at noon.")]
    third = [(11.0, 650.0, "Ships wait for the pilot outside.")]
    document = read_pdf(pdf([first, [], third]), "x")
    whole = normalised(document.text.strip())
    assert [whole[start:][:10] for start in document.sheets[1:]] == ["Ships wait", "Ships wait"]
    assert document.sheets[0] < whole.index("The tide") < document.sheets[1]
    assert len(document.sheets) == 3
