"""Properties read alike by YAML 1.1 and 1.2, which survive an editor."""

from __future__ import annotations

import io
from typing import Any

import frontmatter as python_frontmatter
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from pipeline.vault.output import frontmatter
from pipeline.vault.output.frontmatter import Property

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


def _yaml_1_2(text: str) -> Any:
    reader = YAML(typ="safe", pure=True)
    reader.version = (1, 2)
    return reader.load(io.StringIO(text))


def _as_read(properties: dict[str, Property]) -> dict[str, object]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in properties.items()}


@settings(max_examples=60, deadline=None)
@given(maps)
@example({"cost_usd": 0.000001})
def test_both_yaml_versions_read_what_was_written(properties: dict[str, Property]) -> None:
    note = f"---\n{frontmatter.emit(properties)}---\n\nbody\n"
    expected = _as_read(properties)
    assert python_frontmatter.parse(note)[0] == expected
    assert (_yaml_1_2(frontmatter.emit(properties)) or {}) == expected
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
