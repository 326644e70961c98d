from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.markdown.markdown_inline import without_marks
from pipeline.documents.markdown.markdown_to_page import read_markdown
from pipeline.errors import ReadFailed
from pipeline.text.page_format import blocks


def body(source: str) -> str:
    return read_markdown(f"# T\n\n{source}", "name").text.removeprefix("# T\n").strip("\n")


def test_frontmatter_gives_title_author_and_date() -> None:
    document = read_markdown("---\ntitle: A title\nauthor: [A, B]\ndate: 2024-05-01\n---\nText.\n", "name")
    assert (document.title, document.author, document.published) == ("A title", "A, B", "2024-05-01")
    assert document.text == "# A title\n\nText.\n"


@pytest.mark.parametrize("front", ["title: [unclosed", "- a list", "a: b: c", "x: 2024-99-99", "&a [*a]", "\tx: y"])
def test_faulty_frontmatter_is_left_out_and_the_text_is_read(front: str) -> None:
    assert read_markdown(f"---\n{front}\n---\nText.\n", "name").text == "# name\n\nText.\n"


def test_a_rule_at_the_top_is_no_frontmatter() -> None:
    assert read_markdown("---\n\nText.\n", "name").text == "# name\n\nText.\n"


def test_headings_of_both_kinds_and_their_anchors() -> None:
    source = "## One ##\n\nTwo\n---\n\n### Three {#own}\n\n#no heading\n"
    assert body(source) == "## One {#one}\n\n## Two {#two}\n\n### Three {#own}\n\n#no heading"


def test_hard_wrapped_lines_are_joined() -> None:
    assert body("one\ntwo\n\nthree") == "one two\n\nthree"


def test_lists_with_continuation_lines_and_boxes() -> None:
    assert body("- one\n  more\n* [x] two\n1. three\n\nafter") == "- one more\n- two\n- three\n\nafter"


def test_code_in_a_line_that_begins_with_three_ticks_is_no_fence() -> None:
    assert body("```x``` is code") == "x is code"


def test_code_is_kept_as_it_was() -> None:
    assert body("```python\n# x\n\n- y\n```\nafter\n\n    z = 1\n\n~~~\n```\n~~~") == (
        "```\n# x\n\n- y\n```\n\nafter\n\n```\n    z = 1\n```\n\n```\n ```\n```"
    )


def test_tables_with_and_without_outer_bars() -> None:
    assert body("| a | b |\n|---|:-:|\n| 1 | `x` |\n\nc | d\n--|--\n2 | 3\nend") == (
        "| a | b |\n| 1 | x |\n| c | d |\n| 2 | 3 |\n\nend"
    )


def test_quotes_and_callouts_become_paragraphs() -> None:
    assert body("> [!note] Mind\n> this.\n>\n> And that.") == "Mind this.\n\nAnd that."


def test_comments_and_definitions_are_left_out() -> None:
    assert body("a <!-- b\n\nc --> d\n\n[x]: http://example.org\n\n<!-- open") == "a d\n\n<!-- open"


@pytest.mark.parametrize(
    ("marked", "expected"),
    [
        ("**bold** and *it* and __b__ and _i_ and ~~gone~~", "bold and it and b and i and gone"),
        ("snake_case_name and 5 * 3 * 2 and *args", "snake_case_name and 5 * 3 * 2 and *args"),
        ("`**kwargs` and ``a `b` c``", "**kwargs and a `b` c"),
        ("[text](http://x.org/a_(b)) [ref][1] ![alt](p.png) <http://y.org>", "text ref alt http://y.org"),
        ("[[note|shown]] and [[note]] and ![[embed]]", "shown and note and "),
        ("[[note#Part#Sub]] [[note#^id]] [[#Part]] #tag", "note > Part > Sub note Part #tag"),
        ("a &amp; b \\* c <br/> <b>d</b> 1 < 2", "a & b * c  d 1 < 2"),
        ("[![badge](a.svg)](http://x.org)", "badge"),
        ("***both***", "both"),
    ],
)
def test_inline_marks_are_taken_away(marked: str, expected: str) -> None:
    assert without_marks(marked) == expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("a %%gone%% b", "a b"),
        ("a\n\n%%\ngone\n\ngone\n%%\n\nb", "a\n\nb"),
        ("100 %% of it", "100 %% of it"),
        ("`%%x%%` %%y%%", "%%x%%"),
        ("```\n%%x%%\n```", "```\n%%x%%\n```"),
        ("a ^one-id\n\n- b ^37066d\n\n^table-id\n\nx ^2", "a\n\n- b\n\nx ^2"),
        ("> [!note|right]- Mind\n> this", "Mind this"),
    ],
)
def test_obsidians_own_marks_are_left_out(source: str, expected: str) -> None:
    assert body(source) == expected


def test_definitions_are_items_with_their_term() -> None:
    assert body("WAL\n: a log\n  of changes\n: another\n\nafter") == "- WAL: a log of changes\n- WAL: another\n\nafter"


def test_aliases_are_part_of_the_text() -> None:
    text = read_markdown("---\naliases: [WAL, log]\n---\nText.\n", "name").text
    assert text == "# name\n\nAlso known as: WAL, log.\n\nText.\n"


@pytest.mark.parametrize(("name", "title"), [("My note", "My note"), ("index", "Part"), ("2024", "Part"), ("Untitled 1", "Part")])
def test_a_note_is_called_by_its_name_unless_that_says_nothing(name: str, title: str) -> None:
    assert read_markdown("Text.\n\n## Part\n\nMore.\n", name).title == title


def test_a_note_that_this_program_made_is_refused() -> None:
    note = "---\ntitle: x\nkind: report\ntags:\n  - research/report\n---\nText.\n"
    with pytest.raises(ReadFailed, match="a note that this program generated"):
        read_markdown(note, "x")
    assert read_markdown(note.replace("kind: report", "kind: book"), "x").text


@pytest.mark.parametrize(
    "bomb", ["[" * 50_000, "![](" * 20_000, "a` ``b " * 20_000, "<!--" * 20_000, "*a " * 30_000, "# " * 50_000, "|-" * 30_000]
)
def test_hostile_marks_are_read(bomb: str) -> None:
    assert read_markdown(f"{bomb}\n\nThe end.", "name").text.endswith("The end.\n")


@given(st.lists(st.from_regex(r"[a-z]{1,9}( [a-z]{1,9}){0,9}", fullmatch=True), min_size=1, max_size=8))
def test_plain_paragraphs_stay_as_they_are(paragraphs: list[str]) -> None:
    text = read_markdown("\n\n".join(paragraphs), "0").text
    assert [block.text for block in blocks(text)][1:] == paragraphs


@given(st.text(st.sampled_from("ab \n#-*`|>[]()<!{}:=_~1.\t"), max_size=200))
def test_any_markdown_is_read_without_an_error(source: str) -> None:
    assert read_markdown(source, "name").title
