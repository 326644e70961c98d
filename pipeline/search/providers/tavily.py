"""Tavily web search. Status 432 and 433 mean that the plan or the spending limit is used up."""

from __future__ import annotations

from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import error_in, hit, hits_from, list_at, message, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

_HINT = "check TAVILY_API_KEY, and the plan's limits at app.tavily.com"


class Tavily(Provider):
    """Needs a key. A search costs one credit, counted as 0.008 USD, the price without a plan."""

    name = "tavily"
    price = 0.008

    def __init__(self, key: Secret, base_url: str = "https://api.tavily.com") -> None:
        self._key = key
        self._url = f"{base_url}/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 20 hits; the query is cut to 400 characters."""
        body = {
            "query": one_line(query, 400),
            "search_depth": "basic",
            "topic": "general",
            "max_results": max(1, min(limit, 20)),
            "include_answer": False,
            "include_raw_content": False,
            "include_usage": True,
        }
        return Call(self.name, "POST", self._url, {"authorization": f"Bearer {self._key.reveal()}"}, json=body)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 200:
            return Good()
        detail = error_in(reply).get("detail")
        first = detail[0] if isinstance(detail, list) and detail else None
        why = message(value_at(detail, "error") or value_at(first, "msg"), f"it answered with status {reply.status}")
        if reply.status in (401, 402, 403, 432, 433):
            return Refused(why, _HINT)
        if reply.status == 429:
            return Again(why)
        return Failed(why) if reply.status in (400, 422) else judged_by_status(reply)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        return hits_from(list_at(reply.json_object(), "results"), _hit)

    def usd(self, reply: Reply) -> float:
        """Return the price in USD of the credits that the reply states, or of one credit."""
        credits_used = value_at(reply.json_object(), "usage", "credits")
        known = isinstance(credits_used, int | float) and not isinstance(credits_used, bool) and 0 <= credits_used < 1_000
        return self.price * (credits_used if known else 1)


def _hit(row: Any) -> Hit | None:
    return hit(row.get("url"), row.get("title"), row.get("content"), row.get("published_date"))
