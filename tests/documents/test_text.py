from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.text_and_manual_reader import read_text


def body(source: str) -> str:
    return read_text(source, "name").text.removeprefix("# name\n").strip("\n")


def test_underlined_lines_are_headings_and_the_first_is_the_title() -> None:
    text = read_text("Title\n=====\n\nText.\n\nPart\n----\n\nMore.\n", "name").text
    assert text == "# Title\n\nText.\n\n## Part {#part}\n\nMore.\n"
    assert read_text("*****\nTitle\n*****\n\nText.\n", "name").title == "Title"


def test_numbered_lines_alone_are_headings() -> None:
    text = read_text("Title\n=====\n\n1. Introduction\n\ntext\n\n1.2 More of it\n\ntext", "name").text
    assert "## 1. Introduction {#1-introduction}\n" in text
    assert "### 1.2 More of it {#1-2-more-of-it}\n" in text
    assert body("1. do this\n2. do that") == "- 1. do this\n- 2. do that"


def test_what_is_set_in_columns_keeps_its_lines() -> None:
    assert body("name      size\nOuzel     3.4\nDunlin    5.1\n") == "```\nname      size\nOuzel     3.4\nDunlin    5.1\n```"


@given(st.text(st.sampled_from("eEbC \n=-*:`1\t"), max_size=200))
def test_any_text_keeps_its_letters(source: str) -> None:
    document = read_text(source, "0")
    lines = [line.partition(" {#")[0] if line.startswith("#") else line for line in document.text.split("\n")]
    assert "".join(lines).count("b") == source.count("b")


def test_commands_that_are_set_in_keep_their_lines_and_wrapped_text_does_not() -> None:
    wrapped = "    A quotation that is set in and wrapped over several lines of\n    the text stays a paragraph.\n"
    source = f"To switch it on:\n\n    mkdir -p /var/log/x\n    tool --create\n\nThen it works.\n\n{wrapped}\n  - one\n  - two\n"
    text = read_text(source, "x").text
    assert "```\nmkdir -p /var/log/x\ntool --create\n```" in text
    assert "several lines of the text stays a paragraph." in text
    assert "- one\n- two" in text
