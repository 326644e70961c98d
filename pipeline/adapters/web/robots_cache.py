"""Cache of the sites' robots.txt rules, fetched once a day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pipeline.adapters.http.call_and_reply import Again, Call, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.web.page_address import host_of, redirect_target, site_of
from pipeline.adapters.web.robots_txt import ALLOW_ALL, ALLOW_NOTHING, MAX_BYTES, Rules, parse_robots
from pipeline.errors import ReadFailed, ServiceFailed, ServiceUnavailable

REDIRECTS = 5
_DAY_S = 86_400.0
_HOUR_S = 3_600.0
_DEADLINE_S = 15.0


class _CachedRules(NamedTuple):
    rules: Rules
    until: float
    why: str  # why robots.txt could not be read, so that no page may be; or ""


class RobotsCache:
    """Holds the rules of the sites asked so far. ``agent`` is the product token that the rules are looked up for."""

    def __init__(self, http: HttpClient, agent: str, headers: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._http = http
        self._agent = agent
        self._headers = headers
        self._clock = clock
        self._rules_by_site: dict[str, _CachedRules] = {}

    def has_rules(self, url: str) -> bool:
        """Return whether the rules for ``url`` are cached and valid."""
        cached = self._rules_by_site.get(site_of(url))
        return cached is not None and cached.until > self._clock()

    async def fetch_rules(self, url: str) -> None:
        """Fetch the rules for ``url`` unless they are cached.

        A site without a robots.txt allows all pages. If its robots.txt cannot be read, no page may be read for an hour.
        """
        if self.has_rules(url):
            return
        rules, why = await self._fetch(site_of(url) + "/robots.txt")
        self._rules_by_site[site_of(url)] = _CachedRules(rules, self._clock() + (_HOUR_S if why else _DAY_S), why)

    def check(self, url: str) -> float:
        """Return the pause in seconds that the site asks for. Call ``fetch_rules`` first.

        Raises:
            ReadFailed: ``url`` must not be read.
        """
        cached = self._rules_by_site[site_of(url)]
        if not cached.rules.allow(url):
            raise ReadFailed(cached.why or "its robots.txt forbids reading it")
        return cached.rules.delay_s

    async def _fetch(self, url: str) -> tuple[Rules, str]:
        try:
            for _ in range(REDIRECTS + 1):
                call = Call(host_of(url), "GET", url, self._headers, max_bytes=MAX_BYTES, cut_off=True, deadline_s=_DEADLINE_S)
                reply = await self._http.send(call, _judge)
                if not 300 <= reply.status < 400 or "location" not in reply.headers:
                    return (parse_robots(reply.body, self._agent) if reply.status == 200 else ALLOW_ALL), ""
                url = redirect_target(url, reply.headers["location"])
        except (ServiceUnavailable, ServiceFailed, ReadFailed) as error:
            return ALLOW_NOTHING, f"the site's robots.txt cannot be read, so none of its pages may be ({error.message})"
        return ALLOW_ALL, ""


def _judge(reply: Reply) -> Verdict:
    if reply.status == 429 or reply.status >= 500:
        return Again(f"status {reply.status}")
    return Good()
