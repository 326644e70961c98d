"""The text of a note: a person's words survive, byte for byte, each line once; properties read alike by YAML 1.1 and 1.2."""

from __future__ import annotations

import re
from collections import Counter

import frontmatter as python_frontmatter
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pipeline.vault.output import frontmatter, user_text
from pipeline.vault.output.frontmatter import Property
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


def test_own_properties_tags_aliases_and_words_are_kept_bytes_that_are_no_text_too(place: Workplace) -> None:
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


INNER = "<<<<<<< a\none\n=======\ntwo\n>>>>>>> b\n"
NO_CONFLICT = ("<<<<<<< HEAD\nno end\n", "a ======= b\n", "=======\n>>>>>>> x\n")


def test_a_conflict_inside_a_conflict_has_three_versions_and_a_text_without_a_whole_one_is_one() -> None:
    assert sides(f"<<<<<<< A\n{INNER}=======\nthree\n>>>>>>> B\n") == ("one\n", "three\n", "two\n")
    assert [sides(text) for text in NO_CONFLICT] == [(text,) for text in NO_CONFLICT]


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


ODD = (
    "1234e56", "0o17", "0x1F", "017", "no", "yes", "on", "null", "~", "", " ", "2026-01-02", "2026-01-02T03:04:05",
    "1:30", "12:30:45", "🚀", 'say "hi"', "it's", "a: b", "# no comment", "- item", "{a: b}", "[x]", "&anchor", "*alias",
    "!tag", "| block", "> fold", "%directive", "@at", "`code`", "line\nbreak", "tab\there", "\\n", "\u2028", "\x85",
    "\ufeff", "\x7f", "<% tp %>", "%% x %%", "key:: value", "x" * 500, "word " * 60, "true", "1.0", ".5", "+1", "-0",
    "=", "<<", "---", "...", "trailing ", "é", "e\u0301", "\U0010ffff", "\x00", "\x1b[0m",
)  # fmt: skip
texts = st.one_of(st.sampled_from(ODD), st.text())
values = st.one_of(
    texts, st.integers(), st.booleans(), st.floats(allow_nan=False, allow_infinity=False), st.lists(texts, min_size=1).map(tuple)
)
# No property is called as YAML 1.1 says yes and no.
names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True).filter(
    lambda name: name not in {"y", "n", "yes", "no", "on", "off"}
)
maps = st.dictionaries(names, values, max_size=6)


@settings(max_examples=60, deadline=None)
@given(maps)
@example({"cost_usd": 0.000001})
def test_both_yaml_versions_read_what_was_written(properties: dict[str, Property]) -> None:
    note = f"---\n{frontmatter.emit(properties)}---\n\nbody\n"
    expected = {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}
    assert python_frontmatter.parse(note)[0] == expected
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    assert (reader.load(frontmatter.emit(properties)) or {}) == expected
    assert frontmatter.load(frontmatter.split(note)[0]) == expected


@given(texts)
def test_a_property_hides_nothing_from_plugins_that_read_the_raw_file(text: str) -> None:
    raw = frontmatter.emit({"title": text})
    assert raw.count("\n") == 1, "never folded"
    assert not any(sign in raw for sign in ("<%", "%>", "%%", "::"))


def test_reading_follows_yaml_1_2_and_tools_that_write_a_list_on_one_line() -> None:
    assert frontmatter.load("x: [How do I back up?]\ny: [b?,c]\n") == {"x": ["How do I back up?"], "y": ["b?", "c"]}
    numbers = frontmatter.load("a: 017\nb: 0o17\nc: 1e3\nd: true\ne:\n")
    assert numbers == {"a": 17, "b": 15, "c": 1000.0, "d": True, "e": None}
    assert frontmatter.load("a: 2026-01-02\nb: no\nc: 1:30\n") == {"a": "2026-01-02", "b": "no", "c": "1:30"}


@pytest.mark.parametrize("raw", ["x: [", "- a\n- b\n", "just words\n", "x: 1\n\ty: 2\n", "a: *b\n"])
def test_broken_properties_are_named(raw: str) -> None:
    with pytest.raises(ValueError, match="properties"):
        frontmatter.load(raw)


def test_the_lines_of_other_keys_are_kept_as_they_are() -> None:
    raw = (
        'title: "x"\nmine: [a,  b]   # why\ntags:\n- one\n- two\n"quoted key": |\n  text: here\n\n  more\n'
        '# a comment\nkind: "home"\nlast: 1\r\n'
    )
    owned = frozenset({"title", "tags", "kind"})
    kept = 'mine: [a,  b]   # why\n"quoted key": |\n  text: here\n\n  more\n# a comment\nlast: 1\r\n'
    assert frontmatter.lines_of_others(raw, owned) == kept


def test_marks_and_line_ends_of_other_editors_are_understood() -> None:
    assert frontmatter.split("\ufeff---\r\nx: 1\r\n---\r\nbody") == ("x: 1\r\n", "body")
