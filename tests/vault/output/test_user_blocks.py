"""A person's words survive, byte for byte; of two versions of a note, every line of either is kept once."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.output import frontmatter, user_text
from pipeline.vault.output.user_text import BlocksMalformed, UserText, sides, united, united_lines
from tests.vault.builders import OPEN, Workplace, change

CLOSE = "%% end notes %%\n"
lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=40).filter(
    lambda line: "%%" not in line and "```" not in line and "~~~" not in line
)
words = st.lists(lines, max_size=6).map(lambda entries: "".join(f"{entry}\n" for entry in entries))


@given(words, words, words)
def test_what_stands_in_a_block_comes_back_from_it(before: str, mine: str, after: str) -> None:
    body = f"{before}{OPEN}{mine}{CLOSE}{after}"
    found = user_text.texts(body)
    assert found == ({"notes": mine} if mine.strip() else {})
    assert user_text.filled(user_text.filled(body, {}), {"notes": mine}) == body
    assert user_text.filled(body, {}) == f"{before}{OPEN}{CLOSE}{after}"


def test_markers_in_a_code_fence_are_text() -> None:
    body = f"```\n{OPEN}```\n{OPEN}~~~\n{CLOSE}~~~\nmine\n{CLOSE}"
    assert user_text.texts(body) == {"notes": f"~~~\n{CLOSE}~~~\nmine\n"}


@pytest.mark.parametrize(
    "body", [OPEN, CLOSE, OPEN + OPEN + CLOSE, OPEN + CLOSE + OPEN + CLOSE, OPEN + "%% end other %%\n", OPEN + "```\n" + CLOSE]
)
def test_markers_that_do_not_pair_up_are_named_with_their_line(body: str) -> None:
    with pytest.raises(BlocksMalformed, match=r"line \d+"):
        user_text.find_blocks(body)


def test_a_block_the_template_lost_comes_last_under_its_own_heading() -> None:
    body = user_text.filled("# Title\n", {"old": "mine\n"})
    assert body == f"# Title\n\n{user_text.KEPT_HEADING}\n\n%% begin old %%\nmine\n%% end old %%\n"
    assert user_text.filled("# Title\n", user_text.texts(body)) == body


def test_own_properties_tags_aliases_and_words_are_kept_bytes_that_are_no_text_too(
    place: Workplace,
) -> None:
    note, mine = place.note("reports/"), b"caf\xe9 \xff\r\nsecond line\r\n"
    change(note, "tags:\n", "rating:   5 # good\ntags:\n  - mine/too\n")
    change(note, "aliases:\n", "aliases:\n  - Power cuts\n")
    note.write_bytes(note.read_bytes().replace(OPEN.encode(), OPEN.encode() + mine))
    report = place.build()
    assert report.set_aside == ()
    assert report.written == (note.relative_to(place.vault).as_posix(),)
    kept = note.read_bytes()
    assert OPEN.encode() + mine in kept
    assert all(part in kept for part in (b"rating:   5 # good\n", b'  - "mine/too"\n', b'  - "Power cuts"\n'))
    assert place.build().written == ()


def test_a_note_that_cannot_be_read_is_left_alone_and_named_until_it_is_mended(place: Workplace) -> None:
    note = place.note("workers/")
    whole = note.read_text()
    change(note, "%% end notes %%", "%% end notes %%\n%% begin notes %%")
    before = note.read_bytes()
    for _ in range(2):
        (named,) = place.build().left_alone
        assert re.search(rf"{note.name}: line \d+", named)
        assert note.read_bytes() == before
    note.write_text(whole)
    assert place.build().left_alone == ()


versions = st.lists(st.sampled_from(["a", "b", "c", "", "- x", "word one", "word two"]), max_size=8)


@given(versions, versions)
def test_united_lines_have_each_line_as_often_as_the_version_that_has_it_most(ours: list[str], theirs: list[str]) -> None:
    one, two = ("".join(f"{line}\n" for line in version) for version in (ours, theirs))
    found = Counter(line for line in united_lines(one, two).split("\n") if line)
    assert found == Counter(line for line in ours if line) | Counter(line for line in theirs if line)


@given(st.lists(st.tuples(versions, versions, versions), min_size=1, max_size=4), st.sampled_from([7, 8]))
def test_both_sides_of_conflicts_are_read_also_in_a_note_that_both_renamed(
    parts: list[tuple[list[str], list[str], list[str]]], signs: int
) -> None:
    marked = ours = theirs = ""
    for before, mine, other in parts:
        text, one, two = ("".join(f"{line}\n" for line in part) for part in (before, mine, other))
        marked += f"{text}{'<' * signs} HEAD\n{one}{'=' * signs}\n{two}{'>' * signs} other\n"
        ours, theirs = ours + text + one, theirs + text + two
    assert sides(marked) == tuple(dict.fromkeys((ours, theirs)))


def test_a_conflict_inside_a_conflict_has_three_versions() -> None:
    inner = "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"
    assert sides(f"<<<<<<< A\n{inner}=======\nthree\n>>>>>>> B\n") == ("one\n", "three\n", "two\n")


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
