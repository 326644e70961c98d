from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.documents.page_writer import BlockKind, PageText, row_text, squash
from pipeline.text.passages import blocks
from pipeline.text.quotes import holds_quote

TEXTS = st.text(st.one_of(st.sampled_from("#-`|{} ~\n\t.a\u2028\x85"), st.characters(codec="utf-8")), max_size=60)


@given(TEXTS)
def test_any_paragraph_is_read_back_as_one_paragraph_with_its_words(text: str) -> None:
    page = PageText()
    page.add("paragraph", text)
    found = [(block.kind, block.text.split()) for block in blocks(page.rendered("Title")) if block.kind != "heading"]
    assert found == ([("paragraph", squash(text).split())] if squash(text) else [])


@given(st.lists(st.tuples(st.sampled_from(["heading", "paragraph", "item", "code", "row"]), TEXTS), max_size=12))
def test_a_page_holds_exactly_the_blocks_that_were_added(added: list[tuple[BlockKind, str]]) -> None:
    page = PageText()
    expected: list[str] = []
    for kind, text in added:
        if kind == "heading":
            page.add("heading", text, 2)
        elif kind == "row":
            page.add(*row_text([text, "second"]))
        else:
            page.add(kind, text)
        expected += _expected(kind, text)
    found = [block.kind for block in blocks(page.rendered("A title of its own"))]
    assert found[1:] == expected


def _expected(kind: str, text: str) -> list[str]:
    filled = bool(squash(text))
    if kind == "row":
        return ["row"]
    if kind == "heading" and squash(text).casefold() == "a title of its own":
        return []
    return [kind] if filled else []


@given(st.lists(TEXTS, max_size=8), st.lists(st.sampled_from(["", "x", "a b", "é", "{y}"]), min_size=8, max_size=8))
def test_every_heading_is_found_again_with_an_anchor_of_its_own(titles: list[str], anchors: list[str]) -> None:
    page = PageText()
    for title, anchor in zip(titles, anchors, strict=False):
        page.add("heading", title, 3, anchor)
    found = [block for block in blocks(page.rendered("A title of its own")) if block.level > 1]
    assert [block.heading for block in found] == [squash(title) for title in titles if squash(title)]
    assert len({block.anchor for block in found}) == len(found)
    assert all(block.anchor for block in found)


def test_what_looks_like_a_mark_is_no_mark_and_stays_a_verbatim_quote() -> None:
    page = PageText()
    for text in ("# not a heading", "- not an item", "| not a row |", "```not code", "## Nor {#this}"):
        page.add("paragraph", text)
    text = page.rendered("Title")
    assert [block.kind for block in blocks(text)][1:] == ["paragraph"] * 5
    assert holds_quote(text, "- not an item")


def test_a_heading_that_repeats_the_title_is_left_out() -> None:
    page = PageText()
    page.add("heading", "The  Title", 1, "top")
    page.add("heading", "Part", 2, "part")
    assert page.rendered("The title") == "# The title\n\n## Part {#part}\n"


def test_a_title_that_ends_like_an_anchor_keeps_its_end() -> None:
    (title,) = blocks(PageText().rendered("About {#ids}"))
    assert title.heading == "About {#ids}"
