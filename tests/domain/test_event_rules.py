"""Which event may come next: each refusal, against the states of a whole scripted session."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.research_values import Paragraph, ReportSection, Sentence
from pipeline.domain.session import refusal
from pipeline.domain.session_state import SessionState
from tests.fakes import started
from tests.recorded import SMALL, after, before, stream

DEEP = SMALL | {"gap_rounds": 1}
ENDS = [e.ResearchFailed(cause="x", reason="y"), e.ResearchCancelled()]
UNKNOWN = Sentence(text="So it is.", facts=("feedbeef",))
SECTION = ReportSection(id="s", title="S", paragraphs=(Paragraph(sentences=(UNKNOWN,)),))


def refused(state: SessionState, event: e.EventBase, words: str, **fields: Any) -> None:
    """The refusal of the event with these fields names the reason, and asking changes nothing."""
    unchanged = repr(state)
    assert words in refusal(state, event.model_copy(update=fields))
    assert repr(state) == unchanged


def test_every_event_of_a_whole_session_is_allowed_when_it_came() -> None:
    state = SessionState(id="s1")
    for event in stream():
        assert refusal(state, event) == ""
        fold.apply(state, event)


def test_nothing_comes_before_a_run_and_only_the_start_of_the_research_follows_the_first_one() -> None:
    refused(SessionState(id="s1"), started(), "no run has been started")
    state, _ = after(e.RunStarted)
    for event in stream()[2:]:
        refused(state, event, "the research has not been started")


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.type)
def test_an_ended_session_takes_nothing_but_a_new_run_and_a_reopening(end: e.EventBase) -> None:
    state, _ = after(e.PlanCreated)
    refused(state, e.ResearchReopened(), "cannot be reopened")
    fold.apply(state, end)
    for event in (*stream()[2:], *ENDS):
        refused(state, event, "it must be reopened first")
    assert refusal(state, e.RunStarted()) == ""
    assert refusal(state, e.ResearchReopened()) == ""


def test_a_complete_session_is_not_reopened() -> None:
    state, _ = after(e.ResearchCompleted)
    refused(state, e.ResearchReopened(), "complete cannot be reopened")
    refused(state, e.ResearchCancelled(), "it must be reopened first")


@pytest.mark.parametrize(
    ("kind", "fields", "words"),
    [
        (e.FactsObserved, {"url": "corpus:other.md"}, "was not read"),
        (e.FactsObserved, {"digest": "0" * 64}, "was not read as 000000000000"),
        (e.ReportWritten, {"sections": (SECTION,)}, "unknown facts: feedbeef"),
        (e.ReportGenerated, {"summary": (), "sections": ()}, "cites no fact"),
        (e.ReportGenerated, {"summary": (UNKNOWN,)}, "unknown facts: feedbeef"),
        (e.ReportGenerated, {"sections": (SECTION,)}, "unknown facts: feedbeef"),
    ],
)
def test_what_does_not_fit_the_session_is_refused(kind: type[e.EventBase], fields: dict[str, Any], words: str) -> None:
    state, event = before(kind, **DEEP)
    refused(state, event, words, **fields)
