"""Brave and Wikipedia, over the stand-in's little world."""

from __future__ import annotations

import hashlib
from html import escape
from typing import Any

from tests.standin import world
from tests.standin.options import State
from tests.standin.poison import POISONED, poisoned_document
from tests.standin.refusals import brave_refusal, wikipedia_refusal
from tests.standin.wire import Reply, Request, json_reply
from tests.standin.world import Document

_LIBRARY_AGENTS = ("python-httpx", "python-requests", "python-urllib", "aiohttp", "curl/")


def found(query: str, limit: int, state: State, offset: int = 0) -> tuple[Document, ...]:
    """Return the documents for a query; with ``poisoned``, every second one carries an injection."""
    honest = world.find(query, limit, offset)
    if not state.options.poisoned or not honest:
        return honest
    first = int(hashlib.sha256(query.encode()).hexdigest(), 16)
    bad = [poisoned_document((first + at) % POISONED + 1) for at in range((len(honest) + 1) // 2)]
    mixed = [one for pair in zip(bad, honest, strict=False) for one in pair]
    return tuple(mixed[:limit])


def brave(request: Request, state: State) -> Reply:
    """``GET /res/v1/web/search``: titles and descriptions with marks and entities; without a hit, no ``web`` at all."""
    key, query = request.header("X-Subscription-Token"), request.query.get("q", "")
    if not key or not query or len(query) > 400:
        return brave_refusal(422, request)
    count = int(request.query.get("count", "20"))
    documents = found(query, count, state, int(request.query.get("offset", "0")) * count)
    results = [
        {
            **{"title": _marked(one.title, query), "url": state.address(one), "description": _marked(one.snippet, query)},
            **{"page_age": f"{one.published}T00:00:00", "language": "en", "type": "search_result"},
            "extra_snippets": [escape(text) for text in one.sentences[2:4]],
        }
        for one in documents
    ]
    page: dict[str, Any] = {"type": "search", "query": {"original": query, "more_results_available": bool(documents)}}
    rates = {"X-RateLimit-Limit": "50, 15000", "X-RateLimit-Remaining": "50, 15000", "X-RateLimit-Reset": "1, 1419704"}
    return json_reply({**page, "web": {"type": "search", "results": results}} if results else page, headers=rates)


def _marked(text: str, query: str, mark: str = "<strong>{}</strong>") -> str:
    wanted = world.terms(query)
    return " ".join(mark.format(word) if world.terms(word) & wanted else word for word in escape(text).split(" "))


def wikipedia(request: Request, state: State) -> Reply:
    """``GET /w/api.php?list=search``; a client that does not say who it is is refused."""
    agent = request.header("User-Agent").lower()
    if not agent or agent.startswith(_LIBRARY_AGENTS):
        return wikipedia_refusal(403, request)
    query, limit = request.query.get("srsearch", ""), int(request.query.get("srlimit", "10"))
    mark = '<span class="searchmatch">{}</span>'
    rows = [
        {
            **{"ns": 0, "title": title_of(one), "pageid": at, "wordcount": len(one.sentences)},
            **{"snippet": _marked(one.snippet, query, mark), "timestamp": f"{one.published}T00:00:00Z"},
        }
        for at, one in enumerate(found(query, limit, state), 100)
    ]
    return json_reply({"batchcomplete": True, "query": {"searchinfo": {"totalhits": len(rows)}, "search": rows}})


def title_of(document: Document) -> str:
    """Return a document's title as an article; it holds the way back to the document."""
    return f"{document.title[:1].upper()}{document.title[1:]} ({document.path.strip('/').replace('/', ', ')})"


def article(title: str) -> Document | None:
    """Return the document of an article's title, as ``title_of`` made it; None for any other."""
    place = title.replace("_", " ").rpartition(" (")[2].removesuffix(")").split(", ")
    if len(place) == 2 and place[0] == "pages" and place[1].isdigit():
        return world.document(int(place[1]))
    if len(place) == 3 and place[0] == "about" and place[2].isdigit():
        return world.about(place[1], int(place[2]))
    return None
