"""Which event may come next: each refusal, against the states of a whole scripted session."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.session import MAX_QUERY, refusal
from pipeline.domain.state import SessionState
from pipeline.domain.values import Paragraph, PlanNode, ReportSection, Sentence
from tests.fakes import started
from tests.recorded import SMALL, after, before, stream

DEEP = SMALL | {"gap_rounds": 1}
ENDS = [e.ResearchFailed(cause="x", reason="y"), e.ResearchCancelled()]
SEARCH = PlanNode(id="search_0", task="search", description="", perspective="basic-facts")
OTHER = PlanNode(id="search_1", task="search", description="", perspective="view-1", depends_on=("search_0",))
UNKNOWN = Sentence(text="So it is.", facts=("feedbeef",))
SECTION = ReportSection(id="s", title="S", paragraphs=(Paragraph(sentences=(UNKNOWN,)),))


def refused(state: SessionState, event: e.EventBase, words: str, **fields: Any) -> None:
    """The refusal of the event with these fields names the reason, and asking changes nothing."""
    unchanged = repr(state)
    assert words in refusal(state, event.model_copy(update=fields))
    assert repr(state) == unchanged


def test_every_event_of_a_whole_session_is_allowed_when_it_came_and_nearly_none_a_second_time() -> None:
    state, again = SessionState(id="s1"), []
    for event in stream():
        assert refusal(state, event) == ""
        fold.apply(state, event)
        if not refusal(state, event):
            again.append(event.type)
    assert set(again) == {"run.started", "contradictions.found"}


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
        *((e.ResearchStarted, {"query": query}, "the query is empty") for query in ("", " ", "\n\t ")),
        (e.ResearchStarted, {"query": "x" * (MAX_QUERY + 1)}, "longer than 1000"),
        (e.PlanExtended, {"round": 2}, "gap round 2 cannot follow round 0"),
        (e.WorkerStarted, {"worker_id": "search_9"}, "no search node 'search_9'"),
        (e.WorkerStarted, {"worker_id": "synthesize"}, "no search node 'synthesize'"),
        (e.WorkerThought, {"iteration": 2}, "is at iteration 0"),
        (e.FactsObserved, {"url": "corpus:other.md"}, "was not read"),
        (e.FactsObserved, {"digest": "0" * 64}, "was not read as 000000000000"),
        *((e.FactsObserved, {"iteration": number}, f"has no iteration {number}") for number in (0, -1, 2)),
        (e.AnalysisStarted, {"round": 1}, "cannot follow 0 rounds"),
        *((e.GapsFound, {"round": number}, f"analysis {number} was not started") for number in (-1, 7)),
        (e.ReportWritten, {"sections": (SECTION,)}, "unknown facts: feedbeef"),
        (e.ClaimsChecked, {"revision": 1}, "has no text of revision 1"),
        (e.ClaimsChecked, {"part": 9}, "part 9 of the report has no text"),
        (e.ReportGenerated, {"summary": (), "sections": ()}, "cites no fact"),
        (e.ReportGenerated, {"summary": (UNKNOWN,)}, "unknown facts: feedbeef"),
        (e.ReportGenerated, {"sections": (SECTION,)}, "unknown facts: feedbeef"),
    ],
)
def test_what_does_not_fit_the_session_is_refused(kind: type[e.EventBase], fields: dict[str, Any], words: str) -> None:
    state, event = before(kind, **DEEP)
    refused(state, event, words, **fields)


def test_a_worker_does_nothing_before_its_start_and_after_its_end() -> None:
    state, _ = before(e.WorkerStarted)
    failed = e.WorkerFailed(worker_id="search_0", reason="x")
    for event in (*(before(kind)[1] for kind in (e.WorkerThought, e.FactsObserved, e.WorkerCompleted)), failed):
        refused(state, event, "was not started")
    state, end = after(e.WorkerCompleted)
    refused(state, failed, "already completed", worker_id=end.worker_id)
    thought = e.WorkerThought(worker_id=end.worker_id, iteration=3, reasoning="", queries=())
    refused(state, thought, "already completed")


def test_an_iteration_is_evaluated_before_the_next_and_an_analysis_waits_for_its_workers() -> None:
    state, thought = before(e.WorkerThought)
    fold.apply(state, thought)
    refused(state, thought, "has not evaluated its last iteration", iteration=2)
    state, analysis = before(e.AnalysisStarted)
    state.workers["search_1"].status = "running"
    refused(state, analysis, "workers are still running: search_1")


def test_a_part_of_the_report_is_written_from_facts_checked_and_then_revised_one_revision_at_a_time() -> None:
    unready, start = before(e.SynthesisStarted)
    state, written = before(e.ReportWritten)
    refused(unready, written, "synthesis has not been started")
    unready.facts.clear()
    refused(unready, start, "no fact to write from")
    _, verdicts = before(e.ClaimsChecked)
    refused(state, verdicts, "has no text of revision 0")
    fold.apply(state, written)
    revision = e.ReportRevised(part=verdicts.part, revision=1)
    refused(state, revision, "cannot be revised")
    fold.apply(state, verdicts)
    refused(state, revision, "cannot be revised to revision 2", revision=2)
    assert refusal(state, revision) == ""
