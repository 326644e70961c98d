"""A session's canvas: sound by the format, laid out in layers, coloured by outcome, and inert."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from pipeline.domain import plan
from pipeline.domain.events import session_events as e
from pipeline.domain.values import Perspective
from pipeline.vault.charts.canvas import canvas_of
from pipeline.vault.charts.canvas_layout import Edge, Layer, Tile, arrows, placed
from pipeline.vault.vault_model import LoadedSession
from tests.fakes import MemoryStore
from tests.vault.builders import Story, a_store, sessions
from tests.vault.formats import Canvas, FileNode, GroupNode, TextNode
from tests.vault.output.test_escaping import HOSTILE, anything
from tests.vault.scanner import scan


def _loaded(store: MemoryStore, number: int = 0) -> LoadedSession:
    return sessions(store)[number]


def _canvas(loaded: LoadedSession) -> Canvas:
    return Canvas.model_validate_json(canvas_of(loaded).text)


def _with_a_gap(store: MemoryStore) -> Story:
    """A story whose first analysis left a question open; its follow-up has begun."""
    story = Story(store).begin().planned().gathered().analysed()
    view = Perspective(id="gap-loud", name="Gap: How loud is it?", focus="", questions=("How loud is it?",))
    story.scribe.note(
        e.PlanExtended(round=1, perspectives=(view,), nodes=plan.gap_plan((view,), 1, 0)),
        e.WorkerStarted(worker_id="gap_0", perspective_id="gap-loud", round=1),
    )
    return story


def test_every_session_has_a_sound_canvas_named_like_its_note() -> None:
    for loaded in sessions(a_store()):
        plain = canvas_of(loaded)
        assert plain.path == f"canvas/{loaded.card.session_path.rpartition('/')[2]}.canvas"
        assert Canvas.model_validate_json(plain.text).nodes


def test_it_leads_from_the_question_over_the_workers_to_the_report() -> None:
    loaded = _loaded(a_store())
    canvas = _canvas(loaded)
    ways = {(edge.fromNode, edge.toNode): edge.label for edge in canvas.edges}
    assert ways == {
        ("question", "view-search_0"): None,
        ("question", "view-search_1"): None,
        ("view-search_0", "worker-search_0"): None,
        ("view-search_1", "worker-search_1"): None,
        ("worker-search_0", "analysis-0"): "3 facts",
        ("worker-search_1", "analysis-0"): "2 facts",
        ("analysis-0", "report"): "5 facts",
    }
    files = {node.file for node in canvas.nodes if isinstance(node, FileNode)}
    assert files == {f"{path}.md" for path in (*loaded.worker_paths.values(), loaded.card.report_path)}


def test_each_layer_is_a_column_with_a_name_in_order_of_the_work() -> None:
    store = MemoryStore()
    _with_a_gap(store)
    canvas = _canvas(_loaded(store))
    groups = [node for node in canvas.nodes if isinstance(node, GroupNode)]
    assert [group.label for group in sorted(groups, key=lambda group: group.x)] == [
        "Question", "Perspectives", "Workers", "Cross-checking", "Open questions", "Follow-ups", "Outcome",
    ]  # fmt: skip
    layer = {node.id: group.x for group in groups for node in canvas.nodes if node is not group and group.holds(node)}
    assert layer.keys() == {node.id for node in canvas.nodes} - {group.id for group in groups}
    assert all(layer[edge.fromNode] < layer[edge.toNode] for edge in canvas.edges)


def test_colours_say_how_each_part_ended() -> None:
    store = MemoryStore()
    _with_a_gap(store)
    colours = {node.id: node.color for node in _canvas(_loaded(store)).nodes}
    assert colours["worker-search_0"] == colours["analysis-0"] == "4"
    assert colours["view-gap_0"] == "2"
    assert colours["worker-gap_0"] == colours["report"] == "3"
    assert colours["question"] is None


def test_a_failed_session_ends_in_red_with_its_reason() -> None:
    canvas = _canvas(next(loaded for loaded in sessions(a_store()) if loaded.state.status == "failed"))
    end = next(node for node in canvas.nodes if node.id == "report")
    assert isinstance(end, TextNode)
    assert end.color == "1"
    assert "No evidence was found" in end.text
    assert [(edge.fromNode, edge.toNode) for edge in canvas.edges] == [("question", "report")]


def test_a_worker_that_never_began_has_a_card_without_colour() -> None:
    canvas = _canvas(next(loaded for loaded in sessions(a_store()) if loaded.state.status == "searching"))
    waiting = next(node for node in canvas.nodes if node.id == "worker-search_1")
    assert isinstance(waiting, TextNode)
    assert waiting.color is None


@settings(max_examples=30, deadline=None)
@given(st.one_of(st.sampled_from(HOSTILE), anything))
def test_hostile_text_does_nothing_on_a_card(text: str) -> None:
    store = MemoryStore()
    story = Story(store, say=lambda words: f"{text} {words}").begin().planned().gathered().analysed()
    story.scribe.note(e.ResearchFailed(cause="x", reason=text))
    loaded = _loaded(store)
    canvas = _canvas(loaded)
    for node in canvas.nodes:
        if isinstance(node, TextNode):
            found = scan(node.text)
            assert {target for target, _ in found.links} <= {loaded.card.session_path}
            assert not any((found.embeds, found.tags, found.images, found.addresses, found.html, found.fences, found.callouts))
    assert {node.file for node in canvas.nodes if isinstance(node, FileNode)} == {f"{p}.md" for p in loaded.worker_paths.values()}


sizes = st.tuples(st.integers(1, 700), st.integers(1, 700))
columns = st.lists(st.lists(sizes, min_size=1, max_size=8), min_size=1, max_size=8)


@settings(max_examples=100, deadline=None)
@given(columns)
def test_no_two_cards_ever_stand_in_one_place(shape: list[list[tuple[int, int]]]) -> None:
    layers = [
        Layer(f"{number}", [Tile(f"{number}-{place}", *size, text="x") for place, size in enumerate(column)])
        for number, column in enumerate(shape)
    ]
    edges = [Edge(f"{number}-0", f"{number + 1}-0", "on") for number in range(len(shape) - 1)]
    Canvas.model_validate_json(json.dumps({"nodes": placed(layers), "edges": arrows(edges)}))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"id":"report"', '"id":"question"'),
        ('"toNode":"report"', '"toNode":"nowhere"'),
        ('"color":"4"', '"color":"9"'),
        ('"file":"', '"fill":"'),
        ('"toSide":"left"', '"toSide":"inside"'),
        ('"x":30', '"x":30.5'),
    ],
)
def test_the_model_of_the_format_notices_faults(old: str, new: str) -> None:
    text = canvas_of(_loaded(a_store())).text
    assert old in text
    with pytest.raises(ValidationError):
        Canvas.model_validate_json(text.replace(old, new, 1))


def test_the_same_session_gives_the_same_bytes() -> None:
    assert canvas_of(_loaded(a_store())) == canvas_of(_loaded(a_store()))
