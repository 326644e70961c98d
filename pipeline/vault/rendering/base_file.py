"""``fault_of``: what keeps Obsidian from reading a base, found before the file is written.

Obsidian shows a base with a fault as an empty table, without a word. Checked are the YAML, the keys, and the shape of filters and
views; the expressions are not, and keys inside a view are free, as Obsidian adds some that it does not document.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

from pipeline.system.templates import suggested

_KEYS = ("filters", "formulas", "properties", "summaries", "views")
_JOINS = ("and", "or", "not")
_TYPES = ("table", "cards", "list", "map")


class Fault(NamedTuple):
    """A fault of a base: its line, from 1, and what is wrong."""

    line: int
    message: str


def fault_of(text: str) -> Fault | None:
    """Return the first fault of a base; None if it has none."""
    try:
        root = _composed(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return Fault(mark.line + 1 if mark else 1, f"it is not valid YAML: {error.problem or error.context}")
    except yaml.YAMLError as error:
        return Fault(1, f"it is not valid YAML: {error}")
    return next(_faults(root), None)


def _composed(text: str) -> Any:
    """Return the root node; the parser in C is ten times as fast, that in Python explains an error better."""
    try:
        return yaml.compose(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError:
        return yaml.compose(text, Loader=yaml.SafeLoader)


def _faults(root: Any) -> Iterator[Fault]:
    if not isinstance(root, yaml.MappingNode):
        yield Fault(1, "it holds no views: write `views:` and below it `- type: table` with a `name`")
        return
    parts = dict(_pairs(root))
    for key, _ in root.value:
        if key.value not in _KEYS:
            yield _at(key, f"`{key.value}` is not known in a base{suggested(key.value, _KEYS)}")
    yield from _faults_of_filter(parts.get("filters"))
    for name in ("formulas", "properties", "summaries"):
        if (node := parts.get(name)) is not None and not isinstance(node, yaml.MappingNode):
            yield _at(node, f"`{name}` takes names with their values, one on each line")
    yield from _faults_of_views(root, parts.get("views"))


def _faults_of_views(root: Any, views: Any) -> Iterator[Fault]:
    if not isinstance(views, yaml.SequenceNode) or not views.value:
        yield _at(views or root, "it has no views: write `views:` and below it `- type: table` with a `name`")
        return
    for view in views.value:
        parts = dict(_pairs(view)) if isinstance(view, yaml.MappingNode) else {}
        kind = getattr(parts.get("type"), "value", None)
        if kind not in _TYPES:
            yield _at(parts.get("type") or view, f"a view has one of the types {', '.join(_TYPES)}{suggested(str(kind), _TYPES)}")
        elif not getattr(parts.get("name"), "value", None):
            yield _at(view, "a view has no name: write `name:`")
        yield from _faults_of_filter(parts.get("filters"))


def _faults_of_filter(node: Any) -> Iterator[Fault]:
    if node is None or (isinstance(node, yaml.ScalarNode) and node.value):
        return
    parts = node.value if isinstance(node, yaml.MappingNode) else []
    if len(parts) != 1 or parts[0][0].value not in _JOINS or not isinstance(parts[0][1], yaml.SequenceNode):
        yield _at(node, "a filter is one expression, or one of `and:`, `or:` and `not:` with a list below it")
        return
    for child in parts[0][1].value:
        yield from _faults_of_filter(child)


def _pairs(node: Any) -> Iterator[tuple[str, Any]]:
    return ((key.value, value) for key, value in node.value)


def _at(node: Any, message: str) -> Fault:
    return Fault(node.start_mark.line + 1, message)
