"""A small writer of SVG: elements as values, every text and attribute escaped, numbers short and the same on every machine.

The drawings carry their own style sheet: system fonts, and colours for light and dark surroundings. They paint their own
ground, so they can be read even where the page around them is of the other scheme.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from html import escape

from pipeline.text.normalise import clean

Value = str | int | float
# What XML 1.0 cannot hold even as an entity; the rest of what is unwanted `clean` removes.
_NO_XML = re.compile("[\ufffe\uffff]")
# What needs no escaping, which is nearly everything that is drawn.
_HARMLESS = re.compile(r"[A-Za-z0-9.,:#/()×_-]+(?: [A-Za-z0-9.,:#/()×_-]+)*")

STYLE = """\
text { font: 12px system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; fill: #1f2328; }
.head { font-size: 14px; font-weight: 600; }
.soft { fill: #59636e; }
.end { text-anchor: end; }
.middle { text-anchor: middle; }
.ground { fill: #ffffff; stroke: #d1d9e0; }
.grid { stroke: #d1d9e0; stroke-width: 1; }
.pause { fill: #eff2f5; }
.lane { fill: #c9d7ea; }
.done { fill: #1a7f37; }
.failed { fill: #cf222e; }
.open { fill: #9a6700; }
.thought { fill: #8250df; }
.search { fill: #0969da; }
.page { fill: #59636e; }
.fact { fill: #1a7f37; }
.area { fill: #0969da; fill-opacity: 0.14; }
.line { fill: none; stroke: #0969da; stroke-width: 2; stroke-linejoin: round; }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; }
  .soft { fill: #9ba7b4; }
  .ground { fill: #151b23; stroke: #3d444d; }
  .grid { stroke: #3d444d; }
  .pause { fill: #212830; }
  .lane { fill: #2f4a6d; }
  .done, .fact { fill: #3fb950; }
  .failed { fill: #f85149; }
  .open { fill: #d29922; }
  .thought { fill: #bc8cff; }
  .search { fill: #58a6ff; }
  .page { fill: #9ba7b4; }
  .area { fill: #58a6ff; }
  .line { stroke: #58a6ff; }
}
"""


class Markup(str):
    """Text that is SVG already."""

    __slots__ = ()


def element(name: str, attributes: Mapping[str, Value], *children: str) -> Markup:
    """Return one element; a child that is no ``Markup`` is text and is escaped."""
    head = "".join([f" {key}={_quoted(value)}" for key, value in attributes.items()])
    return _whole(name, head, "".join([child if type(child) is Markup else _escaped(child) for child in children]))


def _whole(name: str, attributes: str, inner: str) -> Markup:
    """An element of which all parts are written; each of the ``attributes`` has a blank before it."""
    return Markup(f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>")


def text(x: float, y: float, words: str, style: str = "") -> Markup:
    """Return words at a place; ``style`` names classes of the style sheet."""
    styled = f" class={_quoted(style)}" if style else ""
    return _whole("text", f" x={_quoted(x)} y={_quoted(y)}{styled}", _escaped(words))


def rectangle(x: float, y: float, width: float, height: float, style: str, *, radius: float = 0, title: str = "") -> Markup:
    """Return a rectangle; ``title`` is what a pointer that rests on it shows."""
    size = f" x={_quoted(x)} y={_quoted(y)} width={_quoted(width)} height={_quoted(height)}"
    rounded = f" rx={_quoted(radius)}" if radius else ""
    return _whole("rect", f"{size} class={_quoted(style)}{rounded}", _titled(title))


def line(x1: float, y1: float, x2: float, y2: float, style: str = "grid") -> Markup:
    """Return a straight line."""
    ends = f" x1={_quoted(x1)} y1={_quoted(y1)} x2={_quoted(x2)} y2={_quoted(y2)}"
    return _whole("line", f"{ends} class={_quoted(style)}", "")


def path(points: str, style: str, title: str = "") -> Markup:
    """Return a path; ``points`` is its ``d``."""
    return _whole("path", f" d={_quoted(points)} class={_quoted(style)}", _titled(title))


def shape(name: str, points: str) -> Markup:
    """Return a shape that ``placed`` draws wherever it is wanted; ``points`` is the ``d`` of its path around the origin."""
    return element("path", {"id": name, "d": points})


def placed(name: str, x: float, y: float, style: str, title: str = "") -> Markup:
    """Return a shape at a place."""
    place = f" href={_quoted(f'#{name}')} x={_quoted(x)} y={_quoted(y)}"
    return _whole("use", f"{place} class={_quoted(style)}", _titled(title))


def group(children: Iterable[Markup], label: str = "") -> Markup:
    """Return elements that belong together, named for those who do not see them."""
    return element("g", {"role": "group", "aria-label": label} if label else {}, *children)


def document(width: int, height: int, title: str, description: str, children: Iterable[Markup]) -> str:
    """Return a whole drawing of that size in pixels, with its name and what it shows in words."""
    attributes: dict[str, Value] = {
        "xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height, "viewBox": f"0 0 {width} {height}",
        "role": "img", "aria-labelledby": "title desc",
    }  # fmt: skip
    ground = rectangle(0.5, 0.5, width - 1, height - 1, "ground", radius=8)
    named = (element("title", {"id": "title"}, title), element("desc", {"id": "desc"}, description))
    lines = (*named, element("style", {}, Markup(STYLE)), ground, *children)
    return element("svg", attributes, Markup("\n"), *(Markup(f"{part}\n") for part in lines)) + "\n"


def number(value: float, decimals: int = 2) -> str:
    """Return a number with at most so many decimals and no needless zeros."""
    rounded = f"{value:.{decimals}f}".rstrip("0").rstrip(".")
    return "0" if rounded in {"-0", ""} else rounded


def _titled(title: str) -> str:
    return f"<title>{_escaped(title)}</title>" if title else ""


@lru_cache(maxsize=4_096)  # classes, sizes and places come again and again
def _quoted(value: Value) -> str:
    if not isinstance(value, str):
        return f'"{number(value)}"'
    if _HARMLESS.fullmatch(value):
        return f'"{value}"'
    plain = _plain(value)
    mark = "'" if '"' in plain and "'" not in plain else '"'
    return f"{mark}{escape(plain, quote=False).replace(mark, '&quot;')}{mark}"


@lru_cache(maxsize=4_096)
def _escaped(words: str) -> str:
    return words if _HARMLESS.fullmatch(words) else escape(_plain(words), quote=False)


def _plain(words: str) -> str:
    return _NO_XML.sub("\ufffd", " ".join(clean(words).split()))
