from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.errors import Malformed
from pipeline.net.calls_and_replies import MAX_DEPTH, STRICT, parse, parse_object

values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(max_examples=50)
@given(st.dictionaries(st.text(), values, max_size=5))
def test_what_is_proper_json_comes_back(value: dict[str, object]) -> None:
    assert parse_object(json.dumps(value).encode()) == value


@given(st.binary())
def test_any_bytes_are_an_object_or_malformed(data: bytes) -> None:
    try:
        value: object = parse_object(data)
    except Malformed:
        value = {}
    assert isinstance(value, dict)


@pytest.mark.parametrize("before", [b"\xef\xbb\xbf", b"\n" * 200, b"  \r\n\t", b"\xef\xbb\xbf\n"])
def test_a_mark_or_white_space_in_front_changes_nothing(before: bytes) -> None:
    assert parse_object(before + b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (b"<!doctype html><title>502</title>", "html"),
        (b'{"a": 1', "cut"),
        (b'{"a": "x', "cut"),
        (b"{'a': 1}", "syntax"),
        (b'{"a": 1} and more', "syntax"),
        (b'{"a": ' + b"[" * 100_000, "too deep"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "too deep"),
        (b"[]", "not an object"),
        (b"null", "not an object"),
        (b'"text"', "not an object"),
        (b'{"a": "\xff"}', "encoding"),
    ],
)
def test_each_fault_has_its_name(data: bytes, kind: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse_object(data)
    assert caught.value.kind == kind


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ('{"a": 1, "a": 2}', "duplicate key"),
        ('{"b": {"a": 1, "a": 1}}', "duplicate key"),
        ('{"a": NaN}', "not a number"),
        ('{"a": -Infinity}', "not a number"),
        ('{"a": 1e999}', "huge number"),
        ('{"a": ' + "9" * 5_000 + "}", "huge number"),
    ],
)
def test_what_could_be_read_in_two_ways_is_refused_in_an_answer_and_read_in_the_body_around_it(text: str, kind: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text, STRICT)
    assert caught.value.kind == kind
    assert parse_object(text.encode()).keys() <= {"a", "b"}


def test_brackets_in_strings_are_not_nesting() -> None:
    assert parse('"' + "[{" * 1_000 + '\\"["', STRICT) == "[{" * 1_000 + '"['
