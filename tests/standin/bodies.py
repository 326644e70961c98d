"""Replies of a chat completions service that went wrong, some under a name: F1, F3, F10."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.standin.wire import Reply, Request, json_reply

_UPSTREAM: dict[str, Any] = {
    "code": 429,
    "message": "Provider returned error",
    "metadata": {"raw": "Too Many Requests", "provider_name": "Hyperbolic"},
}


def error_only(request: Request) -> Reply:
    """F1: status 200 and nothing but an error."""
    return json_reply({"error": _UPSTREAM, "user_id": "user_standin"})


def error_in_choice(request: Request) -> Reply:
    """F3: status 200 with a partial answer and the error inside the choice; not billed."""
    error = {"code": 502, "message": "Provider disconnected mid-stream", "metadata": {"error_type": "provider_unavailable"}}
    message = {"role": "assistant", "content": "partial output..."}
    return json_reply({"choices": [{"message": message, "finish_reason": "error", "error": error}]})


def no_credit(request: Request) -> Reply:
    """F5: 402, the credit does not cover the worst case."""
    message = (
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford "
        "27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"
    )
    error = {"message": message, "code": 402, "metadata": {"provider_name": None}}
    return json_reply({"error": error, "user_id": "user_standin"}, 402)


def out_of_quota(request: Request) -> Reply:
    """F10: OpenAI's permanent 429."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return openai_error(429, message, "insufficient_quota", "insufficient_quota")


def openai_error(status: int, message: str, kind: str, code: str | None) -> Reply:
    """An error in OpenAI's shape: all four fields, ``code`` a string or null."""
    return json_reply({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def model_of(request: Request) -> str:
    """Return the model that a chat request names, or one that would be likely."""
    body = request.json_object() or {}
    return str(body.get("model") or "openai/gpt-5.2")


BODIES: dict[str, Callable[[Request], Reply]] = {
    "F1": error_only,
    "F3": error_in_choice,
    "F10": out_of_quota,
}
