"""A session's graph as text, JSON, JSON Canvas (https://jsoncanvas.org/spec/1.0) or GraphML (http://graphml.graphdrawing.org)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from types import MappingProxyType
from xml.etree import ElementTree as ET

from pipeline.domain.provenance.graph import KINDS, EdgeType, Graph
from pipeline.text.normalise import counted

_WIDTH, _HEIGHT, _GAP = 320, 120, 60
_COLOURS = MappingProxyType({"question": "6", "sentence": "4", "fact": "5", "contradiction": "1", "gap": "3", "decision": "2"})
_CONTROL = dict.fromkeys([*range(9), 11, 12, *range(14, 32)])  # no XML may hold these


def as_text(graph: Graph) -> str:
    """Return the counts of nodes and edges, then every node with the edges that begin there."""
    kinds = Counter(node.kind for node in graph.nodes.values())
    types = Counter(edge.type for edge in graph.edges.values())
    counts = [
        ", ".join(counted(kinds[kind], kind, "searches" if kind == "search" else "") for kind in KINDS if kinds[kind]),
        _counted(types),
    ]
    return "\n".join([*filter(None, counts), "", *_node_lines(graph)])


def _counted(types: Mapping[EdgeType, int]) -> str:
    return ", ".join(f"{types[name]} {name}" for name in sorted(types))


def _node_lines(graph: Graph) -> Iterator[str]:
    for node in graph.nodes.values():
        yield f"{node.id}  {node.label}" + (f"  ({node.note})" if node.note else "")
        yield from (f"    {edge.type} {edge.target}" for edge in graph.edges.values() if edge.source == node.id)


def as_value(graph: Graph) -> dict[str, list[dict[str, str | int]]]:
    """Return nodes and edges as one JSON value."""
    return {
        "nodes": [asdict(node) for node in graph.nodes.values()],
        "edges": [asdict(edge) for edge in graph.edges.values()],
    }


def as_json(graph: Graph) -> str:
    """Return nodes and edges as JSON."""
    return json.dumps(as_value(graph), ensure_ascii=False, indent=1)


def as_canvas(graph: Graph) -> str:
    """Return a canvas with one column for each kind of node, in the order of work."""
    rows: Counter[str] = Counter()
    columns = {kind: place for place, kind in enumerate(kind for kind in KINDS if any(_is(graph, kind)))}
    nodes = []
    for node in graph.nodes.values():
        place = {"x": columns[node.kind] * (_WIDTH + 2 * _GAP), "y": rows[node.kind] * (_HEIGHT + _GAP)}
        rows[node.kind] += 1
        colour = {"color": _COLOURS[node.kind]} if node.kind in _COLOURS else {}
        text = f"{node.kind}: {_inert(node.label)}"
        nodes.append({"id": node.id, "type": "text", "text": text, **place, "width": _WIDTH, "height": _HEIGHT, **colour})
    edges = [
        {"id": f"{edge.source} {edge.type} {edge.target}", "fromNode": edge.source, "toNode": edge.target, "label": edge.type}
        for edge in graph.edges.values()
    ]
    return json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=False, indent=1)


def _is(graph: Graph, kind: str) -> Iterator[bool]:
    return (node.kind == kind for node in graph.nodes.values())


def _inert(text: str) -> str:
    """Return text from a page as a canvas may show it: nothing in it links, embeds, runs or formats."""
    signs = r"\`*_{}[]()#+-!|<>%~=:^$"
    return "".join(f"\\{sign}" if sign in signs else sign for sign in text)


def as_graphml(graph: Graph) -> str:
    """Return GraphML with the keys ``kind``, ``label`` and ``note`` of nodes, ``type`` and ``rank`` of edges."""
    root = ET.Element("graphml", xmlns="http://graphml.graphdrawing.org/xmlns")
    for name, owner, what in (("kind", "node", "string"), ("label", "node", "string"), ("note", "node", "string"),
                              ("type", "edge", "string"), ("rank", "edge", "int")):  # fmt: skip
        ET.SubElement(root, "key", {"id": name, "for": owner, "attr.name": name, "attr.type": what})
    body = ET.SubElement(root, "graph", edgedefault="directed")
    for node in graph.nodes.values():
        _element(body, "node", {"id": node.id}, {"kind": node.kind, "label": node.label, "note": node.note})
    for edge in graph.edges.values():
        _element(body, "edge", {"source": edge.source, "target": edge.target}, {"type": edge.type, "rank": str(edge.rank)})
    ET.indent(root)
    return ET.tostring(root, encoding="unicode", xml_declaration=True)


def _element(body: ET.Element, tag: str, attributes: Mapping[str, str], data: Mapping[str, str]) -> None:
    element = ET.SubElement(body, tag, {name: _sound(value) for name, value in attributes.items()})
    for name, value in data.items():
        ET.SubElement(element, "data", key=name).text = _sound(value)


def _sound(text: str) -> str:
    return text.translate(_CONTROL)


FORMATS: Mapping[str, Callable[[Graph], str]] = MappingProxyType(
    {"text": as_text, "json": as_json, "canvas": as_canvas, "graphml": as_graphml}
)
