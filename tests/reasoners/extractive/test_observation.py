from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pipeline.questions import Observation, ObservationQuestion
from pipeline.reasoners.extractive.observation import observe
from pipeline.text import holds_quote
from tests.reasoners.extractive.builders import LOG_PAGE, view

QUERY = "How does an append-only log survive a power cut?"


def _observed(query: str, text: str = LOG_PAGE, limit: int = 8, focus: tuple[str, ...] = ()) -> Observation:
    question = ObservationQuestion(
        query=query,
        perspective=view(query),
        searches=(),
        url="corpus:a.md",
        title="Append-only logs",
        text=text,
        focus=focus,
        limit=limit,
    )
    return observe(question)


def _claims(query: str, limit: int = 8) -> list[str]:
    return [finding.claim for finding in _observed(query, limit=limit).findings]


def test_the_best_finding_answers_the_query() -> None:
    assert _claims(QUERY)[0] == "A record survives a power cut only after the fsync call has returned."


def test_every_claim_is_its_quote_and_stands_in_the_page() -> None:
    findings = _observed(QUERY).findings
    assert findings
    assert all(finding.claim == finding.quote and holds_quote(LOG_PAGE, finding.quote) for finding in findings)


def test_code_boilerplate_and_other_subjects_are_not_found() -> None:
    found = " ".join(_claims(QUERY))
    assert "in this code" not in found
    assert "Copyright" not in found
    assert "Rain" not in found


def test_a_page_that_does_not_speak_of_the_query_gives_nothing() -> None:
    assert _claims("Which composer wrote the opera about the flute?") == []


def test_a_number_is_found_for_a_question_that_asks_how_long() -> None:
    assert "5 milliseconds" in _claims("How long does the fsync call take?")[0]


def test_a_sentence_too_short_to_stand_alone_comes_with_the_one_before() -> None:
    page = "# Batches {#b}\n\nThe writer collects records in batches before it calls fsync. Default five records.\n"
    question = "How many records does the writer collect in a batch by default?"
    assert any(finding.claim.endswith("Default five records.") for finding in _observed(question, page).findings)


def test_no_more_findings_come_than_asked_for() -> None:
    assert len(_claims(QUERY, limit=1)) == 1


def test_what_the_search_pointed_at_counts_more() -> None:
    one, two = "A log survives a power cut with a seal.", "A log survives a power cut with a stamp."
    page = f"# Logs\n\n## One {{#one}}\n\n{one}\n\n## Two {{#two}}\n\n{two}\n"
    for anchor, wanted in (("one", one), ("two", two)):
        assert wanted in _observed(QUERY, page, focus=(anchor,)).findings[0].claim


@given(st.text(max_size=400), st.text(max_size=60))
def test_any_page_gets_an_answer_and_the_same_one_twice(text: str, query: str) -> None:
    first = _observed(query, text)
    assert first == _observed(query, text)
    assert all(0.0 <= finding.relevance <= 1.0 and holds_quote(text, finding.quote) for finding in first.findings)
