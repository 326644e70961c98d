from __future__ import annotations

import math
from email.utils import formatdate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.net.client import retry_after

NOW = 1_763_750_000.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("54000", 54_000.0),
        ("0", 0.0),
        ("1.5", 1.5),
        (" 7 ", 7.0),
        (formatdate(NOW + 90, usegmt=True), 90.0),
        (formatdate(NOW - 90, usegmt=True), 0.0),
        ("9" * 400, math.inf),
        ("-5", None),
        ("abc", None),
        ("1e309", None),
        ("nan", None),
        ("inf", None),
        ("", None),
        (None, None),
        ("٣", None),
        ("Fri, 99 Foo 2026 99:99:99 GMT", None),
        ("Thu, 01 Jan 99999 00:00:00 GMT", None),
    ],
)
def test_a_retry_after_header_is_seconds_or_a_date_or_nothing(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, NOW) == seconds


@given(st.text())
def test_no_header_is_fatal_and_no_wait_is_negative(value: str) -> None:
    found = retry_after(value, NOW)
    assert found is None or found >= 0
