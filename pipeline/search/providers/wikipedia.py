"""Wikipedia search (MediaWiki API). Errors come with status 200 and an ``error`` object; 403 means that no contact was sent."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import checked_count, hit, hits_from, list_at, message, value_at
from pipeline.text.normalise import one_line

_PASSING = ("maxlag", "ratelimited", "readonly", "internal_api_error", "cirrussearch-too-busy-error")
_HINT = "write `contact:` with an e-mail address or a page under settings in queries.yaml; Wikipedia requires it"


class Wikipedia(Provider):
    """Needs no key. ``base_url`` selects the language."""

    name = "wikipedia"
    price = 0.0

    def __init__(self, base_url: str = "https://en.wikipedia.org") -> None:
        self._base = base_url

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 50 hits; the query is cut to 300 characters."""
        params: dict[str, str | int] = {
            "action": "query",
            "list": "search",
            "srsearch": one_line(query, 300),
            "srlimit": max(1, min(limit, 50)),
            "srprop": "snippet|timestamp",
            "format": "json",
            "formatversion": 2,
            "maxlag": 5,
        }
        return Call(self.name, "GET", f"{self._base}/w/api.php", params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 403:
            return Refused("it requires a contact address", _HINT)
        if reply.status != 200:
            return judged_by_status(reply)
        error = reply.json_object().get("error")
        if error is None:
            return Good()
        why = message(value_at(error, "info"), "an error without a message")
        passing = str(value_at(error, "code")).startswith(_PASSING)
        return Again(why, down=True) if passing else Failed(why)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        body = reply.json_object()
        if "query" not in body:
            raise Malformed("shape", "the reply has no query")
        return checked_count(
            value_at(body, "query", "searchinfo", "totalhits"), hits_from(list_at(body, "query", "search"), self._hit)
        )

    def _hit(self, row: Any) -> Hit | None:
        title = row.get("title")
        if not isinstance(title, str) or not title.strip():
            return None
        url = f"{self._base}/wiki/{quote(title.replace(' ', '_'), safe='/:()', errors='replace')}"
        return hit(url, title, row.get("snippet"), row.get("timestamp"))
