"""The plan of a session as a JSON Canvas 1.0: from the question over the perspectives, their workers and checks to the report.

A column for each layer of the work. Colours say how each tile ended: green done, red failed, yellow under way or cut off, orange
a question that was still open; a tile without a colour was planned but not started.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from pipeline.domain.state import Analysis, search_nodes
from pipeline.domain.values import PlanNode
from pipeline.text.normalise import one_line
from pipeline.vault.charts.canvas_layout import GREEN, ORANGE, RED, YELLOW, Colour, Edge, Layer, Node, Tile, arrows, placed
from pipeline.vault.notes.note_parts import outcome_of, perspective_name, session_link, worker_link
from pipeline.vault.output import formatting
from pipeline.vault.output.escaping import Link, inert
from pipeline.vault.output.note import Plain
from pipeline.vault.vault_model import LoadedSession

_QUESTION, _END = "question", "report"
_as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_WORKER_COLOURS: dict[str, Colour] = {"completed": GREEN, "failed": RED, "running": YELLOW}


def canvas_path(session_path: str) -> str:
    """Return the path of the canvas of the session whose note is at ``session_path``."""
    return f"canvas/{session_path.rpartition('/')[2]}.canvas"


def canvas_link(loaded: LoadedSession) -> Link:
    """Return the link to a session's canvas."""
    return Link(canvas_path(loaded.card.session_path), "the map of this session")


def canvas_of(loaded: LoadedSession) -> Plain:
    """Return a session's canvas."""
    layers = [Layer("Question", [_question(loaded)])]
    edges: list[Edge] = []
    last = _QUESTION
    for number, nodes in enumerate(_rounds(loaded)):
        layers += _gathering(loaded, number, nodes)
        edges += _ways(last, nodes)
        if number < len(loaded.state.analyses):
            layers.append(Layer("Cross-checking" if not number else "Cross-checking again", [_analysis(loaded, number)]))
            edges += [Edge(_worker_id(node), _analysis_id(number), _found(loaded, node)) for node in nodes]
            last = _analysis_id(number)
    layers.append(Layer("Report" if loaded.card.answered else "Outcome", [_end(loaded)]))
    edges += _endings(loaded, last)
    return Plain(canvas_path(loaded.card.session_path), _written(placed(layers), arrows(edges)))


def _rounds(loaded: LoadedSession) -> Iterator[Sequence[PlanNode]]:
    """Yield the search nodes of each round: the perspectives first, then the gaps of each gap round."""
    rounds: dict[int, list[PlanNode]] = {}
    order: dict[tuple[str, ...], int] = {}
    for node in search_nodes(loaded.state):
        rounds.setdefault(order.setdefault(node.depends_on, len(order)), []).append(node)
    yield from rounds.values()


def _gathering(loaded: LoadedSession, number: int, nodes: Sequence[PlanNode]) -> Iterator[Layer]:
    yield Layer("Open questions" if number else "Perspectives", [_view(loaded, node, gap=bool(number)) for node in nodes])
    yield Layer("Follow-ups" if number else "Workers", [_worker(loaded, node) for node in nodes])


def _ways(last: str, nodes: Sequence[PlanNode]) -> Iterator[Edge]:
    for node in nodes:
        yield Edge(last, _view_id(node))
        yield Edge(_view_id(node), _worker_id(node))


def _endings(loaded: LoadedSession, last: str) -> Iterator[Edge]:
    """The edges to the last tile: from the last check, or from the workers if there was none."""
    state = loaded.state
    if state.analyses or not state.nodes:
        yield Edge(last, _END, formatting.count(len(state.facts), "fact") if state.facts else "")
        return
    for node in search_nodes(state):
        yield Edge(_worker_id(node), _END, _found(loaded, node))


def _view_id(node: PlanNode) -> str:
    return f"view-{node.id}"


def _worker_id(node: PlanNode) -> str:
    return f"worker-{node.id}"


def _analysis_id(number: int) -> str:
    return f"analysis-{number}"


def _found(loaded: LoadedSession, node: PlanNode) -> str:
    return formatting.count(len(loaded.facts[node.id]), "fact") if node.id in loaded.facts else ""


def _question(loaded: LoadedSession) -> Tile:
    words = f"## {inert(one_line(loaded.state.query, 160))}\n\n{session_link(loaded.card, 'How this was researched').inline}"
    return Tile(_QUESTION, 300, 260, text=words)


def _view(loaded: LoadedSession, node: PlanNode, *, gap: bool) -> Tile:
    view = loaded.state.perspectives[node.perspective]
    name, focus = inert(one_line(perspective_name(view), 120)), inert(one_line(view.focus, 120))
    words = f"**{name}**" if gap or not focus else f"**{name}**\n\n{focus}"
    return Tile(_view_id(node), 280, 190, text=words, colour=ORANGE if gap else "")


def _worker(loaded: LoadedSession, node: PlanNode) -> Tile:
    worker = loaded.state.workers.get(node.id)
    if worker is None:
        return Tile(_worker_id(node), 320, 80, text="Not started")
    colour = _WORKER_COLOURS[worker.status]
    if worker.id in loaded.folded:
        words = f"**{worker_link(loaded.card, worker.id).inline}**\n\n{inert(outcome_of(loaded.state, worker))}"
        return Tile(_worker_id(node), 320, 190, text=words, colour=colour)
    return Tile(_worker_id(node), 320, 190, file=f"{loaded.worker_paths[worker.id]}.md", colour=colour)


def _analysis(loaded: LoadedSession, number: int) -> Tile:
    analysis = loaded.state.analyses[number]
    finished = analysis.gaps is not None
    colour: Colour = GREEN if finished else RED if loaded.state.status == "failed" else YELLOW
    return Tile(_analysis_id(number), 240, 210, text="\n\n".join(_analysis_lines(analysis)), colour=colour)


def _analysis_lines(analysis: Analysis) -> Iterator[str]:
    validated = analysis.validated or ()
    confirmed = sum(entry.standing == "corroborated" for entry in validated)
    yield f"**{formatting.count(len(validated), 'fact')}** checked"
    yield f"{confirmed or 'none'} confirmed by other sources"
    yield formatting.count(len(analysis.contradictions or ()), "disagreement")
    yield f"{formatting.count(len(analysis.gaps or ()), 'question')} open"


def _end(loaded: LoadedSession) -> Tile:
    state = loaded.state
    if loaded.card.report_path:
        return Tile(_END, 420, 560, file=f"{loaded.card.report_path}.md", colour=GREEN if loaded.card.answered else ORANGE)
    if not state.ended:
        return Tile(_END, 300, 120, text="Unfinished: there is no report yet", colour=YELLOW)
    reason = inert(one_line(formatting.sentence(state.end_reason), 240))
    words = "**Cancelled**" if state.status == "cancelled" else "**Failed**"
    return Tile(_END, 300, 160, text=f"{words}\n\n{reason}" if reason else words, colour=RED)


def _written(nodes: Sequence[Node], edges: Sequence[Node]) -> str:
    """The canvas as Obsidian itself writes one: a line for each node and edge."""
    lists = (f'\t"{name}":[\n' + ",\n".join(map(_line, entries)) + "\n\t]" if entries else f'\t"{name}":[]'
             for name, entries in (("nodes", nodes), ("edges", edges)))  # fmt: skip
    return "{\n" + ",\n".join(lists) + "\n}\n"


def _line(entry: Node) -> str:
    return "\t\t" + _as_json(entry)
