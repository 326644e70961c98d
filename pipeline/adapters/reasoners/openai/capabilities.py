"""What a server understands of a request, found out by asking and remembered: how JSON is asked for, and two parameters."""

from __future__ import annotations

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
    """How one model of a server is asked. ``proven``: an answer came back that way."""

    format: Format = "json_schema"
    limit_name: str = "max_tokens"
    temperature: bool = True
    proven: bool = False

    def body(
        self, model: str, messages: list[dict[str, str]], max_tokens: int, name: str, schema: dict[str, Any]
    ) -> dict[str, Any]:
        """Return the request's body."""
        made: dict[str, Any] = {"model": model, self.limit_name: max_tokens, "messages": messages, "stream": False}
        if self.temperature:
            made["temperature"] = 0
        if self.format == "json_schema":
            wanted = {"name": name, "strict": True, "schema": schema}
            made["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif self.format == "json_object":
            made["response_format"] = {"type": "json_object"}
        return made

    def after(self, complaint: str, *, about_format: bool) -> Capabilities | None:
        """Return the next dialect to try when the server would not take a request, None when there is none.

        A complaint that names no parameter is put down to the format, unless that is already proven.
        """
        if _LIMIT_NAME.search(complaint) and self.limit_name == "max_tokens":
            return replace(self, limit_name="max_completion_tokens")
        if _TEMPERATURE.search(complaint) and self.temperature:
            return replace(self, temperature=False)
        if self.format in _LOWER and (about_format or not self.proven):
            return replace(self, format=_LOWER[self.format], proven=False)
        return None


class KnownCapabilities:
    """What is known of a server's models, by model name; shared by all that ask the same server."""

    def __init__(self) -> None:
        self._known: dict[str, Capabilities] = {}

    def of(self, model: str) -> Capabilities:
        """Return how to ask a model, as far as is known."""
        return self._known.get(model, Capabilities())

    def learn(self, model: str, dialect: Capabilities) -> None:
        """Remember how a model wants to be asked."""
        self._known[model] = dialect

    def prove(self, model: str) -> None:
        """Remember that a model answered the way it was asked."""
        self._known[model] = replace(self.of(model), proven=True)
