"""The context of a model in tokens, as far as its server says it; asking never fails, and nothing depends on an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.errors import Malformed, StepError
from pipeline.text.redaction import Secret

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
    if shown:
        return _set_in_file(shown) or _named(_entry(await _asked(http, name, "GET", f"{root}/api/ps", key), model))
    return _named(_entry(await _asked(http, name, "GET", f"{root}/api/v0/models", key), model))


def _set_in_file(shown: Mapping[str, Any]) -> int:
    """Return ``num_ctx``, which an Ollama model's file can set. The trained length says nothing: Ollama gives less, and cuts off.

    What it gives else is listed once the model is loaded.
    """
    lines = (line.split() for line in str(shown.get("parameters", "")).splitlines())
    return next((_count(int(line[1])) for line in lines if line[:1] == ["num_ctx"] and line[1:] and line[1].isdecimal()), 0)


async def _asked(
    http: HttpClient, name: str, method: str, url: str, key: Secret | None, body: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return what a server says at an address, {} if nothing. It has a circuit of its own: no model is refused because of it."""
    headers = {"authorization": f"Bearer {key.reveal()}"} if key else {}
    call = Call(
        f"{name} (about its models)", method, url, headers, json=body, max_bytes=_MAX_BYTES, deadline_s=_ASK_S, total_s=_ASK_S
    )
    try:
        reply = await http.send(call, _heard)
        return reply.envelope() if reply.status == 200 else {}
    except (StepError, Malformed):
        return {}


def _heard(reply: Reply) -> Verdict:
    return Again("it is busy") if reply.status in (429, 503) else Good()


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
