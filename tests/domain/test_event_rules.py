"""Which event may come next: each refusal, against the states of a whole scripted session."""

from __future__ import annotations

from typing import Any

import pytest

from pipeline.domain import fold
from pipeline.domain.event_rules import MAX_QUERY, refusal
from pipeline.domain.events import session_events as e
from pipeline.domain.state import SessionState
from pipeline.domain.values import Paragraph, PlanNode, ReportSection, Sentence
from tests.fakes import started
from tests.recorded import SMALL, after, before, stream

DEEP = SMALL | {"gap_rounds": 1}


def changed(event: e.EventBase, **fields: Any) -> e.EventBase:
    return event.model_copy(update=fields)


def refused(state: SessionState, event: e.EventBase, words: str) -> None:
    """The refusal names the reason, and asking changes nothing."""
    unchanged = repr(state)
    assert words in refusal(state, event)
    assert repr(state) == unchanged


def test_every_event_of_a_whole_session_is_allowed_when_it_came() -> None:
    state = SessionState(id="s1")
    for event in stream():
        assert refusal(state, event) == ""
        fold.apply(state, event)


def test_nearly_every_event_is_refused_when_it_comes_a_second_time() -> None:
    state, again = SessionState(id="s1"), []
    for event in stream():
        fold.apply(state, event)
        if not refusal(state, event):
            again.append(event.type)
    assert set(again) == {"run.started", "contradictions.found"}


def test_nothing_comes_before_a_run_has_been_started() -> None:
    refused(SessionState(id="s1"), started(), "no run has been started")


def test_nothing_but_the_start_of_the_research_follows_the_first_run() -> None:
    state, _ = after(e.RunStarted)
    for event in stream()[2:]:
        refused(state, event, "the research has not been started")


@pytest.mark.parametrize("query", ["", " ", "\n\t "])
def test_an_empty_query_is_refused(query: str) -> None:
    state, start = before(e.ResearchStarted)
    refused(state, changed(start, query=query), "the query is empty")


def test_a_query_may_have_a_thousand_characters_and_no_more() -> None:
    state, start = before(e.ResearchStarted)
    assert refusal(state, changed(start, query="x" * MAX_QUERY)) == ""
    refused(state, changed(start, query="x" * (MAX_QUERY + 1)), "longer than 1000")


ENDS = [e.ResearchFailed(cause="x", reason="y"), e.ResearchCancelled()]


@pytest.mark.parametrize("end", ENDS, ids=lambda end: end.type)
def test_an_ended_session_takes_nothing_but_a_new_run_and_a_reopening(end: e.EventBase) -> None:
    state, _ = after(e.PlanCreated)
    fold.apply(state, end)
    for event in (*stream()[2:], *ENDS):
        refused(state, event, "it must be reopened first")
    assert refusal(state, e.RunStarted()) == ""
    assert refusal(state, e.ResearchReopened()) == ""


def test_a_complete_session_is_not_reopened() -> None:
    state, _ = after(e.ResearchCompleted)
    refused(state, e.ResearchReopened(), "complete cannot be reopened")
    refused(state, e.ResearchCancelled(), "it must be reopened first")


def test_a_session_at_work_is_not_reopened() -> None:
    state, _ = after(e.PlanCreated)
    refused(state, e.ResearchReopened(), "cannot be reopened")


SEARCH = PlanNode(id="search_0", task="search", description="", perspective="basic-facts")
OTHER = PlanNode(id="search_1", task="search", description="", perspective="view-1", depends_on=("search_0",))


@pytest.mark.parametrize(
    ("nodes", "words"),
    [
        ((SEARCH, SEARCH), "search_0 is in the plan twice"),
        ((SEARCH.model_copy(update={"depends_on": ("search_1",)}), OTHER), "has a cycle"),
        ((SEARCH.model_copy(update={"depends_on": ("search_0",)}),), "has a cycle"),
        ((SEARCH.model_copy(update={"depends_on": ("nothing",)}),), "depends on nothing, which is not in the plan"),
        ((SEARCH.model_copy(update={"perspective": "nobody"}),), "no perspective 'nobody'"),
        ((), "the plan has no search node"),
    ],
)
def test_an_unsound_plan_is_refused_with_what_is_wrong(nodes: tuple[PlanNode, ...], words: str) -> None:
    state, plan = before(e.PlanCreated)
    refused(state, changed(plan, nodes=nodes), words)


def test_a_plan_is_extended_round_by_round_and_its_nodes_are_new() -> None:
    state, extension = before(e.PlanExtended, **DEEP)
    refused(state, changed(extension, round=2), "gap round 2 cannot follow round 0")
    taken = extension.nodes[0].model_copy(update={"id": "search_0"})
    refused(state, changed(extension, nodes=(taken, *extension.nodes[1:])), "search_0 is already planned")
    unplanned, _ = before(e.PlanCreated, **DEEP)
    refused(unplanned, extension, "no plan to extend")


def test_a_worker_needs_a_search_node_of_the_plan() -> None:
    state, worker = before(e.WorkerStarted)
    refused(state, changed(worker, worker_id="search_9"), "no search node 'search_9'")
    refused(state, changed(worker, worker_id="synthesize"), "no search node 'synthesize'")


def test_a_worker_that_was_not_started_does_nothing() -> None:
    state, _ = before(e.WorkerStarted)
    for kind in (e.WorkerThought, e.FactsObserved, e.WorkerCompleted):
        refused(state, before(kind)[1], "was not started")
    refused(state, e.WorkerFailed(worker_id="search_0", reason="x"), "was not started")


def test_a_worker_that_ended_does_nothing_more() -> None:
    state, end = after(e.WorkerCompleted)
    name = end.worker_id
    refused(state, end, "already completed")
    refused(state, e.WorkerFailed(worker_id=name, reason="x"), "already completed")
    refused(state, e.WorkerThought(worker_id=name, iteration=3, reasoning="", queries=()), "already completed")


def test_iterations_follow_each_other_and_each_is_evaluated_first() -> None:
    state, thought = before(e.WorkerThought)
    refused(state, changed(thought, iteration=2), "is at iteration 0")
    fold.apply(state, thought)
    refused(state, changed(thought, iteration=2), "has not evaluated its last iteration")


def test_only_a_page_that_was_read_as_it_was_read_is_observed() -> None:
    state, found = before(e.FactsObserved)
    refused(state, changed(found, url="corpus:other.md"), "was not read")
    refused(state, changed(found, digest="0" * 64), "was not read as 000000000000")


def test_a_page_is_observed_in_an_iteration_that_its_worker_has() -> None:
    state, found = before(e.FactsObserved)
    for iteration in (0, -1, 2):
        refused(state, changed(found, iteration=iteration), f"has no iteration {iteration}")


def test_an_analysis_waits_for_its_workers_and_follows_the_one_before() -> None:
    state, analysis = before(e.AnalysisStarted)
    refused(state, changed(analysis, round=1), "cannot follow 0 rounds")
    state.workers["search_1"].status = "running"
    refused(state, analysis, "workers are still running: search_1")


def test_the_gaps_of_a_round_come_once_and_in_a_round_that_was_started() -> None:
    state, part = before(e.GapsFound)
    for number in (-1, 7):
        refused(state, changed(part, round=number), f"analysis {number} was not started")
    fold.apply(state, part)
    refused(state, part, "already recorded")


def test_nothing_is_written_without_a_fact() -> None:
    state, start = before(e.SynthesisStarted)
    state.facts.clear()
    refused(state, start, "no fact to write from")


def test_a_part_of_the_report_is_written_once_and_from_known_facts() -> None:
    state, written = before(e.ReportWritten)
    unready, _ = before(e.SynthesisStarted)
    refused(unready, written, "synthesis has not been started")
    unknown = Paragraph(sentences=(Sentence(text="So it is.", facts=("feedbeef",)),))
    section = ReportSection(id="s", title="S", paragraphs=(unknown,))
    refused(state, changed(written, sections=(section,)), "unknown facts: feedbeef")
    fold.apply(state, written)
    refused(state, written, "already written")


def test_verdicts_are_refused_for_an_unwritten_part_another_revision_and_a_second_time() -> None:
    unwritten, _ = before(e.ReportWritten)
    state, verdicts = before(e.ClaimsChecked)
    refused(unwritten, verdicts, "has no text of revision 0")
    refused(state, changed(verdicts, revision=1), "has no text of revision 1")
    refused(state, changed(verdicts, part=9), "part 9 of the report has no text")
    fold.apply(state, verdicts)
    refused(state, verdicts, "already checked")


def test_only_a_checked_part_is_revised_one_revision_at_a_time() -> None:
    state, verdicts = before(e.ClaimsChecked)
    revision = e.ReportRevised(part=verdicts.part, revision=1)
    refused(state, revision, "cannot be revised")
    fold.apply(state, verdicts)
    refused(state, changed(revision, revision=2), "cannot be revised to revision 2")
    assert refusal(state, revision) == ""


def test_a_report_cites_known_facts_and_some() -> None:
    state, report = before(e.ReportGenerated)
    refused(state, changed(report, summary=(), sections=()), "cites no fact")
    unknown = Sentence(text="So it is.", facts=("feedbeef",))
    refused(state, changed(report, summary=(unknown,)), "unknown facts: feedbeef")
    section = ReportSection(id="s", title="S", paragraphs=(Paragraph(sentences=(unknown,)),))
    refused(state, changed(report, sections=(section,)), "unknown facts: feedbeef")
