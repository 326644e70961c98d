"""Brave Web Search. A wrong key is reported as 422, a spent monthly quota as 429 with a code, no hits as no ``web`` section."""

from __future__ import annotations

import json
from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.rate_limit import pace_of
from pipeline.search.providers.reply_parsing import checked_count, error_in, hit, hits_from, list_at, message, value_at
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Secret

_HINT = "check BRAVE_API_KEY, and the plan's limits at api-dashboard.search.brave.com"
_NO_ACCESS = ("QUOTA_LIMITED", "SUBSCRIPTION_TOKEN_INVALID", "SUBSCRIPTION_NOT_FOUND")


class Brave(Provider):
    """Needs a key. 1,000 searches cost 5 USD; failed ones are free."""

    name = "brave"
    price = 0.005

    def __init__(self, key: Secret, base_url: str = "https://api.search.brave.com") -> None:
        self._key = key
        self._url = f"{base_url}/res/v1/web/search"

    def call(self, query: str, limit: int) -> Call:
        """Return the request for at most 20 hits; the query is cut to 50 words and 400 characters."""
        words = " ".join(query.split()[:50])
        params: dict[str, str | int] = {"q": one_line(words, 400), "count": max(1, min(limit, 20)), "extra_snippets": "true"}
        headers = {"x-subscription-token": self._key.reveal(), "accept": "application/json"}
        return Call(self.name, "GET", self._url, headers, params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 200:
            return Good()
        error = _error(reply)
        why = message(error.get("detail"), f"it answered with status {reply.status}")
        if error.get("code") in _NO_ACCESS or reply.status in (401, 402, 403) or _names_key(error):
            return Refused(why, _HINT)
        if reply.status == 422:
            return Failed(why)
        return Again(why, pace_of(reply.headers).pause_s or None) if reply.status == 429 else judged_by_status(reply)

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        body = reply.json_object()
        if "web" not in body and body.get("type") == "search":
            return checked_count(_expected_count(body), ())
        return hits_from(list_at(body, "web", "results"), _hit)


def _hit(row: Any) -> Hit | None:
    extra = row.get("extra_snippets")
    texts = (row.get("description"), *(extra if isinstance(extra, list) else ()))
    snippet = " … ".join(text for text in texts if isinstance(text, str))
    return hit(row.get("url"), row.get("title"), snippet, row.get("page_age"))


def _expected_count(body: object) -> int:
    return json.dumps(value_at(body, "mixed", "main")).count('"type": "web"')


def _error(reply: Reply) -> dict[str, Any]:
    body = error_in(reply)
    listed = body.get("errors")
    found = body.get("error") or (listed[0] if isinstance(listed, list) and listed else None)
    return found if isinstance(found, dict) else {}


def _names_key(error: dict[str, Any]) -> bool:
    return '["header", "x-subscription-token"]' in json.dumps(value_at(error, "meta", "errors"))
