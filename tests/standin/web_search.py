"""Brave, Tavily and SearXNG."""

from __future__ import annotations

from html import escape
from typing import Any
from urllib.parse import urlsplit

from tests.standin import world
from tests.standin.found import address, found
from tests.standin.options import State
from tests.standin.refusals import brave_refusal, searxng_refusal, tavily_refusal
from tests.standin.wire import Reply, Request, json_reply, text_reply
from tests.standin.world import Document

_BAD_LANGUAGES = frozenset({"zh", "ka"})


# ---- Brave -----------------------------------------------------------------------------------------------------


def brave(request: Request, state: State) -> Reply:
    """``GET /res/v1/web/search``."""
    refused = _brave_refused(request, state)
    if refused is not None:
        return refused
    state.count_answer("brave")
    query, count = request.query["q"], int(request.query.get("count", "20"))
    offset = int(request.query.get("offset", "0")) * count
    documents = found(query, count, state, offset)
    return json_reply(_brave_page(query, documents, state), headers=_brave_rates(state))


def _brave_refused(request: Request, state: State) -> Reply | None:
    key = request.header("X-Subscription-Token")
    if not key:
        return _brave_invalid(request, ["header", "x-subscription-token"], "Field required", "missing")
    if not state.key_fits("brave", key):
        detail = "The provided subscription token is invalid."
        meta = {"component": "authentication"}
        return brave_refusal(422, request, "SUBSCRIPTION_TOKEN_INVALID", detail, meta)
    if state.over_quota("brave"):
        return brave_refusal(429, request, "QUOTA_LIMITED", "Request quota limit exceeded for plan.").with_headers(
            **_brave_names(state)
        )
    if state.over_rate("brave"):
        return brave_refusal(429, request).with_headers(**_brave_names(state))
    return _brave_parameters(request)


def _brave_parameters(request: Request) -> Reply | None:
    query = request.query.get("q", "")
    if not query:
        return _brave_invalid(request, ["query", "q"], "Field required", "missing")
    if len(query) > 400 or len(query.split()) > 50:
        return _brave_invalid(request, ["query", "q"], "String should have at most 400 characters", "string_too_long")
    if not 1 <= _number(request.query.get("count", "20")) <= 20:
        return _brave_invalid(request, ["query", "count"], "Input should be less than or equal to 20", "less_than_equal")
    if not 0 <= _number(request.query.get("offset", "0")) <= 9:
        return _brave_invalid(request, ["query", "offset"], "Input should be less than or equal to 9", "less_than_equal")
    if request.query.get("search_lang", "en") in _BAD_LANGUAGES:
        return _brave_invalid(request, ["query", "search_lang"], "Input should be 'ar', 'eu' … or 'vi'", "enum")
    return None


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1


def _brave_invalid(request: Request, place: list[str], message: str, kind: str) -> Reply:
    return brave_refusal(422, request, meta={"errors": [{"loc": place, "msg": message, "type": kind}]})


def _brave_names(state: State) -> dict[str, str]:
    return {name.replace("-", "_"): value for name, value in _brave_rates(state).items()}


def _brave_rates(state: State) -> dict[str, str]:
    quota, rate = state.options.quotas.get("brave", 15_000), int(state.options.rates.get("brave", 50))
    left = max(0, quota - state.answered.get("brave", 0))
    now = max(0, rate - len(state.recent.get("brave", ())))
    return {
        "X-RateLimit-Limit": f"{rate}, {quota}",
        "X-RateLimit-Policy": f"{rate};w=1, {quota};w=2592000",
        "X-RateLimit-Remaining": f"{now}, {left}",
        "X-RateLimit-Reset": "1, 1419704",
    }


def _brave_page(query: str, documents: tuple[Document, ...], state: State) -> dict[str, Any]:
    flags = dict.fromkeys(("show_strict_warning", "is_navigational", "is_news_breaking", "spellcheck_off"), False)
    blanks = dict.fromkeys(("postal_code", "city", "header_country", "state"), "")
    about = {"original": query, **flags, "country": "us", "bad_results": False, "should_fallback": False, **blanks}
    order = [{"type": "web", "index": at, "all": False} for at in range(len(documents))]
    page: dict[str, Any] = {"type": "search", "query": {**about, "more_results_available": bool(documents)}}
    if not documents:
        return page
    results = [_brave_result(document, query, state) for document in documents]
    mixed = {"type": "mixed", "main": order, "top": [], "side": []}
    return {**page, "mixed": mixed, "web": {"type": "search", "family_friendly": True, "results": results}}


def _brave_result(document: Document, query: str, state: State) -> dict[str, Any]:
    url = address(document, state)
    parts = urlsplit(url)
    host = parts.hostname or ""
    flags = {"is_source_local": False, "is_source_both": False, "is_live": False, "family_friendly": True}
    return {
        **{"title": _marked(document.title, query), "url": url, "description": _marked(document.snippet, query), **flags},
        **{"page_age": f"{document.published}T00:00:00", "age": document.published, "language": "en"},
        **{"type": "search_result", "subtype": "generic", "extra_snippets": [escape(text) for text in document.sentences[2:4]]},
        "profile": {"name": host, "url": url, "long_name": host, "img": f"{state.base()}/favicon.png"},
        "meta_url": {"scheme": "http", "netloc": parts.netloc, "hostname": host, "favicon": "", "path": f"› {parts.path[1:]}"},
    }


def _marked(text: str, query: str) -> str:
    wanted = world.terms(query)
    words = escape(text).split(" ")
    return " ".join(f"<strong>{word}</strong>" if world.terms(word) & wanted else word for word in words)


# ---- Tavily ----------------------------------------------------------------------------------------------------


def tavily(request: Request, state: State) -> Reply:
    """``POST /search``."""
    if not state.key_fits("tavily", request.header("Authorization").removeprefix("Bearer ").strip()):
        return tavily_refusal(401, request)
    if state.over_quota("tavily"):
        return tavily_refusal(432, request)
    if state.over_rate("tavily"):
        return tavily_refusal(429, request)
    body = request.json_object() or {}
    query, limit = body.get("query"), body.get("max_results", 5)
    if not isinstance(query, str) or not isinstance(limit, int):
        return tavily_refusal(422, request)
    state.count_answer("tavily")
    return json_reply(_tavily_page(query, found(query, min(limit, 20), state), body, state))


def _tavily_page(query: str, documents: tuple[Document, ...], body: dict[str, Any], state: State) -> dict[str, Any]:
    chosen = {"topic": body.get("topic", "general"), "search_depth": body.get("search_depth", "basic")}
    page = {
        **{"query": query, "follow_up_questions": None, "answer": None, "images": []},
        "results": [_tavily_result(at, document, body, state) for at, document in enumerate(documents)],
        **{"response_time": "1.67", "auto_parameters": chosen, "request_id": "123e4567-e89b-12d3-a456-426614174000"},
    }
    return {**page, "usage": {"credits": 2 if chosen["search_depth"] == "advanced" else 1}} if body.get("include_usage") else page


def _tavily_result(at: int, document: Document, body: dict[str, Any], state: State) -> dict[str, Any]:
    raw = "\n".join(document.sentences) if body.get("include_raw_content") else None
    score = round(0.95 - at * 0.07, 8)
    url = address(document, state) + "?utm_source=tavily"
    return {"title": document.title, "url": url, "content": document.snippet, "score": score, "raw_content": raw}


# ---- SearXNG ---------------------------------------------------------------------------------------------------


def searxng(request: Request, state: State) -> Reply:
    """``GET /search``."""
    query, wanted = request.query.get("q", ""), request.query.get("format", "html")
    if wanted == "json" and "json" not in state.options.listed_formats:
        return searxng_refusal(403, request)
    if state.over_rate("searxng"):
        return searxng_refusal(429, request)
    if not query:
        return searxng_refusal(400, request)
    if query.startswith("!!"):
        return Reply(302, b"", {"Location": f"https://example.org/?q={query[2:]}"})
    if wanted != "json":
        return text_reply("<!doctype html><html><body><div id='results'></div></body></html>", media_type="text/html")
    return json_reply(_searxng_page(query, request, state))


def _searxng_page(query: str, request: Request, state: State) -> dict[str, Any]:
    offset = (max(1, _number(request.query.get("pageno", "1"))) - 1) * 10
    documents = found(query, 10, state, offset)
    results = [_searxng_result(at, document, state) for at, document in enumerate(documents)]
    page: dict[str, Any] = {"query": query, "results": results, "answers": [], "corrections": [], "infoboxes": []}
    return {**page, "suggestions": [f"{query} explained"], "unresponsive_engines": []}


def _searxng_result(at: int, document: Document, state: State) -> dict[str, Any]:
    url = address(document, state) + "#measurements"
    parts = urlsplit(url)
    return {
        **{"url": url, "title": document.title, "content": document.snippet, "engine": "duckduckgo"},
        **{"engines": ["duckduckgo", "brave"], "template": "default.html", "positions": [at + 1, at + 2]},
        "parsed_url": [parts.scheme, parts.netloc, parts.path, "", "", parts.fragment],
        **{"img_src": "", "thumbnail": "", "priority": "", "score": round(4.0 / (at + 1), 3), "category": "general"},
        "publishedDate": None,
    }
