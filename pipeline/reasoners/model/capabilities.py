"""What is learnt of a server's models: accepted parameters, their context, the room they need, and answers of no use."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from pipeline.errors import Malformed, StepError
from pipeline.net.calls_and_replies import Again, Call, Good
from pipeline.net.client import HttpClient
from pipeline.text.redaction import Secret

Format = Literal["json_schema", "json_object", "prompt"]
Message = Mapping[str, Any]  # "role", and "content": a text, or its parts, of which the last is another one in each prompt

# The patterns find in a server's complaint which option it means; servers have no common codes for it.
_LOWER: Mapping[Format, Format] = {"json_schema": "json_object", "json_object": "prompt"}
_EFFORT = re.compile(r"reasoning|effort|think", re.IGNORECASE)
_MARKS_NAME = re.compile(r"cache_control|content\b.{0,60}\b(?:string|str_type|text)", re.IGNORECASE | re.DOTALL)
_BOUNDS_NAME = re.compile(r"max_?(?:items|length)|repetition", re.IGNORECASE)
_STREAM = re.compile(r"\bstream(?:ing)?\b", re.IGNORECASE)
_MARKS = 3  # of a message; Anthropic takes four in a request
_MOST_TOKENS = re.compile(
    r"(?:max_(?:completion_)?tokens|(?:completion|output) tokens).{0,120}?"
    r"(?:at most|maximum|less than or equal to|up to|<=|limit)\D{0,40}(\d[\d,]{2,8})", re.IGNORECASE | re.DOTALL
)  # fmt: skip
UNUSABLE_AT_MOST = 6  # answers of no use in a row, after which a model is not asked in that role any more


@dataclass(frozen=True, slots=True)
class Capabilities:
    """The request options that one model accepts. ``proven``: the model has answered such a request.

    ``most_tokens`` is the longest reply that may be asked for; ``effort``: it may be said how much it is to think; ``marks``: the
    parts of a prompt are marked for the cache; ``bounds``: a schema says how long lists and texts may be.
    """

    format: Format = "json_schema"
    limit_name: str = "max_tokens"
    temperature: bool = True
    effort: bool = True
    stream: bool = True
    usage: bool = True
    marks: bool = False
    bounds: bool = True
    most_tokens: int = 1_000_000
    proven: bool = False

    def body(
        self, model: str, messages: Sequence[Message], max_tokens: int, name: str, schema: Mapping[str, Any], effort: str = ""
    ) -> dict[str, Any]:
        """Return the request's body; ``name`` and ``schema`` are those of the JSON reply, {} for a text.

        A server that takes no schema finds it at the end of the prompt.
        """
        told = ""
        if schema and self.format != "json_schema":
            told = f"\n\nThe schema of your reply:\n{json.dumps(schema, ensure_ascii=False, separators=(',', ':'))}"
        body: dict[str, Any] = {
            "model": model,
            self.limit_name: min(max_tokens, self.most_tokens),
            "messages": [
                {"role": one["role"], "content": self._content(one, told if place == 1 else "")}
                for place, one in enumerate(messages)
            ],
            "stream": self.stream,
        }
        if self.stream and self.usage:
            body["stream_options"] = {"include_usage": True}
        if self.effort and effort:
            body["reasoning_effort"] = effort
        if self.temperature:
            body["temperature"] = 0
        if schema and self.format == "json_schema":
            wanted = {"name": name, "strict": True, "schema": schema if self.bounds else _without_bounds(schema)}
            body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        elif schema and self.format == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def _content(self, message: Message, told: str) -> str | list[dict[str, Any]]:
        """Return a message's content, with ``told`` at its end; with marks, a cache keeps the parts before the last one, and the
        system message."""
        content = message["content"]
        parts: list[str] = [content] if isinstance(content, str) else list(content)
        parts[-1] += told
        if not self.marks:
            return "".join(parts)
        kept = 1 if message["role"] == "system" else len(parts) - 1
        mark = {"cache_control": {"type": "ephemeral"}}
        return [{"type": "text", "text": part, **(mark if kept - _MARKS <= at < kept else {})} for at, part in enumerate(parts)]

    def after(self, complaint: str, *, about_format: bool) -> Capabilities | None:
        """Return the next options to try after the server rejected a request; None if there are none.

        A complaint that names no parameter is taken to be about the format, unless the format is already proven.
        """
        if "max_completion_tokens" in complaint and self.limit_name == "max_tokens":
            return replace(self, limit_name="max_completion_tokens")
        if "temperature" in complaint.lower() and self.temperature:
            return replace(self, temperature=False)
        if _EFFORT.search(complaint) and self.effort:
            return replace(self, effort=False)
        if _MARKS_NAME.search(complaint) and self.marks:
            return replace(self, marks=False)
        if "stream_options" in complaint and self.usage:
            return replace(self, usage=False)
        if _STREAM.search(complaint) and self.stream:
            return replace(self, stream=False)
        if _BOUNDS_NAME.search(complaint) and self.bounds:
            return replace(self, bounds=False)
        if (named := _MOST_TOKENS.search(complaint)) and 0 < (most := int(named[1].replace(",", ""))) < self.most_tokens:
            return replace(self, most_tokens=most)
        if self.format in _LOWER and (about_format or not self.proven):
            return replace(self, format=_LOWER[self.format], proven=False)
        return None


def _without_bounds(part: Any) -> Any:
    if isinstance(part, list):
        return [_without_bounds(one) for one in part]
    if not isinstance(part, dict):
        return part
    return {name: _without_bounds(value) for name, value in part.items() if name not in ("maxItems", "maxLength")}


@dataclass
class KnownCapabilities:
    """What is known of a server's models, by model name; shared by all reasoners of the server.

    ``windows`` are their contexts in tokens, as far as the settings or the server say; ``asking`` is held while it is asked.
    ``materials`` say how much fetched text a prompt may hold where that is less than usual; ``unusable`` counts, by role and
    model, the questions in a row that were answered with nothing of use.
    """

    windows: dict[str, int] = field(default_factory=dict)
    asking: asyncio.Lock = field(default_factory=asyncio.Lock)
    materials: dict[str, int] = field(default_factory=dict)
    unusable: Counter[tuple[str, str]] = field(default_factory=Counter)
    _known: dict[str, Capabilities] = field(default_factory=dict)
    _rooms: dict[str, int] = field(default_factory=dict)

    def of(self, model: str, *, plain: bool = False) -> Capabilities:
        """Return the capabilities of a model, the defaults if it is unknown; if ``plain``, without a response format."""
        known = self._known.get(model, Capabilities(marks="claude" in model.lower()))
        return replace(known, format="prompt") if plain else known

    def room(self, model: str, usual: int) -> int:
        """Return the tokens to allow for a reply: more than ``usual`` if the model has needed more, and a third of its window."""
        room = max(usual, self._rooms.get(model, 0))
        return min(room, self.windows.get(model, 0) // 3 or room)

    def most_room(self, model: str, usual: int) -> int:
        """Return the tokens to allow for a reply that was cut off: twice as many, as far as the model takes them."""
        window = self.windows.get(model, 0)
        return min(2 * usual, self.of(model).most_tokens, window * 2 // 3 or 2 * usual)

    def learn_room(self, model: str, needed: int) -> None:
        """Store that a reply of the model needed that many tokens, thoughts included."""
        self._rooms[model] = max(needed, self._rooms.get(model, 0))

    def material(self, model: str, usual: int) -> int:
        """Return the tokens of fetched text in a prompt: less than ``usual`` if the model's context has no space for more."""
        return min(usual, self.materials.get(model, usual))

    def learn(self, model: str, dialect: Capabilities) -> None:
        """Store the capabilities of a model."""
        self._known[model] = dialect

    def prove(self, model: str, *, plain: bool = False) -> None:
        """Mark the capabilities of a model as proven; if ``plain``, those without a response format, unless others are proven."""
        if not self.of(model).proven:
            self._known[model] = replace(self.of(model, plain=plain), proven=True)


_NAMES = ("max_model_len", "loaded_context_length", "context_length", "context_window", "max_context_length", "n_ctx")
_ASK_S = 10.0
_MAX_BYTES = 10_000_000  # a router lists hundreds of models
_LARGEST = 20_000_000


async def window_of(http: HttpClient, name: str, base_url: str, key: Secret | None, model: str) -> int:
    """Return the context of ``model`` at a server in tokens; 0 if the server does not say it.

    vLLM, OpenRouter, Groq and Together name it in their list of models; llama.cpp, Ollama and LM Studio, which need no key, at
    addresses of their own.
    """
    base = base_url.rstrip("/")
    root = base.removesuffix("/v1")
    listed = await _asked(http, name, "GET", f"{base}/models", key)
    entry = _entry(listed, model)
    if found := _named(entry) or _named(entry.get("meta")):
        return found
    if key is not None:
        return 0
    if "meta" in entry:
        properties = await _asked(http, name, "GET", f"{root}/props", key)
        return _named(properties.get("default_generation_settings")) or _count(_inside(entry["meta"]).get("n_ctx_train"))
    shown = await _asked(http, name, "POST", f"{root}/api/show", key, {"model": model})
    if shown:  # the trained length says nothing: Ollama gives less, and cuts off
        lines = (line.split() for line in str(shown.get("parameters", "")).splitlines())
        set_in_file = (_count(int(line[1])) for line in lines if line[:1] == ["num_ctx"] and line[1:] and line[1].isdecimal())
        return next(set_in_file, 0) or _named(_entry(await _asked(http, name, "GET", f"{root}/api/ps", key), model))
    return _named(_entry(await _asked(http, name, "GET", f"{root}/api/v0/models", key), model))


async def _asked(
    http: HttpClient, name: str, method: str, url: str, key: Secret | None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a server says at an address, {} if nothing. It has a circuit of its own: no model is refused because of it."""
    headers = {"authorization": f"Bearer {key.reveal()}"} if key else {}
    call = Call(
        f"{name} (about its models)", method, url, headers, json=body, max_bytes=_MAX_BYTES, deadline_s=_ASK_S, total_s=_ASK_S
    )
    try:
        reply = await http.send(call, lambda reply: Again("it is busy") if reply.status in (429, 503) else Good())
        return reply.json_object() if reply.status == 200 else {}
    except (StepError, Malformed):
        return {}


def _entry(listed: Mapping[str, Any], model: str) -> Mapping[str, Any]:
    """Return a model's entry in a server's list; the only entry stands for every name."""
    given = listed.get("data") or listed.get("models")
    entries = [one for one in given if isinstance(one, dict)] if isinstance(given, list) else []
    names = (model, f"{model}:latest")
    same: Iterator[dict[str, Any]] = (one for one in entries if one.get("id", one.get("model")) in names)
    return next(same, entries[0] if len(entries) == 1 else {})


def _named(entry: Any) -> int:
    return next((found for name in _NAMES if (found := _count(_inside(entry).get(name)))), 0)


def _inside(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value <= _LARGEST else 0
