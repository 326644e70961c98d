"""What each site allows: its robots.txt, fetched once a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipeline.adapters.http.call_and_reply import Again, Call, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.web.page_address import host_of, joined, site_of
from pipeline.adapters.web.robots_txt import ALLOW_ALL, ALLOW_NOTHING, MAX_BYTES, Rules, parsed
from pipeline.errors import ReadFailed, ServiceFailed, ServiceUnavailable

REDIRECTS = 5
_DAY_S = 86_400.0
_HOUR_S = 3_600.0
_DEADLINE_S = 15.0


class _Kept(NamedTuple):
    rules: Rules
    until: float
    why: str  # why nothing is allowed although the site has not said so, or ""


class RobotsCache:
    """Knows the rules of the sites met so far. ``agent`` is the product token that the rules are looked up for."""

    def __init__(self, http: HttpClient, agent: str, headers: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._http = http
        self._agent = agent
        self._headers = headers
        self._clock = clock
        self._kept: dict[str, _Kept] = {}

    def knows(self, url: str) -> bool:
        """Return whether the rules for ``url`` are at hand."""
        kept = self._kept.get(site_of(url))
        return kept is not None and kept.until > self._clock()

    async def learn(self, url: str) -> None:
        """Fetch the rules for ``url`` unless they are at hand. No robots.txt allows all; one that cannot be had, nothing."""
        if self.knows(url):
            return
        rules, why = await self._fetched(site_of(url) + "/robots.txt")
        self._kept[site_of(url)] = _Kept(rules, self._clock() + (_HOUR_S if why else _DAY_S), why)

    def refuse(self, url: str) -> float:
        """Return the pause in seconds that the site asks for, if ``url`` may be read. ``learn`` comes first.

        Raises:
            ReadFailed: it may not.
        """
        kept = self._kept[site_of(url)]
        if not kept.rules.allow(url):
            raise ReadFailed(kept.why or "its robots.txt does not allow it to be read")
        return kept.rules.delay_s

    async def _fetched(self, url: str) -> tuple[Rules, str]:
        try:
            for _ in range(REDIRECTS + 1):
                call = Call(host_of(url), "GET", url, self._headers, max_bytes=4 * MAX_BYTES, deadline_s=_DEADLINE_S)
                reply = await self._http.send(call, _judged)
                if not 300 <= reply.status < 400 or "location" not in reply.headers:
                    return self._meant(reply)
                url = joined(url, reply.headers["location"])
        except (ServiceUnavailable, ServiceFailed, ReadFailed) as error:
            return ALLOW_NOTHING, f"its robots.txt cannot be read, so nothing is allowed ({error.message})"
        return ALLOW_ALL, ""

    def _meant(self, reply: Reply) -> tuple[Rules, str]:
        return (parsed(reply.body, self._agent) if reply.status == 200 else ALLOW_ALL), ""


def _judged(reply: Reply) -> Verdict:
    if reply.status == 429 or reply.status >= 500:
        return Again(f"status {reply.status}")
    return Good()
