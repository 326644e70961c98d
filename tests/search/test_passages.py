from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.documents.pagetext import PageText
from pipeline.search.passages import LARGE, SMALL, SNIPPET, Passage, passages

WORD = st.text(st.sampled_from("abcdefgh"), min_size=1, max_size=4)
SENTENCES = st.lists(WORD, min_size=1, max_size=400).map(lambda words: " ".join(words).replace("a ", "a. "))
BLOCKS = st.lists(
    st.tuples(st.sampled_from(["paragraph", "item", "code", "heading 2", "heading 3", "heading 4"]), SENTENCES), max_size=8
)


def cut(*added: tuple[str, str]) -> list[Passage]:
    page = PageText()
    for kind, text in added:
        if kind.startswith("heading"):
            page.heading(int(kind[-1]), text[:60])
        else:
            {"paragraph": page.paragraph, "item": page.item, "code": page.code}[kind](text)
    return list(passages(page.finished("zz")))


def words(count: int, sentence: int = 10) -> str:
    return " ".join("word." if n % sentence == 0 else "word" for n in range(1, count + 1))


@settings(max_examples=60)
@given(BLOCKS)
def test_cutting_loses_no_word(added: list[tuple[str, str]]) -> None:
    found = cut(*added)
    bodies = " ".join(passage.body for passage in found).split()
    assert bodies == [word for kind, text in added if not kind.startswith("heading") for word in text.split()]
    headings = " ".join(passage.headings for passage in found).split()
    assert set(headings) - {"/"} == {word for kind, text in added if kind.startswith("heading") for word in text[:60].split()}


@settings(max_examples=60)
@given(BLOCKS)
def test_no_passage_is_much_longer_than_the_largest(added: list[tuple[str, str]]) -> None:
    assert all(len(passage.body.split()) <= LARGE + SMALL for passage in cut(*added))


def test_a_passage_ends_where_a_section_ends() -> None:
    found = cut(("heading 2", "One"), ("paragraph", words(100)), ("heading 2", "Two"), ("paragraph", words(100)))
    assert [(*p.places, p.headings) for p in found] == [(("One", "one"), "One"), (("Two", "two"), "Two")]


def test_small_neighbours_of_one_parent_are_put_together() -> None:
    found = cut(*[part for n in range(4) for part in (("heading 3", f"Part {n}"), ("paragraph", words(20)))])
    assert [([place.anchor for place in p.places], p.headings) for p in found] == [
        (["part-0", "part-1", "part-2"], "Part 0 / Part 1 / Part 2"),
        (["part-3"], "Part 3"),
    ]


def test_small_sections_of_different_parents_stay_apart() -> None:
    found = cut(
        ("heading 2", "A"), ("heading 3", "a1"), ("paragraph", words(20)),
        ("heading 2", "B"), ("heading 3", "b1"), ("paragraph", words(20)),
    )  # fmt: skip
    assert [(p.places[0].heading, p.headings) for p in found] == [("a1", "A / a1"), ("b1", "B / b1")]


def test_a_heading_without_text_goes_with_what_follows() -> None:
    found = cut(("heading 3", "f(x)"), ("heading 3", "g(x)"), ("paragraph", words(100)))
    assert [(p.places[0].heading, p.headings) for p in found] == [("g(x)", "f(x) / g(x)")]


def test_a_long_section_is_cut_between_paragraphs_and_keeps_its_heading() -> None:
    found = cut(("heading 2", "Long"), *[("paragraph", words(90)) for _ in range(5)])
    assert [len(p.body.split()) for p in found] == [180, 180, 90]
    assert {p.places[0].anchor for p in found} == {"long"}


def test_a_long_paragraph_is_cut_at_the_ends_of_sentences() -> None:
    found = cut(("paragraph", words(600)))
    assert len(found) > 2
    assert all(p.body.endswith(".") for p in found)


def test_text_without_spaces_is_cut_too() -> None:
    found = cut(("paragraph", "日志是只追加的。" * 400))
    assert len(found) > 3
    assert "".join(p.body.replace(" ", "") for p in found) == "日志是只追加的。" * 400


def test_code_is_searched_but_not_shown() -> None:
    (found,) = cut(("paragraph", "Call it."), ("code", "os.replace(a, b)"))
    assert (found.snippet, found.body) == ("Call it.", "Call it.\nos.replace(a, b)")


def test_a_snippet_ends_with_a_whole_sentence() -> None:
    (found,) = cut(("paragraph", " ".join(["Extraordinarily longwinded sentences follow."] * 45)))
    assert SNIPPET / 2 < len(found.snippet) <= SNIPPET
    assert found.snippet.endswith("follow.")
