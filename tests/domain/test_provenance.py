"""What a session's sentences rest on, over simulated sessions; every path is counted again from the raw events."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import pytest

from pipeline.domain.evidence_trail import sentences_of_report, why
from pipeline.domain.session import ResearchSession
from pipeline.domain.session_state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from tests.fakes import Journal, MemoryStore, context_for, seeded_latency, started, step_context_for
from tests.seeds import FULL

REPORTS = 200 if FULL else 8


@cache
def simulated(seed: int) -> tuple[SessionState, tuple[dict[str, Any], ...]]:
    """A simulated session of its own question, timing and doubts, with its raw events."""
    store, context = MemoryStore(), context_for()
    session = ResearchSession("s1")
    start = started(f"How do pumps behave in case {seed}?", perspectives=1 + seed % 4, gap_rounds=seed % 2)
    Recorder(session, store, context).record(start)
    step_context = step_context_for(
        store, Journal(latency=seeded_latency(seed, 0.0005)), doubtful=f"mode {seed % 3}" if seed % 4 == 0 else ""
    )
    state = asyncio.run(run_session(session, store, step_context, context))
    return state, tuple(json.loads(record.data) for record in store.load("s1"))


def counted_paths(events: tuple[dict[str, Any], ...], fact: str) -> int:
    """The number of ways from a fact to a search that found its page and the thought behind it, from the raw events alone."""
    finding = [event for event in events if event["type"] in ("facts.observed", "gap.looked_up")]
    urls = {event["url"] for event in finding for one in event["facts"] if one["id"] == fact}
    found = 0
    for event in events:
        if event["type"] in ("search.completed", "topic.surveyed") and urls & {hit["url"].split("#")[0] for hit in event["hits"]}:
            if event["type"] == "topic.surveyed":
                found += 1
            found += sum(event.get("query") in one["queries"] for one in events if one["type"] == "worker.thought")
    return found


@pytest.mark.parametrize("seed", range(REPORTS))
def test_every_cited_sentence_has_a_path_to_the_thoughts_behind_its_pages(seed: int) -> None:
    state, events = simulated(seed)
    cited = [one for one in sentences_of_report(state) if one.facts and not one.reason]
    assert cited
    for sentence in cited:
        found = why(state, sentence.text)
        assert found is not None
        assert found.sentence is not None
        assert found.sentence.text == sentence.text
        assert [one.fact.id for one in found.evidence] == list(found.sentence.facts)
        for one in found.evidence:
            assert len(one.origins) == counted_paths(events, one.fact.id) > 0


def test_a_fact_is_explained_by_its_id() -> None:
    state, _ = simulated(2)
    name = next(iter(state.facts))
    found = why(state, name)
    assert found is not None
    assert found.sentence is None
    assert found.evidence[0].fact.id == name


def test_what_contradicts_a_sentences_fact_speaks_against_it() -> None:
    state, _ = simulated(3)
    pair = next(one.contradictions for one in reversed(state.analyses) if one.contradictions)[0]
    found = why(state, pair.a)
    assert found is not None
    assert [(fact.id, text) for fact, text in found.evidence[0].against] == [(pair.b, pair.explanation)]
