from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.dotenv import parse

LINES = [
    ("A=b", "b"),
    ("export A=b", "b"),
    ("  A = b  ", "b"),
    ("A=", ""),
    ("A=# nothing", ""),
    ("A=b # why", "b"),
    ("A=b#c", "b#c"),
    ("A='b # $c \\n'", "b # $c \\n"),
    ('A="b\\n\\"c\\"" # why', 'b\n"c"'),
    ("A=a=b==", "a=b=="),
    ("\ufeffA=b", "b"),
    ("A=$HOME", "$HOME"),
    ("A=it's", "it's"),
]


@pytest.mark.parametrize(("line", "value"), LINES)
def test_a_line_is_a_name_and_its_value(line: str, value: str) -> None:
    assert parse(line) == ({"A": value}, ())


@pytest.mark.parametrize("line", ["A", "1A=b", "A-B=c", "=b", "A='b", 'A="b', "A='b' c", 'A="b\\"', "A B=c"])
def test_a_line_that_cannot_be_read_is_a_fault_and_sets_nothing(line: str) -> None:
    values, faults = parse(f"# first\n{line}\n")
    assert values == {}
    assert [fault.line for fault in faults] == [2]


def test_a_name_that_stands_twice_keeps_its_first_value_and_is_a_fault() -> None:
    values, faults = parse("A=b\r\nA=c\r\n")
    assert values == {"A": "b"}
    assert [(fault.line, fault.message) for fault in faults] == [(2, "A is set twice")]


def test_a_fault_never_shows_the_value() -> None:
    _, faults = parse("KEY='sk-canary\nsk-canary\nsk canary=x\n")
    assert len(faults) == 3
    assert all("canary" not in fault.message for fault in faults)


@given(st.text())
def test_any_text_is_values_or_faults(text: str) -> None:
    values, _ = parse(text)
    assert all(name.isascii() and name for name in values)
