"""Capabilities of a server's models, learnt from its replies: the JSON response format and two request parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Format = Literal["json_schema", "json_object", "prompt"]

_LOWER: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "prompt"}
_LIMIT_NAME = re.compile(r"max_completion_tokens")
_TEMPERATURE = re.compile(r"temperature", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The request options that one model accepts. ``proven``: the model has answered such a request."""

    format: Format = "json_schema"
    limit_name: str = "max_tokens"
    temperature: bool = True
    proven: bool = False

    def body(
        self, model: str, messages: list[dict[str, str]], max_tokens: int, name: str, schema: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the request's body; ``name`` and ``schema`` are those of the JSON reply.

        A server that takes no schema finds it at the end of the prompt.
        """
        sent = messages if self.format == "json_schema" else _with_schema(messages, schema)
        body: dict[str, Any] = {"model": model, self.limit_name: max_tokens, "messages": sent, "stream": False}
        if self.temperature:
            body["temperature"] = 0
        if self.format == "json_schema":
            wanted = {"name": name, "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif self.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def after(self, complaint: str, *, about_format: bool) -> Capabilities | None:
        """Return the next options to try after the server rejected a request; None if there are none.

        A complaint that names no parameter is taken to be about the format, unless the format is already proven.
        """
        if _LIMIT_NAME.search(complaint) and self.limit_name == "max_tokens":
            return replace(self, limit_name="max_completion_tokens")
        if _TEMPERATURE.search(complaint) and self.temperature:
            return replace(self, temperature=False)
        if self.format in _LOWER and (about_format or not self.proven):
            return replace(self, format=_LOWER[self.format], proven=False)
        return None


def _with_schema(messages: list[dict[str, str]], schema: dict[str, Any]) -> list[dict[str, str]]:
    system, user, *rest = messages
    shape = json.dumps(schema, ensure_ascii=False, separators=(",", ":"))
    return [system, {**user, "content": f"{user['content']}\n\nThe schema of your reply:\n{shape}"}, *rest]


class KnownCapabilities:
    """The known capabilities of a server's models, by model name; shared by all reasoners of the server."""

    def __init__(self) -> None:
        self._known: dict[str, Capabilities] = {}

    def of(self, model: str) -> Capabilities:
        """Return the capabilities of a model, the defaults if it is unknown."""
        return self._known.get(model, Capabilities())

    def learn(self, model: str, dialect: Capabilities) -> None:
        """Store the capabilities of a model."""
        self._known[model] = dialect

    def prove(self, model: str) -> None:
        """Mark the capabilities of a model as proven."""
        self._known[model] = replace(self.of(model), proven=True)
