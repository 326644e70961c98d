"""Parsing of a model's reply: strict JSON, perhaps after the model's thoughts or in one code fence, then the schema.

Invalid JSON is never repaired.
"""

from __future__ import annotations

import re
from typing import TypeVar

from pydantic import ValidationError

from pipeline.adapters.http.strict_json import parse
from pipeline.adapters.reasoners.openai.schemas import Wire
from pipeline.errors import Malformed
from pipeline.text.normalise import one_line

W = TypeVar("W", bound=Wire)

_FENCE = re.compile(r"```[A-Za-z0-9_+-]{0,20}[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
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
    fenced = _FENCE.fullmatch(text)
    try:
        return wire.model_validate(parse(fenced[1] if fenced else text))
    except Malformed as error:
        raise UnusableReply(f"The reply is not one JSON object and nothing else: {error.message}.") from None
    except ValidationError as error:
        raise UnusableReply("The JSON does not fit the schema: " + "; ".join(_schema_errors(error)) + ".") from None


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
