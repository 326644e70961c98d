"""Logs from before there were passages: without the fields that came with them they fold as they did."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain import fold
from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode, encode
from pipeline.domain.research_values import Fact, Paragraph, ReportSection, Sentence
from pipeline.domain.session_state import Iteration, SessionState, Worker
from tests.recorded import SMALL, stream

NEW = {"statistics", "languages", "missing", "nearest", "doubted", "kind", "path", "lead", "start"}


def _aged(value: Any) -> Any:
    """The value without any of the new fields, however deep; a contradiction's kind is an old one."""
    if isinstance(value, list):
        return [_aged(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    kept = {"kind"} if "subject" in value else set()
    return {name: _aged(entry) for name, entry in value.items() if name not in NEW - kept}


def old(event: e.EventBase) -> e.EventBase:
    return decode(json.dumps(_aged(json.loads(encode(event)))).encode())


def folded(events: list[e.EventBase]) -> SessionState:
    state = SessionState(id="s1")
    for event in events:
        fold.apply(state, event)
    return state


def test_a_whole_session_without_the_new_fields_folds_to_the_same_report_of_the_same_sources() -> None:
    new, aged = folded(stream(**SMALL)), folded([old(event) for event in stream(**SMALL)])
    assert (aged.status, aged.version, aged.spent) == (new.status, new.version, new.spent)
    assert aged.report is not None
    assert new.report is not None
    assert (aged.report.sections, aged.report.references) == (new.report.sections, new.report.references)
    assert aged.facts.keys() == new.facts.keys()


def test_an_old_end_for_want_of_evidence_is_not_found_and_another_one_failed() -> None:
    for cause, status in (("no-evidence", "not-found"), ("SearchFailed", "failed")):
        state = folded(stream(**SMALL)[:3])
        fold.apply(state, old(e.ResearchFailed(cause=cause, reason="nothing was found")))
        assert (state.status, state.end_reason) == (status, "nothing was found")


@settings(deadline=None)
@given(st.text(max_size=200), st.text(max_size=60), st.lists(st.text(max_size=40), max_size=4), st.integers(-1, 10**6))
def test_a_passage_comes_back_from_the_log_as_it_was(quote: str, lead: str, path: list[str], start: int) -> None:
    fact = Fact(id="f", claim=quote, quote=quote, url="u", digest="d", path=tuple(path), lead=lead, start=start)
    text = Paragraph(sentences=(Sentence(text=quote, facts=("f",)),), kind="passages")
    for event in (
        e.FactsObserved(worker_id="w", iteration=1, url="u", digest="d", facts=(fact,)),
        e.ReportRevised(revision=1, sections=(ReportSection(id="s", title="", paragraphs=(text,)),)),
    ):
        try:
            data = encode(event)
        except ValueError:  # half a surrogate pair is no text that a log can hold
            continue
        assert decode(data) == event


def test_facts_of_a_log_from_before_pages_were_shared_belong_to_the_worker_that_asked() -> None:
    observed = decode(
        b'{"id":"1","session_id":"s","version":1,"type":"facts.observed","at":"","run_id":"r","worker_id":"w","iteration":1,'
        b'"url":"u","digest":"d","facts":[]}'
    )
    assert isinstance(observed, e.FactsObserved)
    state = SessionState(workers={"w": Worker("w", "view", 0, "", iterations=[Iteration("", ())])})
    fold.apply(state, observed)
    assert state.workers["w"].iterations[0].observed["u"].facts == ()
    assert state.observed["u"].whole
