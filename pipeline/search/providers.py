"""Web searches, by the port ``Search``: what all have in common, one small class a provider, and the parts of replies.

A provider is the request of a search, where the rows are in the reply, and how a row becomes a hit. A reply of an unexpected
shape is an error, never an empty result. Each page has one address, so that two spellings of it count as one source: only what
cannot change the page is normalised; ``http`` stays ``http``, and ``www.`` stays.
"""

from __future__ import annotations

import asyncio
import html
import json
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from itertools import islice
from typing import Any
from urllib.parse import quote
from xml.etree import ElementTree

from pipeline.domain.budget import paying
from pipeline.domain.research_values import Cost, Hit, total
from pipeline.errors import Malformed, SearchFailed, ServiceFailed, ServiceUnavailable, StepError
from pipeline.net.calls_and_replies import (
    Again,
    AttemptCharges,
    Call,
    Failed,
    Good,
    Judge,
    Refused,
    Reply,
    Verdict,
    judged_by_status,
    loop_time,
)
from pipeline.net.client import Before, HttpClient
from pipeline.ports import SearchResult, SharedPace
from pipeline.text.addresses import canonical, identity
from pipeline.text.cleaning import clean, one_line
from pipeline.text.redaction import Secret


def distinct(hits: Iterable[Hit]) -> tuple[Hit, ...]:
    """Return ``hits`` with canonical addresses, in their order, each page once, without those that have no web address."""
    found: dict[str, Hit] = {}
    for hit in hits:
        if address := canonical(hit.url):
            found.setdefault(identity(address), hit.model_copy(update={"url": address}))
    return tuple(found.values())


MAX_BYTES = 2_000_000
DEADLINE_S = 30.0
_LONGEST_TEXT = 4_000
# The tags that result lists mark words with, and no others: without it "<b>" is shown, and with more "vector<int>" is lost.
_TAG = re.compile(
    r"<!--.{0,2000}?-->|</?(?:strong|b|em|i|u|s|a|p|br|wbr|span|sub|sup|mark|small|code|font|(?:mml|jats):[a-z]+)\b[^<>]{0,500}>",
    re.IGNORECASE | re.DOTALL,
)
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")  # providers add a time of day, or give the year alone
# Where servers put the message of an error: Brave, OpenAI and OpenAlex, Tavily, FastAPI, Semantic Scholar, Ollama and TEI.
_SAID = (
    ("error", "detail"), ("errors", 0, "detail"), ("error", "message"), ("detail", "error"), ("detail", 0, "msg"),
    ("message",), ("error",), ("error", "info"), ("detail",),
)  # fmt: skip


class Provider:
    """The base of all providers: the search at the ``path`` below ``base_url``. None of them sends or waits.

    ``price`` is the cost of one search in USD if the reply does not state it. ``rows`` is where the reply has its results, and
    ``total`` where it has their number; ``fields`` are the names of address, title, snippet and date in a row. Replies with a
    status of ``refused``, or with one of the words ``refusals`` in an error, say that no search will pass tonight; ``hint`` says
    what to do then. A query may be ``longest`` characters long, and a reply holds at most ``most`` hits. Its terms ask for
    ``gap_s`` seconds between two searches.
    """

    name = path = ""
    price = 0.0
    rows: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    fields: tuple[str, str, str, str] = ("url", "title", "content", "published_date")
    refused: tuple[int, ...] = (401, 402, 403)
    refusals: tuple[str, ...] = ()
    hint = ""
    longest, most = 400, 100
    gap_s = 0.0

    def __init__(self, base_url: str, key: Secret | None = None) -> None:
        self._base, self._url, self._key = base_url, f"{base_url.rstrip('/')}{self.path}", key or Secret("")

    def call(self, query: str, limit: int) -> Call:
        """Return the request for a search, with a query and a number of hits that the provider takes."""
        raise NotImplementedError

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row; None if it has no address."""
        url, title, snippet, published = (row.get(name) for name in self.fields)
        return hit(url, title, snippet, published)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply by its status and errors; raising ``Malformed`` counts as ``Again``."""
        if reply.status == 200:
            return Good()
        why = message_in(reply) or f"it answered with status {reply.status}"
        words = reply.body.decode("utf-8", "replace")
        if reply.status in self.refused or any(word in words for word in self.refusals):
            return Refused(why, self.hint)
        if reply.status == 429:
            return Again(why, self.gap_s or None)
        return Failed(why) if reply.status in (400, 404, 422) else judged_by_status(reply)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits of a reply with the verdict ``Good``, best first.

        Raises:
            Malformed: the reply has another shape, so it is not good after all.
        """
        body = reply.json_object()
        rows = value_at(body, *self.rows)
        if not isinstance(rows, list):
            raise Malformed("shape", f"the reply has no list of results under {'.'.join(self.rows)}")
        return self.checked(rows, value_at(body, *self.total) if self.total else None)

    def checked(self, rows: list[Any], total: object) -> tuple[Hit, ...]:
        """Return the hits of ``rows``. Raises ``Malformed`` if there should be some and are none."""
        found = tuple(made for row in rows if isinstance(row, Mapping) and (made := self.hit(row)) is not None)
        if rows and not found:
            raise Malformed("shape", "not one result in the reply has an address")
        if not found and isinstance(total, int) and total > 0:
            raise Malformed("shape", f"the reply announces {total} results and holds none")
        return found

    def usd(self, reply: Reply) -> float:  # noqa: ARG002 - for providers whose replies state a price
        """Return the cost in USD of a reply with the verdict ``Good``: the usual price, unless the reply states another."""
        return self.price


class WebSearch:
    """Searches one provider: its searches run one at a time and a gap apart if it has one, over all machines that share ``pace``.

    ``headers`` are sent with every request (``user-agent``). Belongs to one event loop.
    """

    def __init__(
        self,
        provider: Provider,
        http: HttpClient,
        headers: Mapping[str, str],
        *,
        pace: SharedPace | None = None,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._provider, self._http, self._headers = provider, http, headers
        self._pace, self._clock, self._sleep = pace, clock, sleep
        self._lock = asyncio.Lock()
        self._free_at = 0.0
        self.name, self.price = provider.name, provider.price

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits, each page once, under its canonical address.

        Raises:
            SearchFailed: the search failed, for now or for good; its ``cost`` is what attempts without a reply may have cost.
            ProviderRefused: key, quota or credit is missing or used up. ``cost`` as above.
            BudgetSpent: its price does not fit under a cap of the budgets of ``domain.budget.paying``; it was not sent.
        """
        wanted = one_line(query, self._provider.longest)
        if not wanted:
            raise SearchFailed(f"The query for {self.name} is empty", hint="write a query")
        call = self._provider.call(wanted, max(1, min(limit, self._provider.most)))
        headers = {**self._headers, **call.headers}
        call = replace(call, headers=headers, max_bytes=MAX_BYTES, deadline_s=DEADLINE_S, gap_s=self._provider.gap_s)
        costs: list[Cost] = []
        meter = AttemptCharges(paying.get(), Cost(usd=self.price), costs, calls=0)

        def judged(reply: Reply) -> Verdict:
            verdict = self._provider.judge(reply)
            if isinstance(verdict, Good):
                self._provider.hits(reply)
                if self.price:
                    meter.replied(Cost(usd=round(self._provider.usd(reply), 9)))
            return verdict

        try:
            reply = await meter.charged(self._send(call, judged, meter.before if self.price else None))
        except StepError as error:
            error.cost = total(costs)
            if not isinstance(error, ServiceUnavailable | ServiceFailed):
                raise
            failure = SearchFailed(f"no search at {error.message}", hint=error.hint)
            failure.outage, failure.cost = error.outage, error.cost
            raise failure from error
        return SearchResult(self.name, distinct(self._provider.hits(reply))[:limit], total(costs))

    async def _send(self, call: Call, judge: Judge, before: Before | None) -> Reply:
        """Send a call, in its turn if the provider wants a gap before the next."""
        if not call.gap_s:
            return await self._http.send(call, judge, before)
        async with self._lock:
            if (wait := self._free_at - self._clock()) > 0:
                await self._sleep(wait)
            if self._pace is not None:
                await self._pace.turn(f"provider {self.name}", call.gap_s)
            try:
                return await self._http.send(call, judge, before)
            finally:
                self._free_at = self._clock() + call.gap_s


def value_at(holder: object, *keys: str | int) -> Any:
    """Return the value at the path ``keys`` of nested objects and lists; None if part of the path is missing."""
    for key in keys:
        if isinstance(key, int):
            holder = holder[key] if isinstance(holder, list) and len(holder) > key else None
        else:
            holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder


def message_in(reply: Reply) -> str:
    """Return the message of an error reply as one plain line, in the forms that servers use; "" if there is none."""
    try:
        body = reply.json_object()
    except Malformed:
        return ""
    return next((said for path in _SAID if (said := one_line(plain(value_at(body, *path)), 200))), "")


def plain(text: object) -> str:
    """Return a title or snippet without markup and with its entities resolved; "" if ``text`` is no string."""
    if not isinstance(text, str):
        return ""
    return " ".join(clean(html.unescape(_TAG.sub("", text[: 5 * _LONGEST_TEXT]))).split())[:_LONGEST_TEXT]


def hit(urls: object, title: object, snippet: object = "", published: object = "") -> Hit | None:
    """Return a hit with plain texts under the first of ``urls`` that is an address; None without one."""
    listed = urls if isinstance(urls, tuple) else (urls,)
    url = next((one for one in listed if isinstance(one, str) and one.strip()), None)
    if url is None:
        return None
    dated = _DATE.match(published) if isinstance(published, str) else None
    return Hit(url=url, title=one_line(plain(title)) or url, snippet=plain(snippet), published=dated[0] if dated else "")


# -- the whole web, and Wikipedia -------------------------------------------------------------------------------------------


class Brave(Provider):
    """Needs a key. 1,000 searches cost 5 USD; failed ones are free. A wrong key is a 422, a spent quota a 429 with a code."""

    name, price, path = "brave", 0.005, "/res/v1/web/search"
    rows, most, gap_s = ("web", "results"), 20, 1.0
    refusals = ("QUOTA_LIMITED", "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "x-subscription-token")
    hint = "check BRAVE_API_KEY, and the plan's limits at api-dashboard.search.brave.com"

    def call(self, query: str, limit: int) -> Call:
        """Return the request; the query is cut to 50 words."""
        params: dict[str, str | int] = {"q": " ".join(query.split()[:50]), "count": limit, "extra_snippets": "true"}
        headers = {"x-subscription-token": self._key.reveal(), "accept": "application/json"}
        return Call(self.name, "GET", self._url, headers, params)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits. Without any there is no section ``web``."""
        body = reply.json_object()
        if "web" not in body and body.get("type") == "search":
            return self.checked([], json.dumps(value_at(body, "mixed", "main")).count('"type": "web"'))
        return super().hits(reply)

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row."""
        extra = row.get("extra_snippets")
        texts = (row.get("description"), *(extra if isinstance(extra, list) else ()))
        snippet = " … ".join(text for text in texts if isinstance(text, str))
        return hit(row.get("url"), row.get("title"), snippet, row.get("page_age"))


class Tavily(Provider):
    """Needs a key. A search costs one credit, counted as 0.008 USD, the price without a plan; 432 and 433: it is used up."""

    name, price, path = "tavily", 0.008, "/search"
    rows, most = ("results",), 20
    refused = (401, 402, 403, 432, 433)
    hint = "check TAVILY_API_KEY, and the plan's limits at app.tavily.com"

    def call(self, query: str, limit: int) -> Call:
        """Return the request."""
        body = {"query": query, "search_depth": "basic", "topic": "general", "max_results": limit}
        body |= {"include_answer": False, "include_raw_content": False, "include_usage": True}
        return Call(self.name, "POST", self._url, {"authorization": f"Bearer {self._key.reveal()}"}, json=body)

    def usd(self, reply: Reply) -> float:
        """Return the price in USD of the credits that the reply states, or of one credit."""
        credits_used = value_at(reply.json_object(), "usage", "credits")
        known = isinstance(credits_used, int | float) and not isinstance(credits_used, bool) and 0 <= credits_used < 1_000
        return self.price * (credits_used if known else 1)


class Searxng(Provider):
    """Needs the server's address and no key. No results while engines do not respond is an outage."""

    name, path = "searxng", "/search"
    rows, fields = ("results",), ("url", "title", "content", "publishedDate")
    hint = "add json to search.formats in the server's settings.yml, and check SEARXNG_URL"
    _COMMAND = re.compile(r"(?<!\S)[!:]+(?=\S)")  # SearXNG's commands (``!!g``, ``:de``), which must not act

    def call(self, query: str, _limit: int) -> Call:
        """Return the request for one page of hits."""
        params: dict[str, str | int] = {"q": self._COMMAND.sub("", query), "format": "json"}
        return Call(self.name, "GET", self._url, params={**params, "categories": "general", "language": "all", "pageno": 1})

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply; a web page instead of JSON is a wrong setting."""
        if reply.status != 200:
            return super().judge(reply)
        try:
            found, listed = self.hits(reply), reply.json_object().get("unresponsive_engines")
        except Malformed as error:
            if error.kind == "html":
                return Refused("it does not answer in JSON", self.hint)
            raise
        engines = [one if isinstance(one, list) else [one] for one in (listed if isinstance(listed, list) else [])]
        silent = ", ".join(one_line(plain(": ".join(map(str, one))), 200) or "an engine" for one in engines[:5])
        return Again(f"it found nothing, and engines did not respond: {silent}", down=True) if silent and not found else Good()


class Wikipedia(Provider):
    """Needs no key. ``base_url`` selects the language. Errors come with status 200; 403 means that no contact was sent."""

    name, path = "wikipedia", "/w/api.php"
    longest, most = 300, 50
    rows, total = ("query", "search"), ("query", "searchinfo", "totalhits")
    hint = "write `contact:` with an e-mail address or a page under settings in queries.yaml; Wikipedia requires it"
    _PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error", "cirrussearch-too-busy-error")

    def call(self, query: str, limit: int) -> Call:
        """Return the request."""
        params: dict[str, str | int] = {"action": "query", "list": "search", "srsearch": query}
        params |= {"srlimit": limit, "srprop": "snippet|timestamp", "format": "json", "formatversion": 2, "maxlag": 5}
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status != 200:
            return super().judge(reply)
        error = reply.json_object().get("error")
        if error is None:
            return Good()
        why = message_in(reply) or "an error without a message"
        return Again(why, down=True) if str(value_at(error, "code")).startswith(self._PASSING) else Failed(why)

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row."""
        title = row.get("title")
        name = quote(title.strip().replace(" ", "_"), safe="/:()", errors="replace") if isinstance(title, str) else ""
        return hit(f"{self._base}/wiki/{name}" if name else None, title, row.get("snippet"), row.get("timestamp"))


# -- scientific works -------------------------------------------------------------------------------------------------------

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
    """Needs no key. An Atom feed; errors are entries of it. Its terms allow one connection."""

    name, path = "arxiv", "/api/query"
    longest, most, gap_s = 1_000, 50, 3.0
    # arXiv joins words by operators, so a question is taken apart, without the words that all papers have.
    _WORD = re.compile(r"[^\W_]+(?:-[^\W_]+)*")
    _STOP = frozenset(("and", "or", "andnot", "to", "the", "a", "an", "of", "in", "on", "for", "is", "are", "was", "were"))
    _STOP |= frozenset(("how", "what", "why", "does", "do", "did", "with", "by", "at"))

    def call(self, query: str, limit: int) -> Call:
        """Return the request for papers with any of the query's words, the most relevant first."""
        words = dict.fromkeys(word for word in self._WORD.findall(query.lower()) if word not in self._STOP)
        asked = " OR ".join(f"all:{word}" for word in islice(words, 12)) or f"all:{query[:100]}"
        params: dict[str, str | int] = {"search_query": asked, "start": 0, "max_results": limit}
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status not in (200, 400):
            return super().judge(reply)
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
        made = []
        for entry in listed:
            links = {link.get("rel"): link.get("href") for link in entry.findall(f"{_ATOM}link")}
            title, summary, published = (entry.findtext(f"{_ATOM}{name}", "") for name in ("title", "summary", "published"))
            made.append(hit((links.get("alternate"), entry.findtext(f"{_ATOM}id", "")), title, summary, published))
        found = tuple(one for one in made if one is not None)
        total = feed.findtext(_TOTAL, "").strip()
        if total == "" or (listed and not found):
            raise Malformed("shape", "the feed has no count, or no entry with an address")
        return found or self.checked([], int(total) if total.isdecimal() and len(total) < 12 else 0)


class Openalex(Provider):
    """Works without a key, within a small daily budget; each reply states its price."""

    name, price, path = "openalex", 0.001, "/works"
    rows, total = ("results",), ("meta", "count")
    refusals = ("Insufficient budget", "insufficient budget")
    hint = "its budget starts again at midnight UTC; with OPENALEX_API_KEY it is ten times as large as without"
    _FIELDS = "id,doi,display_name,publication_date,open_access,primary_location,abstract_inverted_index,is_retracted"
    _MOST_WORDS = 2_000

    def call(self, query: str, limit: int) -> Call:
        """Return the request."""
        params: dict[str, str | int] = {"search": query, "per_page": limit}
        key = {"api_key": self._key.reveal()} if self._key.reveal() else {}
        return Call(self.name, "GET", self._url, params={**params, "select": self._FIELDS, **key})

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

    name, path = "semanticscholar", "/graph/v1/paper/search"
    longest, gap_s = 300, 1.0
    rows, total = ("data",), ("total",)
    hint = "check SEMANTIC_SCHOLAR_API_KEY"
    _FIELDS = "title,url,abstract,year,publicationDate,openAccessPdf,externalIds"

    def call(self, query: str, limit: int) -> Call:
        """Return the request. A query with a hyphen has no results there."""
        headers = {"x-api-key": self._key.reveal()} if self._key.reveal() else {}
        params: dict[str, str | int] = {"query": query.replace("-", " "), "fields": self._FIELDS, "offset": 0, "limit": limit}
        return Call(self.name, "GET", self._url, headers, params)

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


PROVIDER_BY_NAME = {one.name: one for one in (Brave, Tavily, Searxng, Wikipedia, Arxiv, Openalex, SemanticScholar)}
