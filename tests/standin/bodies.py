"""Replies of a chat completions service that went wrong, each under the name F1 … F11."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.standin.charges import Charge
from tests.standin.wire import Reply, Request, json_reply

_UPSTREAM: dict[str, Any] = {
    "code": 429,
    "message": "Provider returned error",
    "metadata": {"raw": "Too Many Requests", "provider_name": "Hyperbolic"},
}
_NULLS = ("id", "choices", "created", "model", "object", "service_tier", "system_fingerprint", "usage")


def error_only(request: Request) -> Reply:
    """F1: status 200 and nothing but an error."""
    return json_reply({"error": _UPSTREAM, "user_id": "user_standin"})


def all_null(request: Request) -> Reply:
    """F2: status 200, every field null, and an error."""
    return json_reply({**dict.fromkeys(_NULLS), "error": _UPSTREAM, "user_id": "user_standin"})


def error_in_choice(request: Request) -> Reply:
    """F3: status 200 with a partial answer and the error inside the choice; not billed."""
    error = {"code": 502, "message": "Provider disconnected mid-stream", "metadata": {"error_type": "provider_unavailable"}}
    message = {"role": "assistant", "content": "partial output..."}
    return json_reply({"choices": [{"message": message, "finish_reason": "error", "error": error}]})


def spent_on_thinking(request: Request) -> Reply:
    """F4: ended for length with an empty answer, and billed for 8,000 tokens of reasoning."""
    model = model_of(request)
    charge = Charge(49_000, 8_000, 310_000_000, model, "gen-1763750000-length")
    choice = {
        "index": 0,
        "finish_reason": "length",
        "native_finish_reason": "max_output_tokens",
        "message": {"role": "assistant", "content": ""},
    }
    usage = {"completion_tokens": 8_000, "completion_tokens_details": {"reasoning_tokens": 8_000}}
    usage |= {"prompt_tokens": 49_000, "total_tokens": 57_000, "cost": charge.usd}
    head = {"id": charge.generation, "provider": "OpenAI", "model": model, "object": "chat.completion"}
    reply = json_reply({**head, "created": 1_763_750_000, "choices": [choice], "usage": usage})
    return Reply(reply.status, reply.body, {**reply.headers, "X-Generation-Id": charge.generation}, charge)


def no_credit(request: Request) -> Reply:
    """F5: 402, the credit does not cover the worst case."""
    message = (
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford "
        "27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"
    )
    error = {"message": message, "code": 402, "metadata": {"provider_name": None}}
    return json_reply({"error": error, "user_id": "user_standin"}, 402)


def rate_limited(request: Request) -> Reply:
    """F6: 429 of the router itself, with Retry-After."""
    metadata = {"error_type": "rate_limit_exceeded", "provider_code": "rate_limited"}
    headers = {"Retry-After": "60", "X-RateLimit-Limit": "20", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1763750060000"}
    return json_reply({"error": {"code": 429, "message": "Rate limit exceeded", "metadata": metadata}}, 429, headers)


def at_capacity(request: Request) -> Reply:
    """F7: 429 with ``availability`` and no ``error.code``."""
    model = model_of(request)
    availability = {
        "code": "capacity_exhausted",
        "retryable": True,
        "retry_after": 40,
        "requested_models": [model],
        "affected_providers": ["anthropic", "amazon-bedrock"],
        "fallback_models": ["anthropic/claude-haiku-4.5"],
        "docs_url": "https://openrouter.ai/docs/errors#capacity_exhausted",
    }
    error = {
        "message": f"All providers for {model} are at capacity. Retry after 40 seconds.",
        "error_type": "rate_limit_exceeded",
        "http_status": 429,
        "availability": availability,
        "metadata": {"previous_errors": [{"provider": "anthropic", "code": "capacity_exhausted", "status": 429}]},
    }
    return json_reply({"error": error}, 429)


def unknown_model(request: Request) -> Reply:
    """F8: 400, no such model."""
    model = model_of(request)
    availability = {
        "code": "model_not_found",
        "retryable": False,
        "requested_models": [model],
        "docs_url": "https://openrouter.ai/docs/errors#model_not_found",
    }
    error = {"message": f"{model} is not a valid model ID", "error_type": "invalid_request", "http_status": 400}
    return json_reply({"error": {**error, "availability": availability}}, 400)


def blocked(request: Request) -> Reply:
    """F9: 403, a guardrail found an injection."""
    metadata = {"patterns": ["ignore all previous instructions"]}
    message = "Request blocked: prompt injection patterns detected"
    return json_reply({"error": {"code": 403, "message": message, "metadata": metadata}}, 403)


def out_of_quota(request: Request) -> Reply:
    """F10: OpenAI's permanent 429."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return openai_error(429, message, "insufficient_quota", "insufficient_quota")


def overloaded(request: Request) -> Reply:
    """F11: Anthropic's 529."""
    error = {"type": "overloaded_error", "message": "Overloaded"}
    return json_reply({"type": "error", "error": error, "request_id": "req_standin"}, 529)


def openai_error(status: int, message: str, kind: str, code: str | None) -> Reply:
    """An error in OpenAI's shape: all four fields, ``code`` a string or null."""
    return json_reply({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def model_of(request: Request) -> str:
    """Return the model that a chat request names, or one that would be likely."""
    body = request.json_object() or {}
    return str(body.get("model") or "openai/gpt-5.2")


BODIES: dict[str, Callable[[Request], Reply]] = {
    "F1": error_only,
    "F2": all_null,
    "F3": error_in_choice,
    "F4": spent_on_thinking,
    "F5": no_credit,
    "F6": rate_limited,
    "F7": at_capacity,
    "F8": unknown_model,
    "F9": blocked,
    "F10": out_of_quota,
    "F11": overloaded,
}
