"""Web search through one provider, by the port ``Search``: rate limit, retries, canonical addresses, cost; and a reply's parts.

A provider is a small class: the request of a search, where the rows are in the reply, and how a row becomes a hit. A reply of an
unexpected shape is an error, never an empty result.
"""

from __future__ import annotations

import asyncio
import html
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from pipeline.domain.budget import announce_call
from pipeline.domain.values import Cost, Hit
from pipeline.errors import Malformed, SearchFailed, ServiceFailed, ServiceUnavailable
from pipeline.net.calls import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status, loop_time
from pipeline.net.client import HttpClient
from pipeline.ports import SearchResult
from pipeline.ports.distribution import SharedPace
from pipeline.search.addresses import distinct
from pipeline.text.normalise import clean, one_line

T = TypeVar("T")

MAX_BYTES = 2_000_000
LONGEST_PAUSE = 60.0  # seconds
DEADLINE_S = 30.0
_LONGEST_QUERY = 1_000
_LONGEST_TEXT = 4_000
# The tags that result lists mark words with, and no others: without it "<b>" is shown, and with more "vector<int>" is lost.
_TAG = re.compile(
    r"<!--.{0,2000}?-->|</?(?:strong|b|em|i|u|s|a|p|br|wbr|span|sub|sup|mark|small|code|font|(?:mml|jats):[a-z]+)\b[^<>]{0,500}>",
    re.IGNORECASE | re.DOTALL,
)
_DATE = re.compile(r"\d{4}(?:-\d{2}(?:-\d{2})?)?")  # providers add a time of day, or give the year alone
# Where servers put the message of an error: Brave, OpenAI and OpenAlex, Tavily, FastAPI, Semantic Scholar.
_SAID = (
    ("error", "detail"), ("errors", 0, "detail"), ("error", "message"), ("detail", "error"), ("detail", 0, "msg"),
    ("message",), ("error",), ("error", "info"), ("detail",),
)  # fmt: skip


class Provider:
    """The base of all providers. None of them sends or waits.

    ``price`` is the cost of one search in USD if the reply does not state it. ``rows`` is where the reply has its results, and
    ``total`` where it has their number. Replies with a status of ``refused``, or with one of the words ``refusals`` in an error,
    say that no search will pass tonight; ``hint`` says what to do then.
    """

    name = ""
    price = 0.0
    rows: tuple[str, ...] = ()
    total: tuple[str, ...] = ()
    refused: tuple[int, ...] = (401, 402, 403)
    refusals: tuple[str, ...] = ()
    hint = ""

    def call(self, query: str, limit: int) -> Call:
        """Return the request for a search."""
        raise NotImplementedError

    def hit(self, row: Any) -> Hit | None:
        """Return the hit of a row; None if it has no address."""
        raise NotImplementedError

    def judge(self, reply: Reply) -> Verdict:
        """Return the verdict on a reply by its status and errors; raising ``Malformed`` counts as ``Again``."""
        if reply.status == 200:
            return Good()
        try:
            body = reply.json_object()
        except Malformed:
            body = {}
        why = message_in(body) or f"it answered with status {reply.status}"
        words = reply.body.decode("utf-8", "replace")
        if reply.status in self.refused or (body and any(word in words for word in self.refusals)):
            return Refused(why, self.hint)
        if reply.status == 429:
            return Again(why, self.wait_s(reply))
        return Failed(why) if reply.status in (400, 404, 422) else judged_by_status(reply)

    def wait_s(self, reply: Reply) -> float | None:
        """Return how long to wait after a status 429, if the reply says so in a way of its own."""
        return pace_of(reply.headers).pause_s or None

    def hits(self, reply: Reply) -> tuple[Hit, ...]:
        """Return the hits of a reply with the verdict ``Good``, best first.

        Raises:
            Malformed: the reply has another shape, so it is not good after all.
        """
        body = reply.json_object()
        rows = value_at(body, *self.rows)
        if not isinstance(rows, list):
            raise Malformed("shape", f"the reply has no list of results under {'.'.join(self.rows)}")
        return self.checked(rows, value_at(body, *self.total) if self.total else None)

    def checked(self, rows: list[Any], total: object) -> tuple[Hit, ...]:
        """Return the hits of ``rows``. Raises ``Malformed`` if there should be some and are none."""
        found = tuple(made for row in rows if isinstance(row, Mapping) and (made := self.hit(row)) is not None)
        if rows and not found:
            raise Malformed("shape", "not one result in the reply has an address")
        if not found and isinstance(total, int) and total > 0:
            raise Malformed("shape", f"the reply announces {total} results and holds none")
        return found

    def usd(self, reply: Reply) -> float:  # noqa: ARG002 - for providers whose replies state a price
        """Return the cost in USD of a reply with the verdict ``Good``: the usual price, unless the reply states another."""
        return self.price


@dataclass(frozen=True, slots=True)
class Pace:
    """The rate that a reply allows. ``gap_s``: seconds between requests; ``pause_s``: seconds until the next may be sent."""

    gap_s: float = 0.0
    pause_s: float = 0.0


def pace_of(headers: Mapping[str, str]) -> Pace:
    """Return the pace that the ``x-ratelimit-*`` headers allow; a header holds one number per window; others are ignored.

    A spent window that takes longer than ``LONGEST_PAUSE`` to reset is a quota: it gives no pause, and the next reply is judged.
    """

    def numbers(listed: str) -> list[float]:
        parts = [part.strip() for part in listed.split(",")]
        return [float(part) if part.isascii() and part.isdigit() and len(part) < 16 else float("inf") for part in parts if part]

    policy = [part.partition(";w=") for part in headers.get("x-ratelimit-policy", "").split(",")]
    windows = [(*numbers(limit), *numbers(seconds)) for limit, _, seconds in policy]
    left, resets = (numbers(headers.get(f"x-ratelimit-{name}", "")) for name in ("remaining", "reset"))
    spent = [reset for rest, reset in zip(left, resets, strict=False) if rest <= 0 and reset <= LONGEST_PAUSE]
    gaps = [one[1] / one[0] for one in windows if len(one) == 2 and one[0] > 0 and 0 < one[1] <= LONGEST_PAUSE]
    return Pace(max(gaps, default=0.0), max(spent, default=0.0))


class Pacer:
    """Starts the calls of one provider a gap apart, in seconds; with ``one_at_a_time`` each waits for the one before it to end.

    ``shared`` keeps the gap over several machines, under ``name``. Belongs to one event loop.
    """

    def __init__(
        self,
        gap_s: float = 0.0,
        *,
        one_at_a_time: bool = False,
        name: str = "",
        shared: SharedPace | None = None,
        clock: Callable[[], float] = loop_time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.gap_s = gap_s
        self._one_at_a_time, self._name, self._shared = one_at_a_time, name, shared
        self._clock, self._sleep = clock, sleep
        self._lock = asyncio.Lock()
        self._free_at = 0.0

    async def run(self, work: Callable[[], Awaitable[T]]) -> T:
        """Run ``work`` when it is its turn."""
        async with self._lock:
            if (wait := self._free_at - self._clock()) > 0:
                await self._sleep(wait)
            if self._shared is not None and self.gap_s:
                await self._shared.turn(f"provider {self._name}", self.gap_s)
            self._free_at = max(self._free_at, self._clock() + self.gap_s)
            if self._one_at_a_time:
                try:
                    return await work()
                finally:
                    self._free_at = max(self._free_at, self._clock() + self.gap_s)
        return await work()

    def slow_down(self, pace: Pace) -> None:
        """Apply the pace that a reply allows; it never shortens the gap."""
        self.gap_s = max(self.gap_s, pace.gap_s)
        self._free_at = max(self._free_at, self._clock() + pace.pause_s)


class WebSearch:
    """Searches one provider. ``headers`` are sent with every request (``user-agent``)."""

    def __init__(
        self, provider: Provider, http: HttpClient, pacer: Pacer | None = None, headers: Mapping[str, str] | None = None
    ) -> None:
        self._provider, self._http = provider, http
        self._pacer, self._headers = pacer or Pacer(), dict(headers or {})
        self.name, self.price = provider.name, provider.price

    async def search(self, query: str, limit: int) -> SearchResult:
        """Return at most ``limit`` hits, each page once, under its canonical address.

        Raises:
            SearchFailed: the search failed, for now or for good; its ``cost`` is what attempts without a reply may have cost.
            ProviderRefused: key, quota or credit is missing or used up.
        """
        wanted = one_line(query, _LONGEST_QUERY)
        if not wanted:
            raise SearchFailed(f"The query for {self.name} is empty", hint="write a query")
        call = self._provider.call(wanted, limit)
        headers = {**self._headers, **call.headers}
        call = replace(call, headers=headers, max_bytes=MAX_BYTES, deadline_s=DEADLINE_S, gap_s=self._pacer.gap_s)

        async def announced() -> None:
            if self.price:
                await announce_call(_cost(self.price))

        try:
            reply = await self._pacer.run(lambda: self._http.send(call, self._judge, announced))
        except (ServiceUnavailable, ServiceFailed) as error:
            failure = SearchFailed(f"no search at {error.message}", hint=error.hint)
            failure.outage = error.outage
            failure.cost = _cost(error.lost * self.price) if error.lost else None
            raise failure from error
        hits = distinct(self._provider.hits(reply))[:limit]
        return SearchResult(self.name, hits, _cost(self._provider.usd(reply) + reply.lost * self.price))

    def _judge(self, reply: Reply) -> Verdict:
        self._pacer.slow_down(pace_of(reply.headers))
        verdict = self._provider.judge(reply)
        if isinstance(verdict, Good):
            self._provider.hits(reply)
        return verdict


def _cost(usd: float) -> Cost:
    return Cost(usd=round(usd, 9))


def value_at(holder: object, *keys: str | int) -> Any:
    """Return the value at the path ``keys`` of nested objects and lists; None if part of the path is missing."""
    for key in keys:
        if isinstance(key, int):
            holder = holder[key] if isinstance(holder, list) and len(holder) > key else None
        else:
            holder = holder.get(key) if isinstance(holder, Mapping) else None
    return holder


def message_in(body: object) -> str:
    """Return the message of an error reply as one plain line, in the forms that servers use; "" if there is none."""
    return next((said for path in _SAID if (said := one_line(plain(value_at(body, *path)), 200))), "")


def plain(text: object) -> str:
    """Return a title or snippet without markup and with its entities resolved; "" if ``text`` is no string."""
    if not isinstance(text, str):
        return ""
    return " ".join(clean(html.unescape(_TAG.sub("", text[: 5 * _LONGEST_TEXT]))).split())[:_LONGEST_TEXT]


def hit(urls: object, title: object, snippet: object = "", published: object = "") -> Hit | None:
    """Return a hit with plain texts under the first of ``urls`` that is an address; None without one."""
    listed = urls if isinstance(urls, tuple) else (urls,)
    url = next((one for one in listed if isinstance(one, str) and one.strip()), None)
    if url is None:
        return None
    dated = _DATE.match(published) if isinstance(published, str) else None
    return Hit(url=url, title=one_line(plain(title)) or url, snippet=plain(snippet), published=dated[0] if dated else "")
