"""The promise held against the log: what is altered, missing or uncited is found."""

from __future__ import annotations

import pytest

from pipeline.domain.research_values import Fact, Paragraph, ReportSection, Sentence
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.ops.citation_audit import check
from tests.recorded import copied, recorded


def whole() -> SessionState:
    return ResearchSession.open(recorded(), "s1").state


def cited(state: SessionState) -> Fact:
    """The first fact that the report cites."""
    assert state.report is not None
    return state.facts[state.report.sections[0].paragraphs[0].sentences[0].facts[0]]


def test_an_undisturbed_session_keeps_its_promise_and_the_check_says_how_much_it_looked_at() -> None:
    state = whole()
    checked = check(state, recorded())
    assert checked.unsupported == ()
    assert checked.quotes == len(state.facts) > 5
    assert checked.citations > 5


def test_a_missing_page_is_found_for_each_fact_that_came_from_it() -> None:
    state, store = whole(), copied(recorded())
    fact = cited(state)
    del store.objects[fact.digest]
    found = check(state, store).unsupported
    assert {entry.where for entry in found} == {one.id for one in state.facts.values() if one.digest == fact.digest}
    assert all("missing or altered" in entry.why and fact.url in entry.why for entry in found)


def test_a_quote_that_is_not_in_its_page_is_found() -> None:
    state, store = whole(), copied(recorded())
    fact = cited(state)
    state.facts[fact.id] = fact.model_copy(update={"quote": fact.quote.replace("delivers", "drinks")})
    (found,) = check(state, store).unsupported
    assert (found.session, found.where) == ("s1", fact.id)
    assert "is not in the page" in found.why


@pytest.mark.parametrize(("facts", "why"), [((), "it cites no fact"), (("feedbeef",), "it cites unknown facts: feedbeef")])
def test_a_sentence_without_a_sound_citation_is_found_in_the_summary_and_in_the_body(facts: tuple[str, ...], why: str) -> None:
    state = whole()
    assert state.report is not None
    sentence = Sentence(text="So it is.", facts=facts)
    section = ReportSection(id="s", title="S", paragraphs=(Paragraph(sentences=(sentence,)),))
    added = {"summary": (*state.report.summary, sentence), "sections": (*state.report.sections, section)}
    state.report = state.report.model_copy(update=added)
    assert [(entry.where, entry.why) for entry in check(state, recorded()).unsupported] == [("So it is.", why)] * 2
