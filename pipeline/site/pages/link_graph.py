"""The link graph of a note as an SVG: the note in the middle, its neighbours around it, each a link."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from html import escape
from math import cos, pi, sin

from markupsafe import Markup

from pipeline.site.pages.page_values import Link
from pipeline.text.normalise import one_line

FEWEST, MOST = 3, 12  # neighbours; fewer are better listed, and the names of more would run into each other
_WIDTH, _HEIGHT = 760, 370
_LABEL = 26


def local_graph(title: str, kind: str, neighbours: Sequence[Link]) -> Markup:
    """Return an SVG of a note and at most ``MOST`` of its neighbours, "" when it has fewer than ``FEWEST``."""
    shown = neighbours[:MOST]
    if len(shown) < FEWEST:
        return Markup()
    middle = (_WIDTH // 2, _HEIGHT // 2)
    places = [_place(number, len(shown)) for number in range(len(shown))]
    lines = "".join(f'<line class="edge" x1="{middle[0]}" y1="{middle[1]}" x2="{x}" y2="{y}"/>' for x, y in places)
    nodes = "".join(_node(link, x, y) for link, (x, y) in zip(shown, places, strict=True))
    words = f"{title}: linked with {len(neighbours)} notes"
    own = f'<circle class="node self {kind}" cx="{middle[0]}" cy="{middle[1]}" r="9"/>'
    # Links inside a picture can be reached, so the picture is a group and not an image.
    return Markup(  # noqa: S704 - every text in it is escaped
        f'<svg class="graph" role="group" viewBox="0 0 {_WIDTH} {_HEIGHT}" aria-label="{escape(words)}">{lines}{own}{nodes}</svg>'
    )


@cache
def _place(number: int, count: int) -> tuple[int, int]:
    angle = 2 * pi * number / count - pi / 2
    return round(_WIDTH / 2 + 200 * cos(angle)), round(_HEIGHT / 2 + 150 * sin(angle))


def _node(link: Link, x: int, y: int) -> str:
    left = x < _WIDTH / 2 - 20
    anchor = "end" if left else "start" if x > _WIDTH / 2 + 20 else "middle"
    dx, dy = (-10, 4) if left else (10, 4) if anchor == "start" else (0, -12 if y < _HEIGHT / 2 else 20)
    label = one_line(link.title, _LABEL)
    text = f'<text x="{x + dx}" y="{y + dy}" text-anchor="{anchor}">{escape(label)}</text>'
    circle = f'<circle class="node {link.kind}" cx="{x}" cy="{y}" r="6"/>'
    return f'<a href="{escape(link.href)}"><title>{escape(link.title)}</title>{circle}{text}</a>'
