"""What each service says with a given error status: ``status:429`` on Brave is Brave's own words, on arXiv arXiv's."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from tests.standin import bodies
from tests.standin.wire import Reply, Request, json_reply, text_reply

_OPENROUTER_TYPES = {
    400: "invalid_request",
    401: "authentication",
    402: "payment_required",
    403: "permission_denied",
    404: "not_found",
    412: "precondition_failed",
    413: "payload_too_large",
    422: "unprocessable",
    429: "rate_limit_exceeded",
    502: "provider_unavailable",
    503: "provider_overloaded",
    504: "timeout",
}


def refusal(route: str, status: int, request: Request) -> Reply:
    """Return the reply of ``status`` in the shape of that route's service."""
    return _SHAPES.get(route, page_refusal)(status, request)


def chat_refusal(status: int, request: Request) -> Reply:
    """OpenRouter's error, or OpenAI's on its own path."""
    if not request.path.startswith("/api/"):
        return _openai_refusal(status)
    if status == 402:
        return bodies.no_credit(request)
    messages = {401: "No auth credentials found", 429: "Rate limit exceeded"}
    metadata = {"error_type": _OPENROUTER_TYPES.get(status, "server")}
    return json_reply({"error": {"code": status, "message": messages.get(status, _phrase(status)), "metadata": metadata}}, status)


def _openai_refusal(status: int) -> Reply:
    if status == 401:
        return bodies.openai_error(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key")
    if status == 429:
        return bodies.openai_error(429, "Rate limit reached for requests", "requests", "rate_limit_exceeded")
    kind = "server_error" if status >= 500 else "invalid_request_error"
    return bodies.openai_error(status, _phrase(status), kind, None)


def brave_refusal(status: int, request: Request, code: str = "", detail: str = "", meta: dict[str, Any] | None = None) -> Reply:
    """Brave's ``ErrorResponse``."""
    known = {
        429: ("RATE_LIMITED", "Request rate limit exceeded for plan", {"plan": "Free", "rate_limit": 1, "rate_current": 1}),
        422: ("VALIDATION", "Unable to validate request parameter(s)", {"errors": []}),
    }
    usual = known.get(status, (_phrase(status).upper().replace(" ", "_"), _phrase(status), {}))
    error = {"id": "standin", "status": status, "detail": detail or usual[1], "meta": meta or usual[2], "code": code or usual[0]}
    return json_reply({"type": "ErrorResponse", "error": error, "time": 1_773_685_964}, status)


def tavily_refusal(status: int, request: Request) -> Reply:
    """Tavily's ``detail``; FastAPI's list for 422."""
    if status == 422:
        fault = {"type": "string_type", "loc": ["body", "query"], "msg": "Input should be a valid string"}
        return json_reply({"detail": [fault]}, 422)
    words = {
        401: "Unauthorized: missing or invalid API key.",
        429: "Your request has been blocked due to excessive requests.",
        432: "This request exceeds your plan's set usage limit. Please upgrade your plan or contact support@tavily.com",
        433: "This request exceeds the pay-as-you-go limit.",
    }
    return json_reply({"detail": {"error": words.get(status, _phrase(status))}}, status)


def searxng_refusal(status: int, request: Request) -> Reply:
    """SearXNG: HTML for 403, text for 429, JSON for the rest."""
    if status == 403:
        return page_refusal(status, request)
    if status == 429:
        return text_reply("Too Many Requests", 429)
    return json_reply({"error": "No query" if status == 400 else "search error"}, status)


def wikipedia_refusal(status: int, request: Request) -> Reply:
    """MediaWiki: plain text when it is about the client's manners."""
    if status == 403:
        text = "Please set a user-agent and respect our robot policy https://w.wiki/4wJS. See also T400119."
        return text_reply(text, 403)
    return text_reply(_phrase(status), status)


def arxiv_refusal(status: int, request: Request) -> Reply:
    """ArXiv's plain words."""
    return text_reply("Rate exceeded." if status == 429 else _phrase(status), status)


def openalex_refusal(status: int, request: Request) -> Reply:
    """OpenAlex; a 429 is about the day's money."""
    if status != 429:
        return json_reply({"error": _phrase(status), "message": _phrase(status)}, status)
    message = "Insufficient budget. This request costs $0.001 but you only have $0 remaining. Resets at midnight UTC."
    body = {"error": "Rate limit exceeded", "message": message, "retryAfter": 62606, "costUsd": 0.001, "dailyRemainingUsd": 0}
    return json_reply(body, 429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "62606"})


def semanticscholar_refusal(status: int, request: Request) -> Reply:
    """Semantic Scholar; the code of a 429 is a string."""
    if status == 429:
        message = (
            "Too Many Requests. Please wait and try again or apply for a key for higher rate limits. "
            "https://www.semanticscholar.org/product/api#api-key-form"
        )
        return json_reply({"message": message, "code": "429"}, 429)
    key = "error" if status in (400, 404) else "message"
    return json_reply({key: _phrase(status)}, status)


def page_refusal(status: int, request: Request) -> Reply:
    """A web server's own page."""
    title = f"{status} {_phrase(status)}"
    html = f"<!doctype html><html><head><title>{title}</title></head><body><center><h1>{title}</h1></center></body></html>"
    return text_reply(html, status, "text/html")


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return f"Status {status}"


_SHAPES: dict[str, Callable[[int, Request], Reply]] = {
    "chat": chat_refusal,
    "key": chat_refusal,
    "generation": chat_refusal,
    "models": chat_refusal,
    "brave": brave_refusal,
    "tavily": tavily_refusal,
    "searxng": searxng_refusal,
    "wikipedia": wikipedia_refusal,
    "arxiv": arxiv_refusal,
    "openalex": openalex_refusal,
    "semanticscholar": semanticscholar_refusal,
}
