"""Reading of a model's reply: a text, or one JSON object in the forms that models give it, fitted to the answer's schema.

Thoughts, prose or a fence around it, wrappers, lists written as text and JSON with small faults are read, because keys and quotes
are checked all the same. Whether a reply was cut off is not decided here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from pipeline.errors import Malformed
from pipeline.net.calls_and_replies import STRICT, parse
from pipeline.text.cleaning import one_line

W = TypeVar("W", bound=BaseModel)
Schema = Mapping[str, Any]

_ERRORS_NAMED = 5
_WRAPPERS = 3  # of an answer, one in the other
_CANDIDATES = 500  # brackets in one reply at which an object is looked for
_THOUGHTS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
# The marks of DeepSeek, Qwen, Mistral, Kimi, Seed, gpt-oss and Command. The opening one may be missing: some servers write it
# into the prompt. Without this, braces in thoughts are taken for the answer.
_THOUGHTS_END = re.compile(
    rf"</(?:seed:)?(?:{_THOUGHTS})>|\[/THINK\]|◁/think▷|<\|channel\|>final[^<]{{0,40}}<\|message\|>|<\|end_thinking\|>",
    re.IGNORECASE,
)
_THOUGHTS_BEGIN = re.compile(
    rf"<(?:seed:)?(?:{_THOUGHTS})>|\[THINK\]|◁think▷|<\|channel\|>analysis|<\|start_thinking\|>", re.IGNORECASE
)
# The end marks of chat templates, which some servers leave behind the text of a report.
_ENDING = re.compile(r"(?:<\|(?:return|end|im_end|eot_id)\|>|</s>|<end_of_turn>)\s*\Z")


class UnusableReply(Exception):
    """The reply cannot be used; the message says why, in words that the model can act on."""


def parse_text(content: str, wire: type[W]) -> W:
    """Return the answer whose only field is a text, from a reply that is the text and not JSON, perhaps with a fence around it.

    Raises:
        UnusableReply: there is no text.
    """
    text = _without_thoughts(content)
    first, _, rest = text.partition("\n")
    if first.startswith("```") and rest.rstrip().endswith("```") and rest.count("```") % 2:
        text = rest.rstrip().removesuffix("```")
    if text.startswith("{"):
        with suppress(UnusableReply):
            return parse_reply(text, wire)
    if not text.strip():
        raise UnusableReply("The reply is empty; the answer itself is wanted.")
    (name,) = wire.model_fields
    return wire.model_validate({name: text.strip()})


def parse_reply(content: str, wire: type[W]) -> W:
    """Return the answer of type ``wire`` in ``content``: the first object in it that fits.

    Raises:
        UnusableReply: there is none.
    """
    schema = _schema_of(wire)
    fault: UnusableReply | None = None
    try:
        for value in _values_in(_without_thoughts(content)):
            for inner in _unwrapped(value, schema):
                try:
                    return wire.model_validate(_fitted(inner, schema, schema.get("$defs", {})))
                except ValidationError as error:
                    found = error.errors(include_url=False, include_input=False, include_context=False)
                    named = [
                        f"{one_line('.'.join(map(str, one['loc'])) or 'the reply', 80)}: {one['msg']}"
                        for one in found[:_ERRORS_NAMED]
                    ]
                    named += [f"and {len(found) - _ERRORS_NAMED} more"] if len(found) > _ERRORS_NAMED else []
                    fault = fault or UnusableReply(f"The JSON does not fit the schema: {'; '.join(named)}.")
    except Malformed as error:
        fault = fault or UnusableReply(f"The reply is not one JSON object and nothing else: {error.message}.")
    raise fault or UnusableReply("The reply is not one JSON object and nothing else.")


@cache
def _schema_of(wire: type[BaseModel]) -> Schema:
    """Return the schema of an answer, generated once: that takes milliseconds."""
    return wire.model_json_schema()


def _without_thoughts(content: str) -> str:
    """Return a reply without the thoughts before the answer and the marks that some servers leave around it.

    Raises:
        UnusableReply: nothing else is there.
    """
    text = content.strip().removeprefix("\ufeff").strip()
    while not text.startswith(("{", "[{", "```")) and (end := _THOUGHTS_END.search(text)):
        text = text[end.end() :].lstrip()
    if _THOUGHTS_BEGIN.match(text):
        raise UnusableReply("The reply has only thoughts, and no answer after them.")
    return _ENDING.sub("", text)


# ---- from text to values -----------------------------------------------------------------------------------------


def _values_in(text: str) -> Iterator[Any]:
    """Yield the JSON values of a reply: all of it, or what is in it, last what is nearly JSON.

    Raises:
        Malformed: it is not JSON, or another thing, such as a web page, or could be read in two ways. What is not quite JSON is
            yielded before.
    """
    try:
        yield parse(text, STRICT)
        return
    except Malformed as error:
        if error.kind not in ("syntax", "cut"):
            raise
        strict = error
    at = start = _bracket(text, 0)
    found: list[Any] = []
    for _ in range(_CANDIDATES):
        if at < 0:
            break
        try:
            value, at = STRICT.raw_decode(text, at)
            yield value
            found.append(value)
        except json.JSONDecodeError as error:
            if '"' in text[at : error.pos]:  # it began as JSON, so what is inside is not looked at alone
                start = at
                break
            at += 1
        at = _bracket(text, at)
    if len(found) > 1:
        yield found  # an object a line
    yield from _repaired(text[start:] if start >= 0 else "")
    raise strict


def _bracket(text: str, start: int) -> int:
    return min((at for at in (text.find("{", start), text.find("[", start)) if at >= 0), default=-1)


def _repaired(text: str) -> list[Any]:
    """Return the objects in what is nearly JSON, with and without the prose behind it."""
    if not text[1:].strip():
        return []
    import json_repair  # it takes a tenth of a second, and most replies need none

    found: list[Any] = []
    for part in (text[: max(text.rfind("}"), text.rfind("]")) + 1], text):
        with suppress(ValueError, RecursionError):
            value = json_repair.loads(part, skip_json_loads=True)
            found += [value, *(value if isinstance(value, list) else ())]
    return found


def _unwrapped(value: Any, schema: Schema) -> Iterator[dict[str, Any]]:
    """Yield a value, and what lists of one, wrappers of other names and the arguments of a call hold."""
    for _ in range(_WRAPPERS):
        value = _value_of(value)
        if isinstance(value, list):
            entries = [entry for entry in value if isinstance(entry, dict)]
            for name, part in schema["properties"].items():  # the list alone, without the object around it
                inner = part.get("items", {}).get("$ref", "").rpartition("/")[2]
                if inner and entries and all(_share_names(entry, schema["$defs"][inner]) for entry in entries):
                    yield {name: entries}
            value = entries[0] if len(entries) == 1 else None
        if not isinstance(value, dict):
            return
        if _share_names(value, schema):
            yield value
        called = [value.get(name) for name in ("arguments", "parameters", "properties")]
        value = next((one for one in map(_value_of, [*called, *value.values()]) if isinstance(one, dict | list)), None)


def _share_names(value: dict[str, Any], schema: Schema) -> bool:
    return not {_plain(str(name)) for name in value}.isdisjoint(map(_plain, schema["properties"]))


def _value_of(value: Any) -> Any:
    """Return the JSON that a text holds, or the value as it is."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "["):
        return value
    try:
        return parse(value, STRICT)
    except Malformed as error:
        return next(iter(_repaired(value)), value) if error.kind == "syntax" else value


# ---- from values to the schema -----------------------------------------------------------------------------------


def _fitted(value: Any, schema: Schema, types: Mapping[str, Schema]) -> Any:
    """Return a value in the type that its place in the schema has, where it says the same in another one."""
    if "$ref" in schema:
        schema = types[schema["$ref"].rpartition("/")[2]]
    if "anyOf" in schema:
        if value is None:
            return None
        schema = next((one for one in schema["anyOf"] if one.get("type") != "null"), {})
        return _fitted(value, schema, types)
    if "enum" in schema and isinstance(value, str):
        return next((one for one in schema["enum"] if _plain(str(one)) == _plain(value)), value)
    match schema.get("type"):
        case "object":
            value = _value_of(value)
            properties: Mapping[str, Schema] = schema.get("properties", {})
            if isinstance(value, str) and properties:  # a finding that is its quote alone
                value = {schema.get("required", list(properties))[0]: value}
            if not isinstance(value, dict) or not properties:
                return value
            named = {_plain(str(name)): entry for name, entry in value.items()}
            return {
                name: _fitted(named[_plain(name)], part, types)
                for name, part in properties.items()
                if _plain(name) in named and not (named[_plain(name)] is None and "default" in part)
            }
        case "array":
            value = _value_of(value)
            if value is None or value == "":
                return []
            entries = (value if isinstance(value, list) else [value])[: schema.get("maxItems")]
            return [_fitted(entry, schema.get("items", {}), types) for entry in entries if entry is not None]
        case "string" if value is None or isinstance(value, bool | int | float):
            return "" if value is None else str(value)
        case "string" if isinstance(value, list) and all(isinstance(line, str) for line in value):
            return "\n".join(value)
        case "boolean" if isinstance(value, str) and value.strip().casefold() in _TRUTH:
            return _TRUTH[value.strip().casefold()]
    return value


_TRUTH = {"true": True, "yes": True, "false": False, "no": False}


def _plain(name: str) -> str:
    """Return a name without case and joining signs: ``openQuestions`` is ``open_questions``."""
    return "".join(filter(str.isalnum, name)).casefold()
