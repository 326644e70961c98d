from __future__ import annotations

import pytest

from pipeline.questions import ContradictionsQuestion
from pipeline.reasoners.extractive.contradictions import clashing, find_contradictions
from pipeline.values import Contradiction, Fact
from tests.reasoners.extractive.builders import fact


@pytest.mark.parametrize(
    ("kind", "first", "second"),
    [
        ("number", "A single Larkstore record may be at most 16 MB in size.", "The maximum size of a Larkstore record is 64 MB."),
        (
            "number",
            "The audit found that 25% of the citations were wrong.",
            "The audit found that 11% of the citations were wrong.",
        ),
        ("number", "The bridge carries four lanes of traffic.", "The bridge carries six lanes of traffic."),
        ("number", "The server listens on port 7420 by default.", "By default the server listens on port 7402."),
        ("date", "The Grat railway was opened in 1898.", "The Grat railway was opened in 1899 after long delays."),
        ("date", "Version 2 of the tool was released in March 2015.", "Version 2 of the tool was released in June 2016."),
        (
            "version",
            "Pattern matching was added to the language in version 2.6.",
            "Pattern matching was added to the language in version 2.4.",
        ),
        ("polarity", "The rename of a file is atomic on this system.", "The rename of a file is not atomic on this system."),
        ("polarity", "The checksum of each record is required.", "The checksum of each record is optional."),
    ],
)
def test_what_cannot_both_hold_is_found(kind: str, first: str, second: str) -> None:
    for pair in ((first, second), (second, first)):
        found = clashing(*pair)
        assert found is not None
        assert found[0] == kind


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("The cache takes 1 GB of memory.", "The cache takes 1,024 MB of memory."),
        ("The journal is flushed every 200 milliseconds.", "The journal is flushed every 0.2 seconds."),
        ("The tea keeps for 12 months in a tin.", "The tea keeps for one year in a tin."),
        ("Trains on the line run at up to 30 km/h.", "Trains on the line run at 18 km/h."),
        ("A cup of the tea contains 35 mg of caffeine.", "A cup of the tea contains 30 to 40 mg of caffeine."),
        ("A cup of the tea contains 35 mg of caffeine.", "A pot of the tea contains 140 mg of caffeine."),
        ("The towers of the bridge are 141 metres high.", "The main span of the bridge is 486 metres long."),
        ("The railway was opened in 1898.", "The railway was electrified in 1911."),
        ("The railway runs in winter.", "The railway does not carry bicycles."),
        ("Integer division by zero raises an error.", "Integer division by zero always raises an error."),
        ("The rename is atomic on Linux.", "The rename is not atomic on Windows."),
        ("Changed in version 3.3: The mode argument is supported.", "Changed in version 3.7: The mode argument is supported."),
        ("The vote of 1990 counted 500 members.", "The vote of 2010 counted 900 members."),
        ("It takes 5 milliseconds on a disk.", "It takes 9 milliseconds on a disk."),
    ],
)
def test_what_can_both_hold_raises_no_alarm(first: str, second: str) -> None:
    assert clashing(first, second) is None
    assert clashing(second, first) is None


A = fact("The audit found that 25% of the citations were wrong.", "corpus:a.md")
B = fact("The audit found that 11% of the citations were wrong.", "corpus:b.md")


def _found(group: tuple[Fact, ...], origins: dict[str, str]) -> tuple[Contradiction, ...]:
    return find_contradictions(ContradictionsQuestion(query="q", groups=(group,), origins=origins)).contradictions


def test_a_contradiction_names_both_facts_and_says_what_each_says() -> None:
    (pair,) = _found((A, B), {A.id: "a", B.id: "b"})
    assert {pair.a, pair.b} == {A.id, B.id}
    assert "25%" in pair.explanation
    assert "11%" in pair.explanation
    assert pair.subject == "audit found … of the citations were wrong"


@pytest.mark.parametrize(
    ("first", "second", "subject"),
    [
        ("The usual value of k1 in BM25 is 1.2.", "The usual value of k1 in BM25 is 2.0.", "value of k1 in BM25"),
        (
            "In the test of 40 laptops, 9 laptops lost records after a power cut.",
            "The test of 40 laptops found that 14 laptops lost records after a power cut.",
            "test … laptops lost records after a power cut",
        ),
    ],
)
def test_a_contradiction_is_named_in_the_words_that_both_claims_share(first: str, second: str, subject: str) -> None:
    a, b = fact(first, "corpus:a.md"), fact(second, "corpus:b.md")
    (pair,) = _found((a, b), {a.id: "a", b.id: "b"})
    assert pair.subject == subject


def test_one_source_does_not_contradict_itself() -> None:
    assert _found((A, B), {A.id: "a", B.id: "a"}) == ()


def test_the_order_of_a_group_does_not_matter() -> None:
    origins = {A.id: "a", B.id: "b"}
    assert _found((A, B), origins) == _found((B, A), origins)
