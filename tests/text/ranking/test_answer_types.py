"""The kinds of answer that a question wants, and the passages that serve them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.ranking.answer_types import answer_kinds, kind_match

KINDS = {
    "duration": ("How long does the flush take?", "It takes 5 ms on a disk.", "It is done at the end."),
    "count": ("How many pumps are there?", "There are 12 pumps.", "There are pumps."),
    "default": ("What is the port by default?", "The default is another one.", "The port is another one."),
    "date": ("When was the bridge built?", "It was built in 1931.", "It was built of stone."),
    "version": ("Which version added it?", "It was added in 3.11.", "It was added of late."),
    "name": ("Which option sets the limit?", "Use --limit for it.", "Set a limit for it."),
    "reason": ("Why is the file renamed?", "It is renamed because a rename is atomic.", "It is renamed at the end."),
    "permission": ("Is it safe to rename a file?", "It is never safe.", "One renames a file."),
    "how-to": ("How do I rename a file?", "Use a rename for it.", "A rename is atomic."),
    "definition": ("What is a journal?", "A journal is a file.", "Journals grow at their ends."),
    "effect": ("What happens after a crash?", "The record is discarded if torn, and the call returns.", "Crashes came often."),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_question_tells_what_kind_of_answer_it_wants_and_a_passage_whether_it_has_one(kind: str) -> None:
    question, serving, other = KINDS[kind]
    assert kind in answer_kinds(question)
    assert kind_match((kind,), serving) == 1.0
    assert kind_match((kind,), other) == 0.0


GERMAN = {
    "duration": ("Wie lange dauert die Überfahrt?", "Sie dauert 40 Minuten.", "Sie ist ruhig."),
    "count": ("Wie viele Betten hat das Spital?", "Es hat 412 Betten.", "Es hat Betten."),
    "date": ("Wann wurde die Brücke gebaut?", "Am 3. März wurde sie begonnen.", "Sie ist aus Stein."),
    "reason": ("Warum wurde die Bahn eingestellt?", "Sie fuhr nicht mehr, weil der Damm brach.", "Sie fuhr bis Sankt Veit."),
    "definition": ("Was ist ein Meiler?", "Ein Meiler ist ein Haufen aus Holz.", "Meiler rauchen lange."),
}


@pytest.mark.parametrize("kind", GERMAN)
def test_a_german_question_tells_it_too(kind: str) -> None:
    question, serving, other = GERMAN[kind]
    assert answer_kinds(question) == (kind,)
    assert kind_match((kind,), serving) == 1.0
    assert kind_match((kind,), other) == 0.0


@pytest.mark.parametrize(
    "question",
    ["What is the longest name it takes?", "biggest letter in bytes", "What's the most pumps I can have?", "On what port is it?"],
)
def test_a_superlative_or_a_measured_noun_asks_for_a_number(question: str) -> None:
    assert "count" in answer_kinds(question)
    assert "definition" not in answer_kinds(question)


@pytest.mark.parametrize("question", ["How do I put a limit on him?", "Can I raise the number of pumps while they run?"])
def test_a_measured_noun_that_is_not_asked_for_asks_for_no_number(question: str) -> None:
    assert "count" not in answer_kinds(question)


def test_what_is_wrong_asks_for_a_reason_and_not_for_a_definition() -> None:
    assert answer_kinds("What is wrong with mktemp?") == ("reason",)


def test_a_section_of_a_manual_and_a_version_of_three_parts_are_no_number() -> None:
    assert kind_match(("count",), "See read(2) and open(3), since Linux 2.6.36.") == 0.0
    assert kind_match(("count",), "A file of 2.5 MB, (3) of 4.") == 1.0


def test_a_duration_may_be_a_number_behind_its_unit_or_an_end() -> None:
    assert kind_match(("duration",), "It is measured in seconds, and the default is 5.") == 1.0
    assert kind_match(("duration",), "It exists until the system is shut down.") == 1.0


def test_a_question_that_tells_nothing_wants_no_kind_and_no_passage_serves_it() -> None:
    assert answer_kinds("pumps and valves") == ()
    assert kind_match((), "There are 12 pumps.") == 0.0


@given(st.text(max_size=200), st.text(max_size=200))
def test_the_share_that_is_served_lies_between_0_and_1(question: str, passage: str) -> None:
    assert 0.0 <= kind_match(answer_kinds(question), passage) <= 1.0


UNITS = ("1,", "a_", "a.", "a-", "/", "--", "to a ", "if you ", "A", " ", "```", "(", "1.", "every 1 ")


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_line_without_an_end_is_looked_through(unit: str) -> None:
    assert all(kind_match((kind,), unit * 20_000) in (0.0, 1.0) for kind in KINDS)
