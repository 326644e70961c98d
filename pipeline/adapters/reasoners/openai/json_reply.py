"""Parsing of a model's reply: one JSON object, in the forms that models give it, then the schema.

Thoughts, prose or a fence around it, a list or a wrapper of one, a trailing comma, a raw line break in a string and Python's
spelling are read; the schema, the keys and the quotes are checked all the same. What is cut off or ambiguous is refused.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any, TypeVar

from pydantic import ValidationError

from pipeline.adapters.http.strict_json import RAW_LINES, parse
from pipeline.adapters.reasoners.openai.schemas import Wire
from pipeline.errors import Malformed
from pipeline.text.normalise import one_line

W = TypeVar("W", bound=Wire)

# Strings, which stay as they are, and what small models write between them: a comma too many, Python's names of constants.
_NEARLY_JSON = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?|,(?=\s*+[}\]])|\b(?:True|False|None)\b', re.DOTALL)
_IN_JSON = {",": "", "True": "true", "False": "false", "None": "null"}
_ERRORS_NAMED = 5
_THOUGHTS = "think|thinking|thought|thoughts|reasoning|reflection|scratchpad|analysis"
# The opening mark may be missing: some servers write it into the prompt.
_THOUGHTS_END = re.compile(
    rf"</(?:seed:)?(?:{_THOUGHTS})>|\[/THINK\]|◁/think▷|<\|channel\|>final[^<]{{0,40}}<\|message\|>|<\|end_thinking\|>",
    re.IGNORECASE,
)
_THOUGHTS_BEGIN = re.compile(
    rf"<(?:seed:)?(?:{_THOUGHTS})>|\[THINK\]|◁think▷|<\|channel\|>analysis|<\|start_thinking\|>", re.IGNORECASE
)
_ENDING = re.compile(r"(?:<\|(?:return|end|im_end|eot_id)\|>|</s>)\s*\Z")


class UnusableReply(Exception):
    """The reply cannot be used; the message says why, in words that the model can act on."""


def parse_reply(content: str, wire: type[W]) -> W:
    """Return the wire model in ``content``.

    Raises:
        UnusableReply: it is not JSON, not one object, or does not fit the schema.
    """
    text = without_thoughts(content)
    if _THOUGHTS_BEGIN.match(text):
        raise UnusableReply("The reply has only thoughts, and no answer after them.")
    try:
        return wire.model_validate(_unwrapped(_value_in(text), wire))
    except Malformed as error:
        raise UnusableReply(f"The reply is not one JSON object and nothing else: {error.message}.") from None
    except ValidationError as error:
        raise UnusableReply("The JSON does not fit the schema: " + "; ".join(_schema_errors(error)) + ".") from None


def _value_in(text: str) -> Any:
    """Return the JSON value of a reply: all of it, or the one object in it.

    Raises:
        Malformed: there is none, or more than one.
    """
    try:
        return parse(text)
    except Malformed as error:
        inside = text[max(0, text.find("{")) : text.rfind("}") + 1]
        if error.kind not in ("syntax", "cut") or not inside:
            raise
        corrected = _NEARLY_JSON.sub(lambda found: _IN_JSON.get(found[0], found[0]), inside)
        try:
            return parse(corrected, RAW_LINES)
        except Malformed as fault:
            if fault.kind not in ("syntax", "cut"):
                raise
        try:
            return parse(json.dumps(ast.literal_eval(inside)))
        except (Malformed, SyntaxError, ValueError, TypeError, MemoryError, RecursionError):
            raise error from None


def _unwrapped(value: Any, wire: type[Wire]) -> Any:
    """Return what a list of one or a wrapper of another name holds: the arguments of a call, or the value of its only key."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict) or value.keys() & wire.model_fields.keys():
        return value
    held = value.get("arguments") or (next(iter(value.values())) if len(value) == 1 else None)
    held = _value_in(held) if isinstance(held, str) else held
    return held if isinstance(held, dict) else value


def without_thoughts(content: str) -> str:
    """Return a reply without the thoughts before the answer and the marks that some servers leave around it."""
    text = content.strip().removeprefix("\ufeff").strip()
    while not text.startswith(("{", "[{", "```")) and (end := _THOUGHTS_END.search(text)):
        text = text[end.end() :].lstrip()
    return _ENDING.sub("", text)


def _schema_errors(error: ValidationError) -> list[str]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = [
        f"{one_line('.'.join(map(str, fault['loc'])) or 'the reply', 80)}: {fault['msg']}" for fault in found[:_ERRORS_NAMED]
    ]
    return named if len(found) <= _ERRORS_NAMED else [*named, f"and {len(found) - _ERRORS_NAMED} more"]
