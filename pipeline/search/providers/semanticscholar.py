"""Semantic Scholar, a search of papers. An empty result has no ``data``; requests without a key share a small rate limit."""

from __future__ import annotations

from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import checked_count, error_in, hit, hits_from, list_at, message, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

GAP_S = 1.0
_FIELDS = "title,url,abstract,year,publicationDate,openAccessPdf,externalIds"
_HINT = "check SEMANTIC_SCHOLAR_API_KEY"


class SemanticScholar(Provider):
    """Often refuses requests without a key; with a key, one request a second is allowed."""

    name = "semanticscholar"
    price = 0.0

    def __init__(self, key: Secret | None = None, base_url: str = "https://api.semanticscholar.org") -> None:
        self._key = key
        self._url = f"{base_url}/graph/v1/paper/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 100 hits."""
        headers = {"x-api-key": self._key.reveal()} if self._key is not None else {}
        # A query with a hyphen has no results there.
        params: dict[str, str | int] = {"query": one_line(query, 300).replace("-", " "), "fields": _FIELDS, "offset": 0}
        return Call(self.name, "GET", self._url, headers, {**params, "limit": max(1, min(limit, 100))})

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 200:
            return Good()
        error = error_in(reply)
        why = message(error.get("message") or error.get("error"), f"it answered with status {reply.status}")
        if reply.status in (401, 402, 403):
            return Refused(why, _HINT)
        if reply.status == 429:
            return Again(why, GAP_S)
        return Failed(why) if reply.status in (400, 404) else judged_by_status(reply)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        body = reply.json_object()
        if body.get("total") == 0 and "data" not in body:
            return ()
        return checked_count(body.get("total"), hits_from(list_at(body, "data"), _hit))


def _hit(row: Any) -> Hit | None:
    # Its own pages need a browser, and the paper itself is better evidence anyway.
    paper, doi = value_at(row, "externalIds", "ArXiv"), value_at(row, "externalIds", "DOI")
    places = (
        value_at(row, "openAccessPdf", "url"),
        f"https://arxiv.org/abs/{paper}" if isinstance(paper, str) and paper else "",
        f"https://doi.org/{doi}" if isinstance(doi, str) and doi else "",
        row.get("url"),
    )
    url = next((place for place in places if isinstance(place, str) and place), None)
    year = row.get("year")
    published = row.get("publicationDate") or (str(year) if isinstance(year, int) else "")
    return hit(url, row.get("title"), row.get("abstract"), published)
