"""Reading of web pages, by the port ``Fetch``: addresses, robots.txt, politeness, redirects, conditional requests, a cache.

The rules of the sites' robots.txt (RFC 9309) are fetched once a day and matched by protego.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import math
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urljoin

from protego import Protego

from pipeline import __version__
from pipeline.documents.extract import VERSION
from pipeline.documents.extractor import Extractor
from pipeline.documents.page_writer import usage_notices
from pipeline.errors import ReadFailed, ServiceFailed, ServiceUnavailable
from pipeline.net.calls_and_replies import Again, Call, Failed, Good, Reply, Verdict, loop_time
from pipeline.net.client import HttpClient
from pipeline.ports import Page, SharedPace
from pipeline.system.files import read_bytes, write
from pipeline.text.addresses import host_of, requested, site_of
from pipeline.text.cleaning import digest_of


def redirect_target(base: str, location: str) -> str:
    """Return the target of a redirect from ``base`` to ``location``.

    Raises:
        ReadFailed: the target cannot be parsed.
    """
    try:
        return requested(urljoin(base, location.strip()))
    except ValueError:
        raise ReadFailed("it redirects to an address that is not valid") from None


MAX_BYTES = 512_000  # at least 500 KiB have to be read
LONGEST_DELAY_S = 10.0
_AGENT_LINE = ("user-agent", "user agent", "useragent")  # as protego reads it


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one site for one crawler. ``delay_s`` is its Crawl-delay in seconds, at most 10, or 0."""

    parsed: Protego
    agent: str
    delay_s: float = 0.0

    def allow(self, url: str) -> bool:
        """Return whether ``url`` may be read: the longest matching pattern decides; of two equally long, the one that allows."""
        return self.parsed.can_fetch(url, self.agent)


def parse_robots(data: bytes, agent: str) -> Rules:
    """Return the rules of the groups for ``agent`` (a product token in any case), else of those for ``*``.

    Text beyond ``MAX_BYTES`` and lines that cannot be parsed are ignored. A last line that the limit cuts is ignored too.
    """
    whole = data if len(data) < MAX_BYTES else data[:MAX_BYTES].rpartition(b"\n")[0]
    lines = whole.decode("utf-8-sig", "replace").splitlines()
    parsed = Protego.parse("\n".join(_line(line, agent.lower()) for line in lines))
    delay = parsed.crawl_delay(agent) or 0.0
    return Rules(parsed, agent, min(LONGEST_DELAY_S, delay))


def _line(line: str, agent: str) -> str:
    """Return a line with the names of other crawlers made one: protego copies a group's rules for each crawler it names."""
    plain = line.strip().lower()
    key = next((key for key in _AGENT_LINE if plain.startswith(key)), "")
    said = plain.removeprefix(key).lstrip(": \t")
    if not key or not said or plain[len(key)] not in ": \t":
        return line
    name = "".join(takewhile(lambda sign: "a" <= sign <= "z" or sign in "_-", said)) or said[0]
    return f"User-agent: {name if name in (agent, '*') else 'another'}"


ALLOW_ALL = parse_robots(b"", "*")


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
        rules, why, place = ALLOW_ALL, "", site_of(url) + "/robots.txt"
        try:
            for _ in range(REDIRECTS + 1):
                reply = await self._http.send(Call(host_of(place), "GET", place, self._headers, deadline_s=_DEADLINE_S), _judge)
                if not 300 <= reply.status < 400 or "location" not in reply.headers:
                    rules = parse_robots(reply.body, self._agent) if reply.status == 200 else ALLOW_ALL
                    break
                place = redirect_target(place, reply.headers["location"])
        except (ServiceUnavailable, ServiceFailed, ReadFailed) as error:
            why = f"the site's robots.txt cannot be read, so none of its pages may be ({error.message})"
        self._rules_by_site[site_of(url)] = _CachedRules(rules, self._clock() + (_HOUR_S if why else _DAY_S), why)

    def check(self, url: str) -> float:
        """Return the pause in seconds that the site asks for. Call ``fetch_rules`` first.

        Raises:
            ReadFailed: ``url`` must not be read.
        """
        cached = self._rules_by_site[site_of(url)]
        if cached.why or not cached.rules.allow(url):
            raise ReadFailed(cached.why or "its robots.txt forbids reading it")
        return cached.rules.delay_s


def _judge(reply: Reply) -> Verdict:
    if reply.status == 429 or reply.status >= 500:
        return Again(f"status {reply.status}")
    return Good()


MOST_PAGES = 5_000


class PageCache:
    """Keeps at most ``MOST_PAGES`` pages in ``folder``, one file each; ``redact`` removes API keys from what is written.

    No method raises an error: a page that cannot be cached is fetched again.
    """

    def __init__(self, folder: Path, redact: Callable[[bytes], bytes] = lambda data: data) -> None:
        self._folder, self._redact = folder, redact

    def get(self, url: str) -> tuple[Page, dict[str, str]] | None:
        """Return the cached page of ``url`` and the headers of a conditional request for it, or None."""
        try:
            found = json.loads(gzip.decompress(read_bytes(self._path(url))))
            page = found["page"] | {name: tuple(found["page"].get(name, ())) for name in ("notices", "sheets")}
            return Page(**page), dict(found["conditions"])
        except (OSError, EOFError, ValueError, TypeError, KeyError):
            return None

    def put(self, url: str, page: Page, sent: Mapping[str, str]) -> None:
        """Store a page if the headers ``sent`` with it have what it can be asked for with; of too many, delete the oldest."""
        asked = (("if-none-match", sent.get("etag", "")), ("if-modified-since", sent.get("last-modified", "")))
        conditions = {name: value for name, value in asked if value.isascii() and value.isprintable() and 0 < len(value) <= 200}
        if not conditions or "no-store" in sent.get("cache-control", "").lower():
            return
        kept = json.dumps({"page": asdict(page), "conditions": conditions}).encode("ascii")
        data = gzip.compress(self._redact(kept), mtime=0)
        with suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            write(self._path(url), data, mode=0o600)
            with os.scandir(self._folder) as entries:
                files = [(entry.stat().st_mtime, entry.path) for entry in entries]
            for _, path in sorted(files)[: max(0, len(files) - MOST_PAGES)]:
                Path(path).unlink()

    def _path(self, url: str) -> Path:
        # The versions are part of the key because another version may extract other text.
        return self._folder / f"{digest_of(f'{__version__} {VERSION} {url}'.encode('utf-8', 'replace'))}.json.gz"


AGENT = "night-research"
REDIRECTS = 5
_REDIRECTING = frozenset((301, 302, 303, 307, 308))
_ACCEPT = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"
# Manuals of several versions send from their first page to the newest one in this way; without it such a page is empty.
_REFRESH = re.compile(
    rb"""<meta[^>]{0,100}http-equiv\s{0,5}=\s{0,5}["']?refresh["']?[^>]{0,100}content\s{0,5}=\s{0,5}["']\s{0,5}[0-5]\s{0,5};"""
    rb"""\s{0,5}url\s{0,5}=\s{0,5}["']?([^"'>]{1,2000})""",
    re.IGNORECASE,
)
_REFRESH_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """Limits for reading one page. ``max_bytes`` caps the body as sent and as unpacked; times are in seconds.

    ``exchange_s`` bounds one request with its reply; after ``page_s`` no further redirect is followed; ``pause_s`` is the
    minimum time between two requests to one host. ``at_once`` bounds the pages being fetched from all hosts, without those
    that wait for their host.
    """

    max_bytes: int = 15_000_000
    exchange_s: float = 30.0
    page_s: float = 90.0
    pause_s: float = 1.0
    at_once: int = 8


class WebFetch:
    """Reads pages. ``contact`` is added to the user agent, for the sites' owners; ``cache`` keeps pages between nights.

    Belongs to one event loop. The owner of the HTTP client and of the extractor closes them.
    """

    def __init__(
        self,
        http: HttpClient,
        extractor: Extractor,
        *,
        contact: str = "",
        cache: PageCache | None = None,
        limits: ReadingLimits | None = None,
        pace: SharedPace | None = None,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._extractor = extractor
        self._cache = cache
        self._limits = limits or ReadingLimits()
        self._clock, self._pace = clock, pace
        agent = f"{AGENT}/{__version__}" + (f" (+{contact})" if contact else "")
        self._headers = {"user-agent": agent, "accept": _ACCEPT}
        self._robots = RobotsCache(http, AGENT, {"user-agent": agent}, clock)
        self._sleep = sleep
        self._turns: dict[str, asyncio.Lock] = {}
        self._ended: dict[str, float] = {}
        self._slots = asyncio.Semaphore(self._limits.at_once)

    async def read(self, url: str) -> Page:
        """Return the page at ``url``; its ``url`` is the address after all redirects.

        Raises:
            ReadFailed: the page cannot be read, must not be read, or holds no text.
        """
        began, target = self._clock(), requested(url)
        try:
            for _ in range(REDIRECTS + 1):
                found = await self._fetch_once(target)
                if isinstance(found, Page):
                    return found
                if self._clock() - began > self._limits.page_s:
                    raise ReadFailed(f"its redirects took longer than {self._limits.page_s:g} s")
                target = found
        except (ServiceUnavailable, ServiceFailed) as error:
            raise ReadFailed(error.message, hint=error.hint) from error
        raise ReadFailed(f"it redirects more than {REDIRECTS} times")

    async def _fetch_once(self, url: str) -> Page | str:
        """Wait for the host's turn and request ``url`` if its site allows it; return the page or the redirect's target."""
        self._http.check(url)
        host, limits = host_of(url), self._limits
        if not self._robots.has_rules(url):
            async with self._turn(host), self._slots:
                await self._robots.fetch_rules(url)
        async with self._turn(host, self._robots.check(url)), self._slots:
            known, conditions = (self._cache.get(url) if self._cache is not None else None) or (None, {})
            headers = self._headers | conditions
            call = Call(host, "GET", url, headers, max_bytes=limits.max_bytes, deadline_s=limits.exchange_s, gap_s=limits.pause_s)
            reply = await self._http.send(call, judge_page)
            if reply.status == 304 and known is not None:
                return known
            return _redirect(url, reply) or await self._page(url, reply)

    @asynccontextmanager
    async def _turn(self, host: str, pause_s: float = 0.0) -> AsyncIterator[None]:
        """Wait for the host's turn and its pause (the longer of ``pause_s`` and the usual one), and hold the turn."""
        async with self._turns.setdefault(host, asyncio.Lock()):
            wait = self._ended.get(host, -math.inf) + max(self._limits.pause_s, pause_s) - self._clock()
            if wait > 0:
                await self._sleep(wait)
            if self._pace is not None:
                await self._pace.turn(f"host {host}", self._limits.exchange_s)
            try:
                yield
            finally:
                self._ended[host] = self._clock()
                if self._pace is not None:
                    await self._pace.rest(f"host {host}", max(self._limits.pause_s, pause_s))

    async def _page(self, url: str, reply: Reply) -> Page:
        page = await self._extractor.document(reply.body, reply.headers.get("content-type", ""), url)
        tags = usage_notices("robots", reply.headers.get("x-robots-tag", ""))
        tags += usage_notices("tdm-reservation", reply.headers.get("tdm-reservation", ""))
        page = replace(page, notices=tuple(dict.fromkeys((*tags, *page.notices))))
        if self._cache is not None:
            self._cache.put(url, page, reply.headers)
        return page


def judge_page(reply: Reply) -> Verdict:
    """Return the verdict on a page's reply. No status is ``Refused``, as a server that refuses one page may serve others."""
    if reply.status in (200, 203, 304) or reply.status in _REDIRECTING:
        return Good()
    if reply.status in (408, 425, 429) or reply.status >= 500:
        return Again(f"it answered with status {reply.status}")
    return Failed(_MEANINGS.get(reply.status, f"it answered with status {reply.status}"))


_MEANINGS = {
    401: "it requires a log-in (status 401)",
    402: "it requires payment (status 402)",
    403: "the server refuses access to it (status 403)",
    404: "there is no such page (status 404)",
    410: "the page is gone for good (status 410)",
    451: "the page is blocked for legal reasons (status 451)",
}


def _redirect(url: str, reply: Reply) -> str | None:
    """Return the address that the reply redirects to, by its status or by a meta refresh; None if it is the page."""
    if reply.status in _REDIRECTING:
        if not reply.headers.get("location", "").strip():
            raise ReadFailed("it redirects without naming an address")
        return redirect_target(url, reply.headers["location"])
    result = _REFRESH.search(reply.body[:_REFRESH_BYTES])
    if result is None:
        return None
    target = redirect_target(url, result[1].decode("utf-8", "replace"))
    return target if target != url else None
