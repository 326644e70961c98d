"""What may stand on the command line."""

from __future__ import annotations

from datetime import timedelta

import pytest

from pipeline.cli.command_parts import Length


@pytest.mark.parametrize(
    ("text", "length"),
    [("30s", timedelta(seconds=30)), ("90m", timedelta(minutes=90)), ("12h", timedelta(hours=12)), (" 7d ", timedelta(days=7))],
)
def test_a_length_of_time_is_a_number_with_its_unit(text: str, length: timedelta) -> None:
    assert Length().convert(text, None, None) == length
    assert Length().convert(length, None, None) == length
