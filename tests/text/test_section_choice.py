"""Which sections of a long page are shown, and what is named of the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.cleaning import tokens
from pipeline.text.page_excerpts import Place, sections_of, shown_parts, with_marks
from pipeline.text.quotes import Span

LONG = "# Manual\n\n" + "\n\n".join(f"## Part {n} {{#p{n}}}\n\n{f'Sentence {n} of it. ' * 60}" for n in range(40))


def test_of_a_page_that_does_not_fit_what_was_hit_is_shown_with_its_neighbours() -> None:
    hits = [Place("p20", "Part 20", "")]
    spans = shown_parts(LONG, hits, 1_500)
    shown = "".join(LONG[start:end] for start, end in spans)
    assert all(f"## Part {n} " in shown for n in (19, 20, 21))
    assert list(spans) == sorted(spans)
    more = shown_parts(LONG, hits, 1_500, spans)
    assert more
    assert not any(start < end_before and start_before < end for start, end in more for start_before, end_before in spans)
    assert shown_parts(LONG, hits, 1_500, [(0, len(LONG))]) == ()
    assert shown_parts(LONG, hits, 1_000_000) == (Span(0, len(LONG)),)
    assert "".join(LONG[start:end] for section in sections_of(LONG) for start, end in section.pieces) == LONG


@given(st.text(max_size=400), st.integers(1, 60))
def test_what_is_shown_of_a_page_never_fails_and_fits(text: str, room: int) -> None:
    spans = shown_parts(text, [Place("", "", text[-9:])], room)
    assert sum(tokens(text[start:end]) for start, end in spans) <= max(room, 1) + 8


def test_what_was_hit_is_shown_whole_with_the_introduction_of_what_holds_it_and_headings_alone_are_not_shown() -> None:
    settings = "".join(f"### set_{n} {{#s{n}}}\n\n{f'Setting {n} does this. ' * 20}\n\n" for n in range(9))
    text = (
        f"# All\n\n## Targets {{#t}}\n\nAt most one of them can be used.\n\n{settings}## Empty {{#empty}}\n\n## End\n\nIt is.\n"
    )
    hits = [Place("s5", "set_5", "")]
    shown = "".join(text[start:end] for start, end in shown_parts(text, hits, 400, around=1, always=False))
    assert "Setting 5 does this. " * 20 in shown
    assert "At most one of them can be used." in shown
    assert shown_parts(text, [Place("empty", "Empty", "")], 400, around=0, always=False) == ()


def test_where_the_piece_that_was_hit_does_not_fit_a_shorter_one_is_shown_and_never_again() -> None:
    text = "".join(f"{f'Case {n} is so. ' * 70}\n\n" for n in range(7)) + "A last word.\n"
    (span,) = shown_parts(text, [Place("", "", "Case 1")], 500, around=1, always=False)
    assert "Case 1 is so. " * 70 in text[span.start : span.end]
    assert shown_parts(text, [Place("", "", "Case 2")], 1_100, [span], around=1, always=False)[0].start == span.end


def test_the_headings_of_what_is_left_out_are_named_the_upper_and_nearest_ones_if_there_are_many() -> None:
    parts = {name: f"## {name} {{#{name}}}\n\nIt is.\n\n" for name in ("Locks", "Limits", "Uses", "Ends")}
    text = f"# Files\n\n{''.join(parts.values())}### Note\n\nIt is.\n\n### Note\n\nIt is.\n\n## Nothing\n"
    shown = [Span(at := text.index(parts["Limits"]), at + len(parts["Limits"]))]
    assert with_marks(text, shown) == "[… left out: Locks]\n\n## Limits\n\nIt is.\n\n[… left out: Uses; Ends]"
    assert with_marks(text, shown, [(0, at)]) == "[…]\n\n## Limits\n\nIt is.\n\n[… left out: Uses; Ends]"
    assert "Locks" not in with_marks(text, shown, named=False)
    many = LONG.replace("## Part ", "## What the manual says of part ").replace("## What the manual says of part 3 ", "# Part 3 ")
    (span,) = [section.span for section in sections_of(many) if section.anchor == "p20"]
    marks = with_marks(many, [span]).replace(many[span.start : span.end].strip().replace(" {#p20}", ""), "")
    assert all(name in marks for name in ("Part 3;", "part 19]", "left out: What the manual says of part 21;"))
    assert "part 39" not in marks
    assert marks.startswith("[… left out: 3 more sections; Part 3; 10 more sections; What")
    assert marks.endswith("; 13 more sections]")
    assert tokens(marks) < 180


def test_the_heading_of_a_section_that_was_found_and_has_no_room_is_named_before_upper_and_nearer_ones() -> None:
    many = f"{LONG.replace('## Part ', '## What the manual says of part ')}\n\n### Its exception {{#e}}\n\nNever.\n"
    shown = [Span(0, many.index("## What the manual says of part 2 "))]
    assert "exception" not in with_marks(many, shown)
    assert "Its exception" in with_marks(many, shown, found=[Place("e", "Its exception", "Never.")])


def test_what_goes_on_with_a_section_is_named_as_continued() -> None:
    text = f"# Files\n\n{'It is. ' * 400}\n\n{'It was. ' * 400}\n\n### Field {{#f}}\n\nOne.\n\n## Files {{#files}}\n\nThe end.\n"
    field, end = text.index("### Field"), text.index("## Files")
    assert "[… left out: Files (continued); Field; Files (continued)]" in with_marks(text, [Span(0, text.index("It was"))])
    assert with_marks(text, [Span(0, field)]).endswith("[… left out: Field; Files (continued)]")
    assert with_marks(text, [Span(field, end)]).endswith("One.\n\n[… left out: Files (continued)]")
