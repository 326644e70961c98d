"""Two versions of a note become one: both sides of a conflict are read, and every line of either is kept once."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.output import frontmatter
from pipeline.vault.output.user_text import UserText, sides, united, united_lines
from tests.vault.builders import OPEN, Workplace, change

lines = st.lists(st.sampled_from(["a", "b", "c", "", "- x", "word one", "word two"]), max_size=8)


@given(lines, lines)
def test_united_lines_have_each_line_as_often_as_the_version_that_has_it_most(ours: list[str], theirs: list[str]) -> None:
    one, two = ("".join(f"{line}\n" for line in version) for version in (ours, theirs))
    found = Counter(line for line in united_lines(one, two).split("\n") if line)
    assert found == Counter(line for line in ours if line) | Counter(line for line in theirs if line)


@given(st.lists(st.tuples(lines, lines, lines), min_size=1, max_size=4))
def test_both_sides_of_conflicts_are_read(parts: list[tuple[list[str], list[str], list[str]]]) -> None:
    marked = ours = theirs = ""
    for before, mine, other in parts:
        text, one, two = ("".join(f"{line}\n" for line in part) for part in (before, mine, other))
        marked += f"{text}<<<<<<< HEAD\n{one}=======\n{two}>>>>>>> other\n"
        ours, theirs = ours + text + one, theirs + text + two
    assert sides(marked) == tuple(dict.fromkeys((ours, theirs)))


def test_a_conflict_inside_a_conflict_has_three_versions() -> None:
    inner = "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"
    assert sides(f"<<<<<<<< A\n{inner}========\nthree\n>>>>>>>> B\n") == ("one\n", "two\n", "three\n")


@pytest.mark.parametrize("text", ["<<<<<<< HEAD\nno end\n", "a ======= b\n", "=======\n>>>>>>> x\n"])
def test_a_text_without_a_whole_conflict_is_one_version(text: str) -> None:
    assert sides(text) == (text,)


def test_properties_with_two_values_are_both_kept_and_lists_become_one() -> None:
    ours = UserText(lines="rating: 4\nMein Feld: a\nread:\n  - x\n")
    theirs = UserText(lines="rating: 5\nMein Feld: b\nread:\n  - y\n")
    found = united(ours, theirs)
    assert frontmatter.load(found.lines) == {"rating": 4, "rating_2": 5, "Mein Feld": "a", "Mein Feld_2": "b", "read": ["x", "y"]}
    assert united(found, theirs) == found


def conflicted(ours: str, theirs: str) -> str:
    return f"<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> 1234567\n"


def test_a_note_with_conflict_marks_is_written_again_with_the_words_of_both_sides(place: Workplace) -> None:
    note = place.note("reports/")
    old = note.read_text()
    change(place.templates / "report.md.j2", '## {{ t("References") }}', "## Literature")
    place.build()
    new = note.read_text()
    sign = [text[text.rindex("%% generated") :] for text in (old, new)]
    marked = new.replace("## Literature\n", conflicted("## References\n", "## Literature\n")).replace(sign[1], conflicted(*sign))
    marked = marked.replace(OPEN, OPEN + conflicted("mine\nboth\n", "theirs\nboth\n")).replace("tags:\n", "tags:\n  - my/tag\n")
    note.write_text(marked)
    report = place.build()
    assert report.problems == report.set_aside == ()
    written = note.read_text()
    assert f"{OPEN}mine\ntheirs\nboth\n" in written
    assert '  - "my/tag"\n' in written
    assert "## Literature" in written
    assert "## References" not in written
    assert "<<<<" not in written
    note.write_text(marked.replace("## References\n", "## References, I think\n"))
    assert len(place.build().set_aside) == 1
