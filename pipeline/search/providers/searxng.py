"""SearXNG server. No results while engines do not respond is an outage; a web page instead of JSON is a wrong setting."""

from __future__ import annotations

import re
from typing import Any

from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.domain.values import Hit
from pipeline.errors import Malformed
from pipeline.search.providers.provider import Provider
from pipeline.search.providers.reply_parsing import hit, hits_from, list_at, message
from pipeline.text.normalise import one_line

_NO_JSON = "it does not answer in JSON"
_HINT = "add json to search.formats in the server's settings.yml, and check SEARXNG_URL"
_COMMAND = re.compile(r"(?<!\S)[!:]+(?=\S)")


class Searxng(Provider):
    """Needs the server's address and no key; searches are free."""

    name = "searxng"
    price = 0.0

    def __init__(self, base_url: str) -> None:
        self._url = f"{base_url.rstrip('/')}/search"

    def call(self, query: str, _limit: int) -> Call:
        """Return the request for one page of hits; SearXNG's commands in the query (``!!g``, ``:de``) become plain words."""
        params: dict[str, str | int] = {
            "q": one_line(_COMMAND.sub("", query), 400),
            "format": "json",
            "categories": "general",
            "language": "all",
            "pageno": 1,
        }
        return Call(self.name, "GET", self._url, params=params)

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply."""
        if reply.status == 403:
            return Refused(_NO_JSON, _HINT)
        if 300 <= reply.status < 400:
            return Failed("it redirects elsewhere instead of searching")
        if reply.status != 200:
            return judged_by_status(reply)
        try:
            found, unresponsive = self.hits(reply), _unresponsive(reply)
        except Malformed as error:
            if error.kind == "html":
                return Refused(_NO_JSON, _HINT)
            raise
        if unresponsive and not found:
            return Again(f"it found nothing, and engines did not respond: {unresponsive}", down=True)
        return Good()

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits, best first. Raises ``Malformed`` for a reply of another shape."""
        return hits_from(list_at(reply.json_object(), "results"), _hit)


def _hit(row: Any) -> Hit | None:
    return hit(row.get("url"), row.get("title"), row.get("content"), row.get("publishedDate"))


def _unresponsive(reply: Reply) -> str:
    listed = reply.json_object().get("unresponsive_engines")
    engines = [one if isinstance(one, list) else [one] for one in (listed if isinstance(listed, list) else [])]
    return ", ".join(message(": ".join(str(part) for part in one), "an engine") for one in engines[:5])
