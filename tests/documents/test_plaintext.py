from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.plaintext import read_text


def body(source: str, *, markup: bool = False) -> str:
    return read_text(source, "name", markup=markup).text.removeprefix("# name\n").strip("\n")


def test_hard_wrapped_paragraphs_are_joined() -> None:
    assert body("one\ntwo\n\n  three\n  four\n") == "one two\n\nthree four"


def test_underlined_lines_are_headings_and_the_first_is_the_title() -> None:
    text = read_text("Title\n=====\n\nText.\n\nPart\n----\n\nMore.\n", "name").text
    assert text == "# Title\n\nText.\n\n## Part {#part}\n\nMore.\n"


def test_a_line_over_and_under_makes_a_heading() -> None:
    assert read_text("*****\nTitle\n*****\n\nText.\n", "name").title == "Title"


def test_a_short_line_of_dashes_below_a_paragraph_is_no_heading() -> None:
    assert body("This is a rather long line of text\n---\n") == "This is a rather long line of text ---"


def test_capitals_alone_on_a_line_are_a_heading() -> None:
    assert read_text("x\n\nSAFETY FIRST\n\ny", "name").title == "SAFETY FIRST"
    assert body("x\n\nSTOP.\n\ny\n\nNASA\nlaunched it") == "x\n\nSTOP.\n\ny\n\nNASA launched it"


def test_numbered_lines_alone_are_headings() -> None:
    source = "Title\n=====\n\n1. Introduction\n\ntext\n\n1.2 More of it\n\ntext"
    assert "## 1. Introduction {#1-introduction}\n" in read_text(source, "name").text
    assert "### 1.2 More of it {#1-2-more-of-it}\n" in read_text(source, "name").text
    assert body("1. do this\n2. do that") == "- do this\n- do that"


def test_items_and_their_continuation_lines() -> None:
    assert body("Before:\n- one\n  more\n* two\n") == "Before:\n\n- one more\n- two"


def test_rst_marks_are_taken_away() -> None:
    source = (
        ".. _label:\n\nUse :func:`os.replace` and ``x`` or `this <http://x.org>`_::\n\n    code()\n\n.. note:: Mind it.\n\nEnd."
    )
    assert body(source, markup=True) == "Use os.replace and x or this:\n\n```\n    code()\n```\n\nMind it.\n\nEnd."


def test_what_an_rst_directive_lists_is_not_text() -> None:
    assert body(".. toctree::\n   :maxdepth: 1\n\n   one\n   two\n\nEnd.", markup=True) == "End."


@given(st.text(st.sampled_from("eEbC \n=-*:`1\t"), max_size=200))
def test_any_text_keeps_its_letters(source: str) -> None:
    document = read_text(source, "0")
    lines = [line.partition(" {#")[0] if line.startswith("#") else line for line in document.text.split("\n")]
    assert "".join(lines).count("b") == source.count("b")
