"""Boxes in columns: the positions of the tiles of a drawing, with one column for each layer of the work. Pure, in pixels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

Colour = Literal["", "1", "2", "3", "4", "5", "6"]
RED: Colour = "1"
ORANGE: Colour = "2"
YELLOW: Colour = "3"
GREEN: Colour = "4"
_BETWEEN = 30  # from tile to tile in a column
_PADDING = 30  # from a frame to its tiles
_AISLE = 110  # from frame to frame: room for the words on an edge


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile before it has a place. One of ``text`` (markdown) and ``file`` (vault path with suffix) is given."""

    id: str
    width: int
    height: int
    text: str = ""
    file: str = ""
    colour: Colour = ""


@dataclass(frozen=True, slots=True)
class Edge:
    """An arrow from tile to tile, with a word on it or ""."""

    start: str
    end: str
    label: str = ""


@dataclass(slots=True)
class Layer:
    """One column: its name and its tiles from top to bottom."""

    label: str
    tiles: list[Tile] = field(default_factory=list)


Node = Mapping[str, str | int]


def placed(layers: Sequence[Layer]) -> tuple[Node, ...]:
    """Return the nodes of all layers from left to right, columns centred on one line; frames first, so that they lie below."""
    frames: list[Node] = []
    nodes: list[Node] = []
    left = 0
    for number, layer in enumerate(layers):
        width = max(tile.width for tile in layer.tiles)
        height = sum(tile.height for tile in layer.tiles) + _BETWEEN * (len(layer.tiles) - 1)
        top = -height // 2
        frames.append(_frame(number, layer.label, left, top, width, height))
        nodes.extend(_column(layer.tiles, left + _PADDING, top, width))
        left += width + 2 * _PADDING + _AISLE
    return (*frames, *nodes)


def _frame(number: int, label: str, left: int, top: int, width: int, height: int) -> Node:
    place = {"x": left, "y": top - _PADDING, "width": width + 2 * _PADDING, "height": height + 2 * _PADDING}
    return {"id": f"layer-{number}", "type": "group", **place, "label": label}


def _column(tiles: Sequence[Tile], left: int, top: int, width: int) -> Iterator[Node]:
    for tile in tiles:
        yield _node(tile, left + (width - tile.width) // 2, top)
        top += tile.height + _BETWEEN


def _node(tile: Tile, x: int, y: int) -> Node:
    kind, content = ("file", {"file": tile.file}) if tile.file else ("text", {"text": tile.text})
    colour = {"color": tile.colour} if tile.colour else {}
    return {"id": tile.id, "type": kind, "x": x, "y": y, "width": tile.width, "height": tile.height, **content, **colour}


def arrows(edges: Sequence[Edge]) -> tuple[Node, ...]:
    """Return the edges from right side to left side, numbered in order."""
    return tuple(_arrow(number, edge) for number, edge in enumerate(edges))


def _arrow(number: int, edge: Edge) -> Node:
    ends = {"fromNode": edge.start, "fromSide": "right", "toNode": edge.end, "toSide": "left"}
    return {"id": f"edge-{number}", **ends, **({"label": edge.label} if edge.label else {})}
