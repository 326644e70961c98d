"""MediaWiki: search, extracts, the REST search, and an article's page."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from tests.standin import world
from tests.standin.found import found
from tests.standin.options import State
from tests.standin.refusals import wikipedia_refusal
from tests.standin.wire import Reply, Request, json_reply
from tests.standin.world import Document

_LIBRARY_AGENTS = ("python-httpx", "python-requests", "python-urllib", "aiohttp", "curl/")
_LARGEST = 500


def api(request: Request, state: State) -> Reply:
    """``GET /w/api.php``; errors come with status 200."""
    if _ill_mannered(request):
        return wikipedia_refusal(403, request)
    if state.over_rate("wikipedia"):
        return wikipedia_refusal(429, request).with_headers(retry_after="5")
    query = request.query
    if query.get("action") != "query":
        return json_reply({"error": {"code": "badvalue", "info": 'Unrecognized value for parameter "action".', "*": ""}})
    return json_reply(_extracts(request, state) if "prop" in query else _search(request, state))


def _ill_mannered(request: Request) -> bool:
    agent = request.header("User-Agent").lower()
    return not agent or agent.startswith(_LIBRARY_AGENTS)


def _search(request: Request, state: State) -> dict[str, Any]:
    limit, offset = _number(request, "srlimit", 10), _number(request, "sroffset", 0)
    documents = found(request.query.get("srsearch", ""), min(limit, _LARGEST), state, offset)
    rows = [_search_row(offset + at, document, request) for at, document in enumerate(documents)]
    answer: dict[str, Any] = {"query": {"searchinfo": {"totalhits": len(rows)}, "search": rows}}
    if limit > _LARGEST:
        text = f'The value "{limit}" for parameter "srlimit" must be between 1 and {_LARGEST}.'
        answer["warnings"] = {"search": {"warnings": text}}
    more = {"continue": {"sroffset": offset + limit, "continue": "-||"}} if len(rows) == limit else {}
    return {"batchcomplete": _flag(request), **more, **answer}


def _search_row(at: int, document: Document, request: Request) -> dict[str, Any]:
    wanted = world.terms(request.query.get("srsearch", ""))
    words = document.snippet.split(" ")
    marked = [f'<span class="searchmatch">{word}</span>' if world.terms(word) & wanted else word for word in words]
    text = " ".join(document.sentences)
    return {
        **{"ns": 0, "title": title_of(document), "pageid": 100 + at, "size": len(text), "wordcount": len(text.split())},
        **{"snippet": " ".join(marked), "timestamp": f"{document.published}T00:00:00Z"},
    }


def _extracts(request: Request, state: State) -> dict[str, Any]:
    pages = [_extract(title, at, state) for at, title in enumerate(request.query.get("titles", "").split("|"), 1)]
    if request.query.get("formatversion") == "2":
        return {"batchcomplete": True, "query": {"pages": pages}}
    keyed = {str(page.get("pageid", -at)): page for at, page in enumerate(pages, 1)}
    return {"batchcomplete": "", "query": {"pages": keyed}}


def _extract(title: str, number: int, state: State) -> dict[str, Any]:
    document = article(title)
    if document is None:
        return {"ns": 0, "title": title, "missing": True}
    url = f"{state.base()}/wiki/{quote(title.replace(' ', '_'))}"
    text = "\n".join(document.sentences)
    return {"pageid": number, "ns": 0, "title": title, "extract": text, "fullurl": url, "canonicalurl": url}


def rest_search(request: Request, state: State) -> Reply:
    """``GET /w/rest.php/v1/search/page``; thumbnails without a scheme."""
    if _ill_mannered(request):
        return wikipedia_refusal(403, request)
    documents = found(request.query.get("q", ""), _number(request, "limit", 50), state)
    return json_reply({"pages": [_rest_row(at, document) for at, document in enumerate(documents)]})


def _rest_row(at: int, document: Document) -> dict[str, Any]:
    title = title_of(document)
    picture = {"mimetype": "image/jpeg", "width": 60, "height": 38, "duration": None, "url": "//upload.wikimedia.org/x.jpg"}
    return {
        **{"id": 100 + at, "key": title.replace(" ", "_"), "title": title, "excerpt": document.snippet, "matched_title": None},
        **{"anchor": None, "description": document.subject, "thumbnail": picture if at == 0 else None},
    }


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


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdigit() else usual


def _flag(request: Request) -> bool | str:
    return True if request.query.get("formatversion") == "2" else ""
