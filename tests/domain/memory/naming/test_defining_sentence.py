"""The sentence with which the note of an entity begins."""

from __future__ import annotations

import pytest

from pipeline.domain.memory.naming.defining_sentence import defining_sentence
from pipeline.domain.memory.naming.definitions import definitions
from tests.domain.memory.naming.claims import statements

BESIDE = "DNS, the name service of the net, asks each host in turn."
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
        (
            "DNS, the name service of the net, asks each host in turn.",
            "DNS, the name service of the net, asks each host in turn.",
        ),
    ],
)
def test_a_note_begins_with_what_the_name_means_and_not_with_another_thing_s_definition(claim: str, text: str) -> None:
    found = defining_sentence(("torn write", "DNS", "Domain Name System"), statements(claim))
    assert found is not None
    assert found.text == text


def test_a_name_that_is_only_mentioned_has_no_definition() -> None:
    assert defining_sentence(("DNS",), statements("Some DNS servers are slow.")) is None


@pytest.mark.parametrize(
    "claim",
    [
        "Kettleworth is the name of the gate to a castle in an old song.",
        "Kettleworth is a very useful tool for clerks.",
        "Is Kettleworth the office of the harbour?",
        "Becoming a “Kettleworth” is not a simple matter of papers.",
        "Kettleworth is a difficult commitment to make in winter.",
        "Kettleworth is one of many printing houses that were searched.",
        "“Kettleworth” shall mean the office and its clerks.",
    ],
)
def test_praise_questions_terms_of_contracts_and_where_a_name_is_from_define_nothing(claim: str) -> None:
    assert defining_sentence(("Kettleworth",), statements(claim)) is None


def test_a_title_that_explains_a_name_by_itself_defines_nothing() -> None:
    assert defining_sentence(("codel",), statements("It is fair.", title="codel(8): fair queues with CoDel")) is None


def test_the_document_of_a_name_defines_it_before_others_do() -> None:
    own = statements("A kettle gate is a gate that closes by itself.", title="Kettle gate")[0]
    other = statements("A kettle gate is a pun of sailors.", title="Songs")[0].model_copy(update={"fact": "f9"})
    found = defining_sentence(("kettle gate",), (other, own))
    assert found is not None
    assert found.fact == own.fact


def test_a_sentence_that_begins_with_an_adverb_or_a_clause_defines_nothing() -> None:
    assert definitions("Unfortunately, the clerk of the harbour, who was ill, stayed at home.", "english") == ()


def test_a_title_gives_way_to_a_sentence_of_a_page() -> None:
    found = defining_sentence(("codel",), statements("It is fair.", title="codel(8): a fair queue that drops late packets"))
    assert found is not None
    assert found.is_brief
