"""The arXiv feed, OpenAlex and Semantic Scholar."""

from __future__ import annotations

import hashlib
import re
from typing import Any
from xml.sax.saxutils import escape

from tests.standin.found import address, found
from tests.standin.options import State
from tests.standin.refusals import arxiv_refusal, openalex_refusal, semanticscholar_refusal
from tests.standin.wire import Reply, Request, json_reply, text_reply
from tests.standin.world import Document, about, document

_FIELDS = frozenset(
    ("paperId", "title", "abstract", "year", "url", "authors", "venue", "citationCount", "openAccessPdf", "externalIds")
) | {"publicationDate", "isOpenAccess", "tldr"}
_ARXIV_ID = re.compile(r"(?:\d{4}\.\d{4,5}|[a-z-]+/\d{7})(?:v\d+)?\Z")


# ---- arXiv -----------------------------------------------------------------------------------------------------


def arxiv(request: Request, state: State) -> Reply:
    """``GET /api/query``: an Atom feed, also for errors."""
    if state.over_rate("arxiv"):
        return arxiv_refusal(429, request)
    query, ids = request.query.get("search_query", ""), request.query.get("id_list", "")
    wrong = next((one for one in ids.split(",") if one and not _ARXIV_ID.match(one)), "")
    start, count = _number(request, "start", 0), _number(request, "max_results", 10)
    if wrong:
        return _feed(query, (_arxiv_error(wrong),), 0, state, status=400)
    plain = re.sub(r"\b[a-z]{2,3}:|[\"()]|\b(?:AND|OR|ANDNOT)\b", " ", query)
    entries = tuple(_entry(one, state) for one in found(plain, count, state, start))
    return _feed(query, entries, start, state)


def _feed(query: str, entries: tuple[str, ...], start: int, state: State, status: int = 200) -> Reply:
    numbers = (("itemsPerPage", len(entries)), ("totalResults", len(entries)), ("startIndex", start))
    counts = "".join(f"<opensearch:{name}>{value}</opensearch:{name}>" for name, value in numbers)
    text = (
        "<?xml version='1.0' encoding='UTF-8'?>\n"
        '<feed xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/" xmlns:arxiv="http://arxiv.org/schemas/atom" '
        'xmlns="http://www.w3.org/2005/Atom">\n'
        f" <id>https://arxiv.org/api/standin</id>\n <title>arXiv Query: search_query={escape(query)}&amp;id_list=</title>\n"
        f' <updated>2025-11-11T18:34:08Z</updated>\n <link href="{state.base()}/api/query" type="application/atom+xml"/>\n'
        f" {counts}\n" + "\n".join(entries) + "\n</feed>\n"
    )
    return text_reply(text, status, "application/atom+xml")


def _entry(paper: Document, state: State) -> str:
    number, base = paper_number(paper), state.base(paper.host)
    title = escape(paper.title).replace(" ", "\n ", 1)
    return (
        f"<entry><id>{base}/abs/{number}</id><title>{title}</title><updated>{paper.published}T17:46:39Z</updated>"
        f"<published>{paper.published}T17:46:39Z</published>"
        f'<link href="{base}/abs/{number}" rel="alternate" type="text/html"/>'
        f'<link href="{base}/pdf/{number}" rel="related" type="application/pdf" title="pdf"/>'
        f'<summary>{escape(paper.snippet)}</summary><category term="cs.IR" scheme="http://arxiv.org/schemas/atom"/>'
        f'<arxiv:primary_category term="cs.IR"/><author><name>{escape(paper.author)}</name></author></entry>'
    )


def _arxiv_error(wrong: str) -> str:
    name = escape(wrong)
    return (
        f"<entry><id>http://arxiv.org/api/errors#incorrect_id_format_for_{name}</id><title>Error</title>"
        f"<summary>incorrect id format for {name}</summary><author><name>arXiv api core</name></author></entry>"
    )


def paper_number(paper: Document) -> str:
    """Return a document's number as a paper; old numbers hold a slash, and so do these."""
    return "standin/" + paper.path.strip("/").replace("/", ".") + "v1"


def paper_of(number: str) -> Document | None:
    """Return the document behind a paper's number; None for any other text."""
    parts = number.removeprefix("standin/").removesuffix("v1").split(".")
    if len(parts) == 2 and parts[0] == "pages" and parts[1].isdigit():
        return document(int(parts[1]))
    if len(parts) == 3 and parts[0] == "about" and parts[2].isdigit():
        return about(parts[1], int(parts[2]))
    return None


# ---- OpenAlex --------------------------------------------------------------------------------------------------


def openalex(request: Request, state: State) -> Reply:
    """``GET /works``."""
    if not state.key_fits("openalex", request.query.get("api_key", "anonymous")):
        return json_reply({"error": "Invalid API key", "message": "The api_key is not valid."}, 401)
    if state.over_quota("openalex") or state.over_rate("openalex"):
        return openalex_refusal(429, request)
    state.count_answer("openalex")
    count = min(_number(request, "per_page", 25), 200)
    page = _number(request, "page", 1)
    works = found(request.query.get("search", ""), count, state, (page - 1) * count)
    meta = {"count": len(works), "db_response_time_ms": 81, "page": page, "per_page": count, "groups_count": None}
    rows = [_selected(_work(at, work, state), request) for at, work in enumerate(works)]
    return json_reply({"meta": meta, "results": rows, "group_by": []}, headers=_openalex_rates(state))


def _openalex_rates(state: State) -> dict[str, str]:
    limit = state.options.quotas.get("openalex", 100)
    left = limit - state.answered.get("openalex", 0)
    return {
        **{"X-RateLimit-Limit": str(limit), "X-RateLimit-Remaining": str(left), "X-RateLimit-Reset": "62606"},
        **{"X-RateLimit-Remaining-USD": f"{left / 1000:.3f}", "X-RateLimit-Cost-USD": "0.001"},
    }


def _selected(work: dict[str, Any], request: Request) -> dict[str, Any]:
    names = request.query.get("select", "")
    return {name: work[name] for name in names.split(",") if name in work} if names else work


def _work(at: int, paper: Document, state: State) -> dict[str, Any]:
    url = address(paper, state)
    doi = None if at % 3 == 2 else f"https://doi.org/10.5555/standin{paper.path.replace('/', '.')}"
    source = None if at % 4 == 3 else {"display_name": "Stand-in Proceedings", "issn_l": "0000-0000"}
    place = {"landing_page_url": url, "pdf_url": None, "source": source}
    return {
        **{"id": f"https://openalex.org/W{2741809807 + at}", "doi": doi, "title": paper.title, "display_name": paper.title},
        **{
            "relevance_score": round(12.3 - at, 2),
            "publication_year": int(paper.published[:4]),
            "publication_date": paper.published,
        },
        **{"language": "en", "type": "article", "is_retracted": False, "cited_by_count": 11 * at},
        "open_access": {"is_oa": True, "oa_status": "gold", "oa_url": url},
        "authorships": [{"author_position": "first", "author": {"id": None, "display_name": paper.author, "orcid": None}}],
        "primary_location": place,
        "abstract_inverted_index": None if at % 5 == 4 else _inverted(paper.snippet),
        "ids": {"openalex": f"https://openalex.org/W{2741809807 + at}", "doi": doi},
    }


def _inverted(text: str) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for at, word in enumerate(text.split()):
        places.setdefault(word, []).append(at)
    return places


# ---- Semantic Scholar ------------------------------------------------------------------------------------------


def semanticscholar(request: Request, state: State) -> Reply:
    """``GET /graph/v1/paper/search``; an empty result has no ``data``, the last page no ``next``."""
    if not state.key_fits("semanticscholar", request.header("x-api-key", "anonymous")):
        return json_reply({"message": "Forbidden"}, 403)
    if state.over_rate("semanticscholar") or state.over_quota("semanticscholar"):
        return semanticscholar_refusal(429, request)
    fields = [name for name in request.query.get("fields", "title").split(",") if name]
    unknown = [name for name in fields if name not in _FIELDS]
    if unknown:
        return json_reply({"error": f"Unrecognized or unsupported fields: [{', '.join(unknown)}]"}, 400)
    state.count_answer("semanticscholar")
    return json_reply(_papers_page(request, fields, state))


def _papers_page(request: Request, fields: list[str], state: State) -> dict[str, Any]:
    offset, limit = _number(request, "offset", 0), _number(request, "limit", 100)
    everything = found(request.query.get("query", ""), 1000, state)
    papers = everything[offset : offset + limit]
    page: dict[str, Any] = {"total": len(everything), "offset": offset}
    if offset + limit < len(everything):
        page["next"] = offset + limit
    if not papers:
        return page
    return {**page, "data": [_paper(at, paper, fields, state) for at, paper in enumerate(papers)]}


def _paper(at: int, paper: Document, fields: list[str], state: State) -> dict[str, Any]:
    url = address(paper, state)
    known: dict[str, Any] = {
        **{"title": paper.title, "abstract": None if at % 5 == 4 else paper.snippet, "year": int(paper.published[:4])},
        **{"url": url, "authors": [{"authorId": None, "name": paper.author}], "venue": "", "citationCount": 7 * at},
        **{"openAccessPdf": {"url": url, "status": "GREEN"}, "externalIds": {}, "publicationDate": paper.published},
        **{"isOpenAccess": True, "tldr": None},
    }
    wanted = {name: known[name] for name in fields if name in known}
    return {"paperId": hashlib.sha256(paper.path.encode()).hexdigest()[:40], **wanted}


def _number(request: Request, name: str, usual: int) -> int:
    text = request.query.get(name, "")
    return int(text) if text.isdigit() else usual
