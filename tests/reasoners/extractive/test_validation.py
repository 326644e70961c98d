from __future__ import annotations

from pipeline.questions import ValidationQuestion
from pipeline.reasoners.extractive.validation import bears_out, validate
from pipeline.values import Fact, ValidatedFact
from tests.reasoners.extractive.builders import fact

FIRST = fact("A record survives a power cut only after fsync has returned.", "corpus:a.md")
SECOND = fact("Only after fsync has returned does a record survive a power cut.", "corpus:b.md")
OTHER = fact("The garden of the palace is open to visitors in summer.", "corpus:c.md")


def _entries(*facts: Fact, origins: dict[str, str] | None = None) -> dict[str, ValidatedFact]:
    named = origins or {entry.id: entry.url for entry in facts}
    answer = validate(ValidationQuestion(query="q", groups=(facts,), origins=named))
    return {entry.fact_id: entry for entry in answer.facts}


def test_another_source_that_says_the_same_bears_a_fact_out() -> None:
    entries = _entries(FIRST, SECOND, OTHER)
    assert entries[FIRST.id].standing == "corroborated"
    assert entries[FIRST.id].support == (SECOND.id,)
    assert entries[FIRST.id].confidence > entries[OTHER.id].confidence
    assert entries[OTHER.id].standing == "single"


def test_the_same_source_twice_bears_nothing_out() -> None:
    assert _entries(FIRST, SECOND, origins={FIRST.id: "a", SECOND.id: "a"})[FIRST.id].sources == 1


def test_every_fact_of_the_groups_has_one_entry() -> None:
    answer = validate(ValidationQuestion(query="q", groups=((FIRST, SECOND), (SECOND, OTHER)), origins={}))
    assert [entry.fact_id for entry in answer.facts] == [FIRST.id, SECOND.id, OTHER.id]


def test_another_figure_bears_nothing_out() -> None:
    assert not bears_out("The cache takes 16 MB of memory by default.", "The cache takes 64 MB of memory by default.")
    assert bears_out("The cache takes 1 GB of memory by default.", "By default the cache takes 1,024 MB of memory.")


def test_a_disputed_fact_is_marked() -> None:
    first = fact("The bridge was opened to traffic in 1931.", "corpus:a.md")
    second = fact("The bridge was opened to traffic in 1934.", "corpus:b.md")
    assert {entry.standing for entry in _entries(first, second).values()} == {"disputed"}
