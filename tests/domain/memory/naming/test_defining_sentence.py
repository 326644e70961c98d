"""The sentence with which the note of an entity begins."""

from __future__ import annotations

import pytest

from pipeline.domain.memory.naming.defining_sentence import defining_sentence
from tests.domain.memory.naming.claims import statements

LONG = "DNS (Domain Name System) answers every question with the addresses of hosts."


@pytest.mark.parametrize(
    ("claim", "text"),
    [
        ("A torn write is a record that was written in part.", "A torn write is a record that was written in part."),
        (
            "The resolver is a set of routines for the Domain Name System (DNS).",
            "DNS: Domain Name System",
        ),
        (LONG, LONG),
    ],
)
def test_a_note_begins_with_what_the_name_means_and_not_with_another_thing_s_definition(claim: str, text: str) -> None:
    found = defining_sentence(("torn write", "DNS", "Domain Name System"), statements(claim))
    assert found is not None
    assert found.text == text


def test_a_name_that_is_only_mentioned_has_no_definition() -> None:
    assert defining_sentence(("DNS",), statements("Some DNS servers are slow.")) is None
