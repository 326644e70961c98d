"""Searches of scientific works: arXiv, OpenAlex, and Semantic Scholar."""

from __future__ import annotations

import re
from itertools import islice
from typing import Any
from xml.etree import ElementTree

from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.net.calls import Again, Call, Failed, Good, Reply, Verdict, judged_by_status
from pipeline.search.providers.provider import Provider, hit, plain, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

ARXIV_GAP_S, SCHOLAR_GAP_S = 3.0, 1.0  # between two requests, by their terms
_ATOM = "{http://www.w3.org/2005/Atom}"
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
Element = ElementTree.Element


def parse_feed(body: bytes) -> Element:
    """Return the root element of the UTF-8 Atom feed in ``body``.

    Raises:
        Malformed: ``body`` is no Atom feed, or declares a document type (a way to attack XML parsers).
    """
    try:
        text = body.decode("utf-8-sig")
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise Malformed("doctype", "the feed declares a document type, which no feed needs")
        feed = ElementTree.fromstring(text.strip())  # noqa: S314 - a document that could declare entities was refused above
    except (UnicodeDecodeError, ElementTree.ParseError, ValueError):
        raise Malformed("xml", "the reply is not valid XML") from None
    if feed.tag != f"{_ATOM}feed":
        raise Malformed("shape", "the reply is not an Atom feed")
    return feed


class Arxiv(Provider):
    """Needs no key. An Atom feed; errors are entries of it."""

    name = "arxiv"
    # arXiv joins words by operators, so a question is taken apart, without the words that all papers have.
    _WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
    _STOP = frozenset(("and", "or", "andnot", "to", "the", "a", "an", "of", "in", "on", "for", "is", "are", "was", "were"))
    _STOP |= frozenset(("how", "what", "why", "does", "do", "did", "with", "by", "at"))

    def __init__(self, base_url: str = "https://export.arxiv.org") -> None:
        self._url = f"{base_url}/api/query"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 50 hits: papers with any of the query's words, the most relevant first."""
        words = dict.fromkeys(word for word in self._WORD.findall(query.lower()) if word not in self._STOP)
        asked = " OR ".join(f"all:{word}" for word in islice(words, 12)) or f"all:{query[:100]}"
        params: dict[str, str | int] = {"search_query": asked, "start": 0, "max_results": max(1, min(limit, 50))}
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 429:
            return Again("it asks for fewer requests", ARXIV_GAP_S, down=True)
        if reply.status not in (200, 400):
            return judged_by_status(reply)
        entries = parse_feed(reply.body).iter(f"{_ATOM}entry")
        error = next((entry for entry in entries if "/api/errors" in entry.findtext(f"{_ATOM}id", "")), None)
        if error is None and reply.status == 200:
            return Good()
        said = "" if error is None else error.findtext(f"{_ATOM}summary", "")
        return Failed(one_line(plain(said), 200) or "it rejects the query")

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        feed = parse_feed(reply.body)
        listed = feed.findall(f"{_ATOM}entry")
        found = tuple(made for entry in listed if (made := self._of_entry(entry)) is not None)
        total = feed.findtext(_TOTAL, "").strip()
        if total == "" or (listed and not found):
            raise Malformed("shape", "the feed has no count, or no entry with an address")
        return found or self.checked([], int(total) if total.isdecimal() and len(total) < 12 else 0)

    def _of_entry(self, entry: Element) -> Hit | None:
        links = {link.get("rel"): link.get("href") for link in entry.findall(f"{_ATOM}link")}
        title, summary, published = (entry.findtext(f"{_ATOM}{name}", "") for name in ("title", "summary", "published"))
        return hit((links.get("alternate"), entry.findtext(f"{_ATOM}id", "")), title, summary, published)


class Openalex(Provider):
    """Works without a key, within a small daily budget; each reply states its price."""

    name, price = "openalex", 0.001
    rows, total = ("results",), ("meta", "count")
    refusals = ("Insufficient budget", "insufficient budget")
    hint = "its budget starts again at midnight UTC; with OPENALEX_API_KEY it is ten times as large as without"
    _FIELDS = "id,doi,display_name,publication_date,open_access,primary_location,abstract_inverted_index,is_retracted"
    _MOST_WORDS = 2_000

    def __init__(self, key: Secret | None = None, base_url: str = "https://api.openalex.org") -> None:
        self._key, self._url = key, f"{base_url}/works"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 100 hits."""
        params: dict[str, str | int] = {"search": one_line(query, 400), "per_page": max(1, min(limit, 100))}
        key = {"api_key": self._key.reveal()} if self._key is not None else {}
        return Call(self.name, "GET", self._url, params={**params, "select": self._FIELDS, **key})

    def wait_s(self, reply: Reply) -> float | None:
        """Return the wait that the error states."""
        try:
            said = reply.json_object().get("retryAfter")
        except Malformed:
            return None
        return float(said) if isinstance(said, int | float) and not isinstance(said, bool) else None

    def usd(self, reply: Reply) -> float:
        """Return the price in the reply's headers, or the usual price."""
        try:
            usd = float(reply.headers.get("x-ratelimit-cost-usd", ""))
        except ValueError:
            return self.price
        return usd if 0 <= usd < 1_000 else self.price

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row. An abstract is an index that maps each word to its places."""
        urls = (value_at(row, "open_access", "oa_url"), value_at(row, "primary_location", "landing_page_url"))
        index = row.get("abstract_inverted_index")
        words = index.items() if isinstance(index, dict) else ()
        placed = {place: word for word, places in words if isinstance(places, list) for place in places if isinstance(place, int)}
        abstract = " ".join(placed[place] for place in sorted(placed)[: self._MOST_WORDS])
        warning = "This work was retracted. " if row.get("is_retracted") is True else ""
        return hit(
            (*urls, row.get("doi"), row.get("id")), row.get("display_name"), warning + abstract, row.get("publication_date")
        )


class SemanticScholar(Provider):
    """Often refuses requests without a key; with a key, one request a second is allowed. An empty result has no ``data``."""

    name = "semanticscholar"
    rows, total = ("data",), ("total",)
    hint = "check SEMANTIC_SCHOLAR_API_KEY"
    _FIELDS = "title,url,abstract,year,publicationDate,openAccessPdf,externalIds"

    def __init__(self, key: Secret | None = None, base_url: str = "https://api.semanticscholar.org") -> None:
        self._key, self._url = key, f"{base_url}/graph/v1/paper/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 100 hits. A query with a hyphen has no results there."""
        headers = {"x-api-key": self._key.reveal()} if self._key is not None else {}
        params: dict[str, str | int] = {"query": one_line(query, 300).replace("-", " "), "fields": self._FIELDS, "offset": 0}
        return Call(self.name, "GET", self._url, headers, {**params, "limit": max(1, min(limit, 100))})

    def wait_s(self, reply: Reply) -> float | None:  # noqa: ARG002
        """Return the gap of its terms."""
        return SCHOLAR_GAP_S

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        body = reply.json_object()
        return () if body.get("total") == 0 and "data" not in body else super().hits(reply)

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row: the paper itself, as its page there needs a browser, and the paper is better evidence."""
        paper, doi = value_at(row, "externalIds", "ArXiv"), value_at(row, "externalIds", "DOI")
        urls = (
            value_at(row, "openAccessPdf", "url"),
            f"https://arxiv.org/abs/{paper}" if isinstance(paper, str) and paper else "",
            f"https://doi.org/{doi}" if isinstance(doi, str) and doi else "",
            row.get("url"),
        )
        year = row.get("year")
        published = row.get("publicationDate") or (str(year) if isinstance(year, int) else "")
        return hit(urls, row.get("title"), row.get("abstract"), published)
