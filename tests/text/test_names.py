"""Names of which it is easy to see whether a text mentions them; single words are none."""

from __future__ import annotations

import pytest

from pipeline.text.names import names_in


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("How does ColBERTv3 rank passages?", ("ColBERTv3",)),
        ("Which laptop has the best keyboard?", ()),
        ("What does the “write-ahead log” of Apache Kafka do?", ("write-ahead log", "Apache Kafka")),
        ("How do I set up a Debian server?", ()),
        ("Is PostgreSQL 17 faster than iSCSI?", ("PostgreSQL", "iSCSI")),
        ("Wie groß ist der »Große Bär«?", ("Große Bär",)),
        ("", ()),
    ],
)
def test_quoted_strings_spelt_names_and_runs_of_capitals_are_names(question: str, names: tuple[str, ...]) -> None:
    assert names_in(question) == names
