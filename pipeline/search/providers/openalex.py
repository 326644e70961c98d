"""OpenAlex, a search of scientific works. Abstracts are inverted indexes; a spent daily budget is reported as 429."""

from __future__ import annotations

import re
from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import checked_count, error_in, hit, hits_from, list_at, message, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

_FIELDS = "id,doi,display_name,publication_date,open_access,primary_location,abstract_inverted_index,is_retracted"
_HINT = "its budget starts again at midnight UTC; with OPENALEX_API_KEY it is ten times as large as without"
_DAY_SPENT = re.compile(r"insufficient budget", re.IGNORECASE)
_MOST_WORDS = 2_000


class Openalex(Provider):
    """Works without a key, within a small daily budget; each reply states its price."""

    name = "openalex"
    price = 0.001

    def __init__(self, key: Secret | None = None, base_url: str = "https://api.openalex.org") -> None:
        self._key = key
        self._url = f"{base_url}/works"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 100 hits."""
        params: dict[str, str | int] = {"search": one_line(query, 400), "per_page": max(1, min(limit, 100)), "select": _FIELDS}
        if self._key is not None:
            params["api_key"] = self._key.reveal()
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 200:
            return Good()
        error = error_in(reply)
        why = message(error.get("message") or error.get("error"), f"it answered with status {reply.status}")
        if reply.status in (401, 402, 403) or (reply.status == 429 and _DAY_SPENT.search(why)):
            return Refused(why, _HINT)
        if reply.status == 429:
            return Again(why, _seconds(error.get("retryAfter")))
        return Failed(why) if 400 <= reply.status < 500 else judged_by_status(reply)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        body = reply.json_object()
        return checked_count(value_at(body, "meta", "count"), hits_from(list_at(body, "results"), _hit))

    def usd(self, reply: Reply) -> float:
        """Return the price in the reply's headers, or the usual price."""
        named = reply.headers.get("x-ratelimit-cost-usd", "")
        return float(named) if re.fullmatch(r"\d{1,3}(?:\.\d{1,12})?", named, re.ASCII) else self.price


def _seconds(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _hit(row: Any) -> Hit | None:
    places = (
        value_at(row, "open_access", "oa_url"),
        value_at(row, "primary_location", "landing_page_url"),
        row.get("doi"),
        row.get("id"),
    )
    url = next((place for place in places if isinstance(place, str) and place), None)
    warning = "This work was retracted. " if row.get("is_retracted") is True else ""
    return hit(url, row.get("display_name"), warning + _abstract(row.get("abstract_inverted_index")), row.get("publication_date"))


def _abstract(index: object) -> str:
    """Return the abstract's text from its index, which maps each word to its positions."""
    words = index.items() if isinstance(index, dict) else ()
    placed = {place: word for word, places in words if isinstance(places, list) for place in places if isinstance(place, int)}
    return " ".join(placed[place] for place in sorted(placed)[:_MOST_WORDS])
