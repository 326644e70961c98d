from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.plaintext.plaintext_to_page import read_text


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


def news(source: str, name: str = "x NEWS") -> str:
    return read_text(source, name).text


@pytest.mark.parametrize(
    "line",
    [
        "* Noteworthy changes in release 8.32 (2020-03-05) [stable]",
        "Version 4.2 — faster",
        "version 1.34 - A. Author, 2021-02-13",
        "1.45.6 (2020-03-20)",
        "bash (5.1)",
        "E2fsprogs 1.47.0 (February 5, 2023)",
        "Changes in Wget 1.20",
    ],
)
def test_the_line_that_names_a_release_is_a_heading(line: str) -> None:
    text = line.removeprefix("* ")
    assert news(f"{line}\n\nFaster now.\n").startswith(f"# x NEWS\n\n## {text} {{#")


@pytest.mark.parametrize(
    "line", ["Version 2 of the protocol is better.", "I have 3.5 apples", "See RFC 7231", "It is 1.5 times as fast,"]
)
def test_a_line_with_a_number_is_not_yet_a_release(line: str) -> None:
    assert "##" not in news(f"{line}\n\nMore.\n")


def test_a_news_file_in_outline_mode_has_its_own_title_and_sub_headings() -> None:
    source = (
        "GNU x NEWS      -*- outline -*-\n\n* Noteworthy changes in release 1.2 (2020-01-01)\n\n** Bug fixes\n\n"
        "  One is mended.\n\n* Noteworthy changes in release 1.1\n\n** Faster\n\n** Smaller\n"
    )
    assert news(source) == (
        "# GNU x NEWS\n\n## Noteworthy changes in release 1.2 (2020-01-01) {#noteworthy-changes-in-release-1-2-2020-01-01}\n\n"
        "### Bug fixes {#bug-fixes}\n\nOne is mended.\n\n"
        "## Noteworthy changes in release 1.1 {#noteworthy-changes-in-release-1-1}\n\n- Faster\n- Smaller\n"
    )


def test_a_label_above_items_that_stand_further_in_is_a_heading_in_news() -> None:
    source = "Changes in release 6.1\n======================\n\n* Improvements\n  * One.\n  * Two, which\n    goes on.\n"
    assert news(source).endswith("### Improvements {#improvements}\n\n- One.\n- Two, which goes on.\n")


def test_a_release_that_a_sentence_tells_of_is_a_heading() -> None:
    text = news(
        "This is a terse description of the new features added to bash-5.2 since\nthe release of bash-5.1.\n\n"
        "1. New Features in Bash\n\na. One.\n"
    )
    assert "## bash-5.2 {#bash-5-2}\n\nThis is a terse" in text
    assert "### 1. New Features in Bash {#1-new-features-in-bash}\n\n- One." in text


def test_an_entry_of_a_debian_package_is_a_heading() -> None:
    assert "## grep (3.8-3) unstable {#grep-3-8-3-unstable}\n\nText." in news(
        "grep (3.8-3) unstable; urgency=low\n\n  Text.\n", "grep NEWS.Debian"
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("to re-\nsume the work", "to resume the work"),
        ("an append-\nonly log; append-only it is", "an append-only log; append-only it is"),
        ("an append-\nonly log, to append it only", "an append-only log, to append it only"),
        ("it is self-\nmade", "it is self-made"),
        ("re-\nsume; resume; re-sume", "resume; resume; re-sume"),
        ("A-\nB and x -\ny", "A- B and x - y"),
    ],
)
def test_words_cut_at_the_end_of_a_line_are_joined(source: str, expected: str) -> None:
    assert body(source) == expected


def test_headers_and_footers_of_printed_pages_are_left_out() -> None:
    page = "RFC 9       Title       June 2024\n\ngoes on about page\n\nSmith        Standard         [Page {}]\n"
    text = body("\f".join(page.format(number) for number in range(1, 6)))
    assert text == " ".join(["goes on about page"] * 5)


def test_a_form_feed_alone_parts_paragraphs() -> None:
    assert body("one\n\f\ntwo\n") == "one\n\ntwo"


def test_indented_commands_are_code_and_indented_prose_is_not() -> None:
    assert body(
        "Type:\n\n    $ make install\n    $ x --all\n\nor\n\n      This is a sentence that stands further in, for no reason.\n"
    ) == ("Type:\n\n```\n$ make install\n$ x --all\n```\n\nor\n\nThis is a sentence that stands further in, for no reason.")


def test_columns_keep_their_layout() -> None:
    assert (
        body("old      new\nrealpath     realpath -e\nls      dir\n")
        == "```\nold      new\nrealpath     realpath -e\nls      dir\n```"
    )


def test_options_terms_and_fields_are_items() -> None:
    assert body("  -h, --help     show this\n                 and end\n  -v             say more\n") == (
        "- -h, --help: show this and end\n- -v: say more"
    )
    assert body("--foo\n    Does it.\n") == "- --foo: Does it."
    assert body("Files: *\nCopyright: 2020 A\n  and B\nLicense: MIT\n") == "- Files: *\n- Copyright: 2020 A and B\n- License: MIT"


def test_fields_and_definitions_of_rst_are_items() -> None:
    assert (
        body(":Author: A. B.\n:Date: today\n\nterm\n   what it is\n", markup=True)
        == "- Author: A. B.\n- Date: today\n- term: what it is"
    )


def test_capitals_with_a_colon_above_their_text_are_a_heading() -> None:
    assert "## BUGS {#bugs}\n\nNone known." in read_text("Title\n=====\n\nBUGS:\n  None known.\n", "x").text


@pytest.mark.parametrize(
    ("source", "name", "title"),
    [
        ("Some words\nand more.\n\nPART\n\nx", "bash README", "bash README"),
        ("bash for Debian\n---------------\n\nx", "bash README.Debian", "bash for Debian"),
        ("1.2.3 (2020-01-01)\n\nx\n", "x changelog", "x changelog"),
        ("text\n\nPART\n\nx", "2024", "PART"),
        ("text\nmore", "2024", "2024"),
        ("text\n\n1. Run the script\n\nx", "dpkg.1", "dpkg.1"),
        ("a b\n\nc d\n\ne f\n\ng h\n\nPART\n\nx", "notes", "notes"),
    ],
)
def test_a_title_is_what_the_document_begins_with(source: str, name: str, title: str) -> None:
    assert read_text(source, name).title == title


@pytest.mark.parametrize(
    "bomb", ["* a\n", "** a\n\n", "a-\nb ", "x\n\f", "Version 1.1 ", "1.1", "    x = 1\n\n", "A: b\n", "a   b\n", "- ", "(a) "]
)
@pytest.mark.parametrize("name", ["x", "x NEWS"])
def test_hostile_texts_are_read(bomb: str, name: str) -> None:
    assert read_text(bomb * 20_000, name).title


TITLED = """The Harbour of Halden
The harbour is twelve metres deep at low tide, and ships wait outside of it
at night. A pilot comes aboard before the first of the two breakwaters is
passed.
"""


def test_a_title_line_above_the_first_paragraph_is_no_part_of_its_first_sentence() -> None:
    document = read_text(TITLED, "name")
    assert document.title == "The Harbour of Halden"
    assert "\nThe harbour is twelve metres deep" in document.text


@pytest.mark.parametrize(
    "source",
    [
        "The harbour is deep at low tide and the\nShips wait outside of it at night, all of them,\nuntil it is day.\n",
        "Deep harbours are rare.\nShips like them more than shallow ones, as all their captains say.\nThey do.\n",
        "Ann Smith\n12 Harbour Street, at the second quay behind the old customs house\nHalden\n",
    ],
)
def test_a_first_line_of_prose_is_no_title(source: str) -> None:
    assert read_text(source, "name").title == "name"


FAQ = """
Harbour FAQ

------------------------------------------------------------------------

1.1. Why is the harbour closed at night?
The pilots sleep.

Do not be angry with them: everyone has to sleep for a while.
------------------------------------------------------------------------

1.2. My ship was moved although I have paid for its berth, and
nobody told me.

First of all: ask the harbour master.
"""


def test_the_question_of_an_faq_is_the_heading_of_its_answer_and_rules_are_left_out() -> None:
    text = read_text(FAQ, "harbour FAQ").text
    assert "### 1.1. Why is the harbour closed at night? {#" in text.replace("\n## ", "\n### ")
    assert "## 1.2. My ship was moved although I have paid for its berth, and nobody told me. {#" in text
    assert "\n\nThe pilots sleep.\n\nDo not be angry with them: everyone has to sleep for a while.\n\n" in text
    assert "---" not in text


def test_outside_an_faq_a_numbered_paragraph_is_no_question_unless_it_asks() -> None:
    assert (
        body("Text.\n\n2.1. A ship pays for each day\nin the harbour.\n")
        == "Text.\n\n2.1. A ship pays for each day in the harbour."
    )
    assert body("Text.\n\n2.1. Who pays for a day\nin the harbour?\nThe master.\n").splitlines()[2].startswith("## 2.1. Who pays")


def test_a_list_of_numbered_questions_is_no_answer() -> None:
    found = body("Questions of the harbour FAQ\n\n1. Who pays?\n2. Who does not pay?\n").splitlines()
    assert found[2:] == ["- Who pays?", "- Who does not pay?"]
