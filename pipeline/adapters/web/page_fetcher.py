"""Reading pages of the web: the port ``Fetch``. Robots, turns at hosts, redirects, and re-reading only what has changed."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from pipeline import __version__
from pipeline.adapters.documents.page_writer import Document
from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Reply, Verdict
from pipeline.adapters.http.client import HttpClient
from pipeline.adapters.http.clock import loop_time
from pipeline.adapters.web.extraction.extraction_client import Extractor
from pipeline.adapters.web.host_politeness import HostPoliteness
from pipeline.adapters.web.page_address import canonical, host_of, joined
from pipeline.adapters.web.page_cache import CachedPage, PageCache, keepable
from pipeline.adapters.web.robots_cache import RobotsCache
from pipeline.errors import ReadFailed, ServiceFailed, ServiceUnavailable
from pipeline.ports import Page

AGENT = "night-research"
REDIRECTS = 5
_REDIRECTING = frozenset((301, 302, 303, 307, 308))
_ACCEPT = "text/html, application/xhtml+xml, application/pdf;q=0.9, text/plain;q=0.8, text/markdown;q=0.8, */*;q=0.1"
_REFRESH = re.compile(
    rb"""<meta[^>]{0,100}http-equiv\s{0,5}=\s{0,5}["']?refresh["']?[^>]{0,100}content\s{0,5}=\s{0,5}["']\s{0,5}[0-5]\s{0,5};"""
    rb"""\s{0,5}url\s{0,5}=\s{0,5}["']?([^"'>]{1,2000})""",
    re.IGNORECASE,
)
_REFRESH_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class ReadingLimits:
    """What reading one page may cost. Bytes as they come and as they are unpacked; times in seconds.

    ``exchange_s`` bounds one request with its body; ``page_s`` is the time after which no further redirect is followed;
    ``pause_s`` is the least time between two requests to one host. ``at_once`` counts the pages under way, over all hosts: those
    that wait for their turn are not.
    """

    max_bytes: int = 15_000_000
    exchange_s: float = 30.0
    page_s: float = 90.0
    pause_s: float = 1.0
    at_once: int = 8


class WebFetch:
    """Reads pages. ``contact`` goes into the user agent, for the sites' owners; ``kept`` remembers pages between nights.

    Belongs to one event loop; close it when done.
    """

    def __init__(
        self,
        http: HttpClient,
        extractor: Extractor,
        *,
        contact: str = "",
        kept: PageCache | None = None,
        limits: ReadingLimits | None = None,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._http = http
        self._extractor = extractor
        self._kept = kept
        self._limits = limits or ReadingLimits()
        self._clock = clock
        agent = f"{AGENT}/{__version__}" + (f" (+{contact})" if contact else "")
        self._headers = {"user-agent": agent, "accept": _ACCEPT}
        self._sites = RobotsCache(http, AGENT, {"user-agent": agent}, clock)
        self._turns = HostPoliteness(self._limits.pause_s, clock, sleep)
        self._room = asyncio.Semaphore(self._limits.at_once)

    async def read(self, url: str) -> Page:
        """Read the page at ``url``; the page's own address is where the redirects ended.

        Raises:
            ReadFailed: it cannot be read, must not be read, or holds no text.
        """
        try:
            return await self._read(canonical(url))
        except (ServiceUnavailable, ServiceFailed) as error:
            raise ReadFailed(error.message, hint=error.hint) from error

    async def aclose(self) -> None:
        """End the extracting process. The HTTP client is its owner's to close."""
        await self._extractor.aclose()

    async def _read(self, url: str) -> Page:
        began = self._clock()
        for _ in range(REDIRECTS + 1):
            found = await self._step(url)
            if isinstance(found, Page):
                return found
            if self._clock() - began > self._limits.page_s:
                raise ReadFailed(f"its redirects took longer than {self._limits.page_s:g} s")
            url = found
        raise ReadFailed(f"it redirects more than {REDIRECTS} times")

    async def _step(self, url: str) -> Page | str:
        """Ask for ``url`` when its site allows it and it is our turn there; return its page, or the address it leads on to."""
        self._http.check(url)
        host = host_of(url)
        if not self._sites.knows(url):
            async with self._turns.at(host), self._room:
                await self._sites.learn(url)
        async with self._turns.at(host, self._sites.refuse(url)), self._room:
            kept = self._kept.get(url) if self._kept is not None else None
            reply = await self._http.send(self._call(url, kept), judged)
            if reply.status == 304 and kept is not None:
                return kept.page
            return _redirect(url, reply) or await self._page(url, reply)

    def _call(self, url: str, kept: CachedPage | None) -> Call:
        limits = self._limits
        return Call(
            host_of(url),
            "GET",
            url,
            self._headers | (kept.conditions() if kept is not None else {}),
            max_bytes=limits.max_bytes,
            deadline_s=limits.exchange_s,
            gap_s=limits.pause_s,
        )

    async def _page(self, url: str, reply: Reply) -> Page:
        document = await self._extractor.document(reply.body, reply.headers.get("content-type", ""), url)
        page = _page_of(url, document)
        if self._kept is not None and (kept := keepable(page, reply.headers)) is not None:
            self._kept.put(url, kept)
        return page


def judged(reply: Reply) -> Verdict:
    """Judge a page's reply: a server that refuses one page is not one that refuses us."""
    if reply.status in (200, 203, 304) or reply.status in _REDIRECTING:
        return Good()
    if reply.status in (408, 425, 429) or reply.status >= 500:
        return Again(f"it answered with status {reply.status}")
    return Failed(_MEANINGS.get(reply.status, f"it answered with status {reply.status}"))


_MEANINGS = {
    401: "it wants a log-in (status 401)",
    402: "it wants to be paid (status 402)",
    403: "it may not be read (status 403)",
    404: "there is no such page (status 404)",
    410: "the page is gone for good (status 410)",
    451: "the page is blocked for legal reasons (status 451)",
}


def _redirect(url: str, reply: Reply) -> str | None:
    """Return where the reply leads on to, by its status or by the page's own refresh; None when it is the page."""
    if reply.status in _REDIRECTING:
        if not reply.headers.get("location", "").strip():
            raise ReadFailed("it redirects to nowhere")
        return joined(url, reply.headers["location"])
    found = _REFRESH.search(reply.body[:_REFRESH_BYTES])
    if found is None:
        return None
    target = joined(url, found[1].decode("utf-8", "replace"))
    return target if target != url else None


def _page_of(url: str, document: Document) -> Page:
    return Page(url, document.title, document.text, document.media_type, document.author, document.published)
