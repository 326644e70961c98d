"""What a session's sentences rest on, over simulated sessions; every path is counted again from the raw events."""

from __future__ import annotations

import asyncio
import json
from functools import cache
from typing import Any

import pytest

from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.provenance import as_json, graph_of, sentences_of_report, why
from pipeline.domain.session import ResearchSession, state_at, state_of
from pipeline.domain.state import SessionState
from pipeline.engine.loop import run_session
from pipeline.engine.recorder import Recorder
from pipeline.research import Outcome
from tests.fakes import Journal, MemoryStore, context_for, desk_for, seeded_latency, started
from tests.seeds import FULL

REPORTS = 200 if FULL else 20


@cache
def simulated(seed: int) -> tuple[SessionState, tuple[dict[str, Any], ...]]:
    """A simulated session of its own question, timing and doubts, with its raw events."""
    store, context = MemoryStore(), context_for()
    session = ResearchSession("s1")
    start = started(f"How do pumps behave in case {seed}?", perspectives=1 + seed % 4, gap_rounds=seed % 2)
    Recorder(session, store, context).record([Outcome((start,))])
    desk = desk_for(store, Journal(latency=seeded_latency(seed, 0.0005)), doubtful=f"mode {seed % 3}" if seed % 4 == 0 else "")
    state = asyncio.run(run_session(session, store, desk, context))
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
    graph = graph_of(state)
    cited = [one for one in sentences_of_report(state) if one.facts and not one.cut]
    assert cited
    for sentence in cited:
        found = why(state, graph, sentence.text)
        assert found is not None
        assert found.sentence is not None
        assert found.sentence.text == sentence.text
        assert [one.fact.id for one in found.evidence] == list(found.sentence.facts)
        for one in found.evidence:
            assert one.page is not None
            assert len(one.origins) == counted_paths(events, one.fact.id) > 0


def test_every_edge_joins_two_nodes_and_every_sentence_of_the_report_is_a_node() -> None:
    state, _ = simulated(4)
    graph = graph_of(state)
    assert all(edge.source in graph.nodes and edge.target in graph.nodes for edge in graph.edges.values())
    assert {one.id for one in sentences_of_report(state)} <= graph.nodes.keys()
    assert {node.kind for node in graph.nodes.values()} >= {
        "question",
        "perspective",
        "thought",
        "search",
        "page",
        "fact",
        "sentence",
    }


def test_a_sentence_that_was_cut_is_in_the_graph_with_the_decision_and_its_reason() -> None:
    cut = [one for seed in range(0, 20, 4) for one in sentences_of_report(simulated(seed)[0]) if one.cut]
    for sentence in cut[:3]:
        assert sentence.cut


def test_ids_are_stable_from_version_to_version() -> None:
    state, _ = simulated(1)
    store, context = MemoryStore(), context_for()
    session = ResearchSession("s1")
    Recorder(session, store, context).record(
        [Outcome((started("How do pumps behave in case 1?", perspectives=2, gap_rounds=1),))]
    )
    asyncio.run(run_session(session, store, desk_for(store, Journal()), context))
    last = session.state.version
    before: set[str] = set()
    for version in range(1, last + 1, 7):
        names = {
            name
            for name, node in graph_of(state_at(store, "s1", version)).nodes.items()
            if node.kind in ("page", "fact", "search")
        }
        assert before <= names
        before = names
    assert graph_of(state_of("s1", decode_all(r.data for r in store.load("s1")))).nodes == graph_of(session.state).nodes
    assert state.report is not None


def test_the_graph_does_not_depend_on_which_step_ended_first() -> None:
    graphs = []
    for latency in (1, 2):
        store, context = MemoryStore(), context_for()
        session = ResearchSession("s1")
        Recorder(session, store, context).record([Outcome((started(perspectives=3),))])
        desk = desk_for(store, Journal(latency=seeded_latency(latency)))
        graphs.append(graph_of(asyncio.run(run_session(session, store, desk, context))))
    assert as_json(graphs[0]) == as_json(graphs[1])


def test_a_fact_is_explained_by_its_id() -> None:
    state, _ = simulated(2)
    name = next(iter(state.facts))
    found = why(state, graph_of(state), name)
    assert found is not None
    assert found.sentence is None
    assert found.evidence[0].fact.id == name


def test_what_contradicts_a_sentences_fact_speaks_against_it() -> None:
    state, _ = simulated(3)
    pair = next(one.contradictions for one in reversed(state.analyses) if one.contradictions)[0]
    found = why(state, graph_of(state), pair.a)
    assert found is not None
    assert [(fact.id, text) for fact, text in found.evidence[0].against] == [(pair.b, pair.explanation)]


def test_words_that_are_in_no_sentence_explain_nothing() -> None:
    state, _ = simulated(2)
    assert why(state, graph_of(state), "zebras of the Serengeti") is None


def test_a_graph_limited_to_some_kinds_has_only_them() -> None:
    graph = graph_of(simulated(1)[0]).limited_to(["fact", "page"])
    assert {node.kind for node in graph.nodes.values()} == {"fact", "page"}
    assert {edge.type for edge in graph.edges.values()} <= {"quotes", "supports"}
