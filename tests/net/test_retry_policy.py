from __future__ import annotations

import math
from email.utils import formatdate
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.net.client import Policy, longer_wait, retry_after

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


@pytest.mark.parametrize("attempt", [1, 2, 5, 50])
def test_a_backoff_is_between_half_of_its_step_and_all_of_it(attempt: int) -> None:
    policy = Policy(first_wait_s=0.5, longest_wait_s=8)
    full = min(8, 0.5 * 2 ** (attempt - 1))
    waits = [policy.backoff(attempt, Random(seed)) for seed in range(200)]
    assert min(waits) >= full / 2
    assert max(waits) <= full
    assert len(set(waits)) > 100


@pytest.mark.parametrize(
    ("in_body", "in_header", "wait"),
    [(None, None, None), (40, None, 40), (1, 60, 60), (math.nan, 5, 5), (-3, None, None), (math.inf, 5, math.inf)],
)
def test_the_longer_of_two_sensible_waits_counts(in_body: float | None, in_header: float | None, wait: float | None) -> None:
    assert longer_wait(in_body, in_header) == wait
