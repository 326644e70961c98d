"""Draws a JSON Canvas as an SVG: cards with text, arrows between them, links to the notes they show."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from pipeline.text.normalise import one_line

_MOST = 1_000  # cards or arrows
_FAR = 1_000_000
_LETTER, _LINE, _PAD = 8.2, 20, 14
_COLOURS = {"1", "2", "3", "4", "5", "6"}
_SIDES = {"top": (0.5, 0, 0, -1), "right": (1, 0.5, 1, 0), "bottom": (0.5, 1, 0, 1), "left": (0, 0.5, -1, 0)}
_MARGIN = 20


@dataclass(frozen=True, slots=True)
class Words:
    """The text of a card: its first line, the lines below it, and its link ("" for none)."""

    title: str
    lines: tuple[str, ...]
    href: str = ""


@dataclass(frozen=True, slots=True)
class _Card:
    x: int
    y: int
    width: int
    height: int
    colour: str
    group: bool
    words: Words


WordsOf = Callable[[Mapping[str, Any]], Words]


def drawn(data: bytes, title: str, words_of: WordsOf) -> str:
    """Return a canvas as SVG; "" if it cannot be read or shows nothing. ``words_of`` returns the text of a card."""
    try:
        canvas = json.loads(data)
        cards = {str(node["id"]): _card(node, words_of) for node in canvas.get("nodes", [])[:_MOST]}
        edges = "".join(_edge(edge, cards) for edge in canvas.get("edges", [])[:_MOST])
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return ""
    if not cards:
        return ""
    left, top = min(card.x for card in cards.values()) - _MARGIN, min(card.y for card in cards.values()) - _MARGIN
    right, bottom = max(card.x + card.width for card in cards.values()), max(card.y + card.height for card in cards.values())
    width, height = right - left + _MARGIN, bottom - top + _MARGIN
    box = f'viewBox="{left} {top} {width} {height}"'
    ordered = sorted(cards.values(), key=lambda card: not card.group)
    inside = "".join(map(_drawn_card, ordered[: sum(card.group for card in ordered)])) + edges
    inside += "".join(map(_drawn_card, (card for card in ordered if not card.group)))
    return f'<svg class="canvas" role="group" aria-label="{escape(title)}" width="{width}" height="{height}" {box}>{inside}</svg>'


def _card(node: Mapping[str, Any], words_of: WordsOf) -> _Card:
    x, y, width, height = (max(-_FAR, min(_FAR, int(node[name]))) for name in ("x", "y", "width", "height"))
    colour = str(node.get("color", ""))
    colour = colour if colour in _COLOURS else ""
    return _Card(x, y, max(1, width), max(1, height), colour, node.get("type") == "group", words_of(node))


def _drawn_card(card: _Card) -> str:
    kind = ("group" if card.group else "card") + (f" c{card.colour}" if card.colour else "")
    box = f'<rect class="card" x="{card.x}" y="{card.y}" width="{card.width}" height="{card.height}" rx="10"/>'
    inside = box + "".join(_lines(card))
    if card.words.href:
        inside = f'<a href="{escape(card.words.href)}">{inside}</a>'
    return f'<g class="{kind}">{inside}</g>'


def _lines(card: _Card) -> Iterator[str]:
    """The words broken into lines that fit the card; what does not fit ends in an ellipsis."""
    letters = max(4, int((card.width - 2 * _PAD) / _LETTER))
    room = max(1, (card.height - _PAD) // _LINE)
    lines = [("card-title", line) for line in textwrap.wrap(card.words.title, letters)]
    lines += [("card-text", line) for text in card.words.lines for line in textwrap.wrap(text, letters)]
    if len(lines) > room:
        style, last = lines[room - 1]
        lines = [*lines[: room - 1], (style, one_line(last + " …", letters + 2))]
    for number, (style, line) in enumerate(lines):
        yield f'<text class="{style}" x="{card.x + _PAD}" y="{card.y + _PAD + 10 + number * _LINE}">{escape(line)}</text>'


def _edge(edge: Mapping[str, Any], cards: Mapping[str, _Card]) -> str:
    start, end = cards.get(str(edge.get("fromNode"))), cards.get(str(edge.get("toNode")))
    if start is None or end is None:
        return ""
    x1, y1, dx1, dy1 = _port(start, str(edge.get("fromSide", "right")))
    x2, y2, dx2, dy2 = _port(end, str(edge.get("toSide", "left")))
    reach = max(40, (abs(x2 - x1) + abs(y2 - y1)) // 3)
    curve = f"M{x1} {y1}C{x1 + dx1 * reach} {y1 + dy1 * reach} {x2 + dx2 * reach} {y2 + dy2 * reach} {x2} {y2}"
    drawn_edge = f'<path class="edge" d="{curve}"/>'
    if edge.get("toEnd", "arrow") != "none":
        drawn_edge += _head(x2, y2, dx2, dy2)
    if label := one_line(str(edge.get("label", "")), 40):
        drawn_edge += (
            f'<text class="edge-label" x="{(x1 + x2) // 2}" y="{(y1 + y2) // 2 - 6}" text-anchor="middle">{escape(label)}</text>'
        )
    return drawn_edge


def _port(card: _Card, side: str) -> tuple[int, int, int, int]:
    """Where an arrow meets a card, and the direction away from it."""
    across, down, dx, dy = _SIDES.get(side, _SIDES["right"])
    return round(card.x + across * card.width), round(card.y + down * card.height), dx, dy


def _head(x: int, y: int, dx: int, dy: int) -> str:
    sides: Sequence[tuple[int, int]] = [
        (x + dx * 12 + dy * 6, y + dy * 12 + dx * 6),
        (x + dx * 12 - dy * 6, y + dy * 12 - dx * 6),
    ]
    (ax, ay), (bx, by) = sides
    return f'<path class="arrow" d="M{x} {y}L{ax} {ay}L{bx} {by}Z"/>'
