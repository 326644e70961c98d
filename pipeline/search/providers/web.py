"""Searches of the whole web: Brave, Tavily, and a SearXNG server; and of Wikipedia."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote

from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.net.calls import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.search.providers.provider import Provider, hit, message_in, plain, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret


class Brave(Provider):
    """Needs a key. 1,000 searches cost 5 USD; failed ones are free. A wrong key is a 422, a spent quota a 429 with a code."""

    name, price = "brave", 0.005
    rows = ("web", "results")
    refusals = ("QUOTA_LIMITED", "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND", "x-subscription-token")
    hint = "check BRAVE_API_KEY, and the plan's limits at api-dashboard.search.brave.com"

    def __init__(self, key: Secret, base_url: str = "https://api.search.brave.com") -> None:
        self._key, self._url = key, f"{base_url}/res/v1/web/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 20 hits; the query is cut to 50 words and 400 characters."""
        words = one_line(" ".join(query.split()[:50]), 400)
        params: dict[str, str | int] = {"q": words, "count": max(1, min(limit, 20)), "extra_snippets": "true"}
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

    name, price = "tavily", 0.008
    rows = ("results",)
    refused = (401, 402, 403, 432, 433)
    hint = "check TAVILY_API_KEY, and the plan's limits at app.tavily.com"

    def __init__(self, key: Secret, base_url: str = "https://api.tavily.com") -> None:
        self._key, self._url = key, f"{base_url}/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 20 hits; the query is cut to 400 characters."""
        body = {"query": one_line(query, 400), "search_depth": "basic", "topic": "general", "max_results": max(1, min(limit, 20))}
        body |= {"include_answer": False, "include_raw_content": False, "include_usage": True}
        return Call(self.name, "POST", self._url, {"authorization": f"Bearer {self._key.reveal()}"}, json=body)

    def usd(self, reply: Reply) -> float:
        """Return the price in USD of the credits that the reply states, or of one credit."""
        credits_used = value_at(reply.json_object(), "usage", "credits")
        known = isinstance(credits_used, int | float) and not isinstance(credits_used, bool) and 0 <= credits_used < 1_000
        return self.price * (credits_used if known else 1)

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row."""
        return hit(row.get("url"), row.get("title"), row.get("content"), row.get("published_date"))


class Searxng(Provider):
    """Needs the server's address and no key. No results while engines do not respond is an outage."""

    name = "searxng"
    rows = ("results",)
    hint = "add json to search.formats in the server's settings.yml, and check SEARXNG_URL"
    _NO_JSON = "it does not answer in JSON"
    _COMMAND = re.compile(r"(?<!\S)[!:]+(?=\S)")  # SearXNG's commands (``!!g``, ``:de``), which must not act

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url.rstrip('/')}/search"

    def call(self, query: str, _limit: int) -> Call:
        """Return the request for one page of hits."""
        params: dict[str, str | int] = {"q": one_line(self._COMMAND.sub("", query), 400), "format": "json"}
        return Call(self.name, "GET", self._url, params={**params, "categories": "general", "language": "all", "pageno": 1})

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply; a web page instead of JSON is a wrong setting."""
        if reply.status == 403:
            return Refused(self._NO_JSON, self.hint)
        if 300 <= reply.status < 400:
            return Failed("it redirects elsewhere instead of searching")
        if reply.status != 200:
            return judged_by_status(reply)
        try:
            found, listed = self.hits(reply), reply.json_object().get("unresponsive_engines")
        except Malformed as error:
            if error.kind == "html":
                return Refused(self._NO_JSON, self.hint)
            raise
        engines = [one if isinstance(one, list) else [one] for one in (listed if isinstance(listed, list) else [])]
        silent = ", ".join(one_line(plain(": ".join(map(str, one))), 200) or "an engine" for one in engines[:5])
        return Again(f"it found nothing, and engines did not respond: {silent}", down=True) if silent and not found else Good()

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row."""
        return hit(row.get("url"), row.get("title"), row.get("content"), row.get("publishedDate"))


class Wikipedia(Provider):
    """Needs no key. ``base_url`` selects the language. Errors come with status 200; 403 means that no contact was sent."""

    name = "wikipedia"
    rows, total = ("query", "search"), ("query", "searchinfo", "totalhits")
    hint = "write `contact:` with an e-mail address or a page under settings in queries.yaml; Wikipedia requires it"
    _PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error", "cirrussearch-too-busy-error")

    def __init__(self, base_url: str = "https://en.wikipedia.org") -> None:
        self._base = base_url

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 50 hits; the query is cut to 300 characters."""
        params: dict[str, str | int] = {"action": "query", "list": "search", "srsearch": one_line(query, 300)}
        params |= {"srlimit": max(1, min(limit, 50)), "srprop": "snippet|timestamp", "format": "json", "formatversion": 2}
        return Call(self.name, "GET", f"{self._base}/w/api.php", params={**params, "maxlag": 5})

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 403:
            return Refused("it requires a contact address", self.hint)
        if reply.status != 200:
            return judged_by_status(reply)
        error = reply.json_object().get("error")
        if error is None:
            return Good()
        why = message_in({"error": error}) or "an error without a message"
        return Again(why, down=True) if str(value_at(error, "code")).startswith(self._PASSING) else Failed(why)

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row."""
        title = row.get("title")
        if not isinstance(title, str) or not title.strip():
            return None
        url = f"{self._base}/wiki/{quote(title.replace(' ', '_'), safe='/:()', errors='replace')}"
        return hit(url, title, row.get("snippet"), row.get("timestamp"))
