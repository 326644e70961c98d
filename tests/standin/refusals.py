"""What each service says when it refuses: ``status:429`` on Brave is Brave's own words. F1, F3, F10: of chat completions."""

from __future__ import annotations

from collections.abc import Callable

from tests.standin.wire import Reply, Request, json_reply, phrase_of, text_reply

_OPENROUTER_TYPES = {
    400: "invalid_request",
    401: "authentication",
    403: "permission_denied",
    404: "not_found",
    429: "rate_limit_exceeded",
    503: "provider_overloaded",
}


def refusal(route: str, status: int, request: Request) -> Reply:
    """Return the reply of ``status`` in the shape of that route's service."""
    return _SHAPES.get(route, page_refusal)(status, request)


def chat_refusal(status: int, request: Request) -> Reply:
    """OpenRouter's error, or OpenAI's on its own path."""
    if not request.path.startswith("/api/"):
        return _openai_refusal(status)
    if status == 402:
        return _no_credit()
    messages = {401: "No auth credentials found", 429: "Rate limit exceeded"}
    metadata = {"error_type": _OPENROUTER_TYPES.get(status, "server")}
    return json_reply(
        {"error": {"code": status, "message": messages.get(status, phrase_of(status)), "metadata": metadata}}, status
    )


def _no_credit() -> Reply:
    """The credit does not cover the worst case."""
    message = (
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford "
        "27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"
    )
    error = {"message": message, "code": 402, "metadata": {"provider_name": None}}
    return json_reply({"error": error, "user_id": "user_standin"}, 402)


def _openai_refusal(status: int) -> Reply:
    if status == 401:
        return _openai_error(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
    if status == 429:
        return _openai_error(429, "Rate limit reached for requests", "requests", "rate_limit_exceeded")
    return _openai_error(status, phrase_of(status), "server_error" if status >= 500 else "invalid_request_error", None)


def _openai_error(status: int, message: str, kind: str, code: str | None) -> Reply:
    """An error in OpenAI's shape: all four fields, ``code`` a string or null."""
    return json_reply({"error": {"message": message, "type": kind, "param": None, "code": code}}, status)


def out_of_quota() -> Reply:
    """F10: OpenAI's permanent 429."""
    message = "You exceeded your current quota, please check your plan and billing details."
    return _openai_error(429, message, "insufficient_quota", "insufficient_quota")


def error_only() -> Reply:
    """F1: status 200 and nothing but an error."""
    metadata = {"raw": "Too Many Requests", "provider_name": "Hyperbolic"}
    error = {"code": 429, "message": "Provider returned error", "metadata": metadata}
    return json_reply({"error": error, "user_id": "user_standin"})


def error_in_choice() -> Reply:
    """F3: status 200 with a partial answer and the error inside the choice; not billed."""
    error = {"code": 502, "message": "Provider disconnected mid-stream", "metadata": {"error_type": "provider_unavailable"}}
    message = {"role": "assistant", "content": "partial output..."}
    return json_reply({"choices": [{"message": message, "finish_reason": "error", "error": error}]})


def brave_refusal(status: int, request: Request) -> Reply:
    """Brave's ``ErrorResponse``."""
    known = {
        429: ("RATE_LIMITED", "Request rate limit exceeded for plan"),
        422: ("VALIDATION", "Unable to validate request parameter(s)"),
    }
    usual = known.get(status, (phrase_of(status).upper().replace(" ", "_"), phrase_of(status)))
    error = {"id": "standin", "status": status, "detail": usual[1], "meta": {}, "code": usual[0]}
    return json_reply({"type": "ErrorResponse", "error": error, "time": 1_773_685_964}, status)


def wikipedia_refusal(status: int, request: Request) -> Reply:
    """MediaWiki: plain text when it is about the client's manners."""
    if status == 403:
        text = "Please set a user-agent and respect our robot policy https://w.wiki/4wJS. See also T400119."
        return text_reply(text, 403)
    return text_reply(phrase_of(status), status)


def page_refusal(status: int, request: Request) -> Reply:
    """A web server's own page."""
    title = f"{status} {phrase_of(status)}"
    html = f"<!doctype html><html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>"
    return text_reply(html, status, "text/html")


_SHAPES: dict[str, Callable[[int, Request], Reply]] = {
    "chat": chat_refusal,
    "brave": brave_refusal,
    "wikipedia": wikipedia_refusal,
}
