"""A model's text → a wire model: strict JSON, one fence stripped, then the schema. Nothing is ever repaired."""

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
_FAULTS_NAMED = 5


class Unfit(Exception):
    """The reply cannot be used; the text says why, in words that a model can act on."""


def read(content: str, wire: type[W]) -> W:
    """Return the wire model that ``content`` holds.

    Raises:
        Unfit: it is no JSON, not one object, or not of the schema.
    """
    text = content.strip().removeprefix("\ufeff").strip()
    fenced = _FENCE.fullmatch(text)
    try:
        return wire.model_validate(parse(fenced[1] if fenced else text))
    except Malformed as error:
        raise Unfit(f"The reply is not one JSON object and nothing else: {error.message}.") from None
    except ValidationError as error:
        raise Unfit("The JSON does not fit the schema: " + "; ".join(_faults(error)) + ".") from None


def _faults(error: ValidationError) -> list[str]:
    found = error.errors(include_url=False, include_input=False, include_context=False)
    named = [
        f"{one_line('.'.join(map(str, fault['loc'])) or 'the reply', 80)}: {fault['msg']}" for fault in found[:_FAULTS_NAMED]
    ]
    return named if len(found) <= _FAULTS_NAMED else [*named, f"and {len(found) - _FAULTS_NAMED} more"]
