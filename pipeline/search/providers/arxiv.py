"""arXiv search, an Atom feed. Its terms allow one request in three seconds on one connection; errors are feed entries."""

from __future__ import annotations

import re
from itertools import islice
from xml.etree import ElementTree

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import checked_count, hit, message

ATOM = "{http://www.w3.org/2005/Atom}"
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
    if feed.tag != f"{ATOM}feed":
        raise Malformed("shape", "the reply is not an Atom feed")
    return feed


GAP_S = 3.0
_TOTAL = "{http://a9.com/-/spec/opensearch/1.1/}totalResults"
_WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
_STOP_WORD = re.compile(r"and|or|andnot|to|the|an?|of|in|on|for|is|are|was|were|how|what|why|does|do|did|with|by|at")


class Arxiv(Provider):
    """Needs no key."""

    name = "arxiv"
    price = 0.0

    def __init__(self, base_url: str = "https://export.arxiv.org") -> None:
        self._url = f"{base_url}/api/query"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 50 hits: papers with any of the query's words, the most relevant first."""
        words = dict.fromkeys(word for word in _WORD.findall(query.lower()) if not _STOP_WORD.fullmatch(word))
        asked = " OR ".join(f"all:{word}" for word in islice(words, 12)) or f"all:{query[:100]}"
        params: dict[str, str | int] = {"search_query": asked, "start": 0, "max_results": max(1, min(limit, 50))}
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 429:
            return Again("it asks for fewer requests", GAP_S, down=True)
        if reply.status not in (200, 400):
            return judged_by_status(reply)
        error = next((entry for entry in parse_feed(reply.body).iter(f"{ATOM}entry") if _is_error(entry)), None)
        if error is not None or reply.status == 400:
            return Failed(message(None if error is None else error.findtext(f"{ATOM}summary"), "it rejects the query"))
        return Good()

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        feed = parse_feed(reply.body)
        listed = feed.findall(f"{ATOM}entry")
        hits = tuple(made for entry in listed if (made := _hit(entry)) is not None)
        total = feed.findtext(_TOTAL, "").strip()
        if total == "" or (listed and not hits):
            raise Malformed("shape", "the feed has no count, or no entry with an address")
        return checked_count(int(total) if total.isdecimal() and len(total) < 12 else 0, hits)


def _is_error(entry: Element) -> bool:
    return "/api/errors" in entry.findtext(f"{ATOM}id", "")


def _hit(entry: Element) -> Hit | None:
    links = {link.get("rel"): link.get("href") for link in entry.findall(f"{ATOM}link")}
    title, summary, published = (entry.findtext(f"{ATOM}{name}", "") for name in ("title", "summary", "published"))
    return hit(links.get("alternate") or entry.findtext(f"{ATOM}id", ""), title, summary, published)
