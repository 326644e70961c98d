"""Makes what a model would say fit the JSON schema that it must answer in, whatever the schema's names and nesting."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Filler = Callable[[str, str], Any]
"""From a property's name and JSON type to a value, where the ideal answer has none."""


@dataclass(frozen=True)
class Fitter:
    """One schema's fitting. ``bounded`` keeps to the schema's upper limits; a model that does not care ignores them."""

    schema: Mapping[str, Any]
    filler: Filler
    bounded: bool = True

    def fit(self, ideal: Any) -> Any:
        """Return ``ideal`` in the schema's shape."""
        return self._fit(self.schema, ideal, "answer")

    def _fit(self, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        schema = self._variant(self._resolved(schema), value)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return value if value in schema["enum"] else self._chosen(schema["enum"], name)
        return self._typed(schema, value, name)

    def _typed(self, schema: Mapping[str, Any], value: Any, name: str) -> Any:
        kind = _kind(schema, value)
        if kind == "object":
            return self._object(schema, value)
        if kind == "array":
            return self._array(schema, value, name)
        if kind == "string":
            return self._string(schema, value, name)
        if kind in ("number", "integer"):
            return self._number(schema, value, name, kind)
        if kind == "boolean":
            return value if isinstance(value, bool) else bool(self.filler(name, kind))
        return None if kind == "null" else value

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        while "$ref" in schema:
            holder: Any = self.schema
            for step in str(schema["$ref"]).removeprefix("#/").split("/"):
                holder = holder[step]
            schema = holder
        return schema

    def _variant(self, schema: Mapping[str, Any], value: Any) -> Mapping[str, Any]:
        variants = schema.get("anyOf") or schema.get("oneOf") or schema.get("allOf")
        if not variants:
            return schema
        resolved = [self._resolved(variant) for variant in variants]
        fitting = (variant for variant in resolved if _matches(variant, value))
        return next(fitting, next((variant for variant in resolved if variant.get("type") != "null"), resolved[0]))

    def _chosen(self, values: list[Any], name: str) -> Any:
        wanted = self.filler(name, "enum")
        return wanted if wanted in values else values[0]

    def _object(self, schema: Mapping[str, Any], value: Any) -> dict[str, Any]:
        properties: Mapping[str, Any] = schema.get("properties") or {}
        given: dict[str, Any] = value if isinstance(value, dict) else {}
        if not properties:
            return dict(given)
        names = _paired(properties, given)
        return {name: self._fit(part, given.get(names.get(name, "")), name) for name, part in properties.items()}

    def _array(self, schema: Mapping[str, Any], value: Any, name: str) -> list[Any]:
        items: Mapping[str, Any] = schema.get("items") or {}
        given = list(value) if isinstance(value, list | tuple) else [] if value is None else [value]
        if self.bounded and "maxItems" in schema:
            given = given[: schema["maxItems"]]
        given += [None] * (int(schema.get("minItems", 0)) - len(given))
        return [self._fit(items, one, name) for one in given]

    def _string(self, schema: Mapping[str, Any], value: Any, name: str) -> str:
        text = str(value if value is not None else self.filler(name, "string"))
        if "pattern" in schema and not re.search(schema["pattern"], text):
            text = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "item"
        return text[: int(schema["maxLength"])] if self.bounded and "maxLength" in schema else text

    def _number(self, schema: Mapping[str, Any], value: Any, name: str, kind: str) -> float:
        usable = isinstance(value, int | float) and not isinstance(value, bool)
        number = value if usable else self.filler(name, kind)
        if self.bounded:
            number = min(max(number, schema.get("minimum", number)), schema.get("maximum", number))
        return int(number) if kind == "integer" else float(number)


def _kind(schema: Mapping[str, Any], value: Any) -> str:
    kind = schema.get("type")
    if isinstance(kind, list):
        return str(next((one for one in kind if _matches({"type": one}, value)), next(one for one in kind if one != "null")))
    if kind:
        return str(kind)
    return "object" if "properties" in schema else "array" if "items" in schema else ""


def _matches(schema: Mapping[str, Any], value: Any) -> bool:
    if "enum" in schema:
        return value in schema["enum"]
    types = {"object": dict, "array": list | tuple, "string": str, "boolean": bool, "number": int | float, "integer": int}
    kind = schema.get("type")
    if kind == "null":
        return value is None
    return isinstance(kind, str) and kind in types and isinstance(value, types[kind])


def _paired(properties: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, str]:
    """Return which given name serves each property: the same name, or the only list left on both sides."""
    pairs = {name: name for name in properties if name in given}
    lists = [name for name, part in properties.items() if name not in pairs and part.get("type") == "array"]
    spare = [name for name, value in given.items() if name not in pairs and isinstance(value, list)]
    if len(lists) == len(spare) == 1:
        pairs[lists[0]] = spare[0]
    return pairs
