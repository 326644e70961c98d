"""What can be chosen about the server, and the state that its services share."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.standin.charges import Price
from tests.standin.log import Log

LOOPBACK = ("127.0.0.1", "127.0.0.2", "127.0.0.3", "127.0.0.4")
USUAL_PRICE = Price()
MODEL_KINDS = ("honest", "malicious", "garbage", "refusing", "truncating", "prose", "swapped")


@dataclass(frozen=True, kw_only=True)
class Options:
    """How the server behaves.

    ``hosts`` are those that found pages live on: loopback addresses it listens at, or names that the client under test
    resolves to one. ``port`` 0 takes a free one. ``keys`` maps a service (``chat``, ``brave``, ``tavily``, ``openalex``,
    ``semanticscholar``) to the one key it takes; a service without an entry takes any key. ``credit_usd`` is what the chat
    key may spend; ``quotas`` how many requests a service answers in all, ``rates`` how many in a second. ``models`` maps known
    models to prices (None: every model is known); ``down`` are models at capacity. ``strict_max_tokens`` refuses calls
    without ``max_tokens``, whatever the credit. ``poisoned`` puts pages with injected instructions into every search.
    ``listed_formats`` are those SearXNG has switched on. ``latency_s`` is the time from a request to its reply, what the server
    does meanwhile included. ``thinks`` is how many tokens the model needs for its thoughts; ``slots`` how many requests
    it works on at the same time (0: any number), each for ``slot_s`` seconds.
    """

    port: int = 0
    hosts: tuple[str, ...] = LOOPBACK
    seed: int = 0
    model: str = "honest"
    latency_s: float = 0.0
    keys: Mapping[str, str] = field(default_factory=dict)
    credit_usd: float = 100.0
    strict_max_tokens: bool = True
    largest_answer: int = 32_000
    price: Price = USUAL_PRICE
    models: Mapping[str, Price] | None = None
    down: frozenset[str] = frozenset()
    quotas: Mapping[str, int] = field(default_factory=dict)
    rates: Mapping[str, float] = field(default_factory=dict)
    poisoned: bool = False
    listed_formats: tuple[str, ...] = ("html", "json")
    robots: str = "User-agent: *\nDisallow: /private/\nCrawl-delay: 0\n"
    gzip: bool = True
    thinks: int = 0
    slots: int = 0
    slot_s: float = 0.0


@dataclass(slots=True)
class State:
    """What the services share while the server runs; ``revisions`` counts the changes made to a page, by path."""

    options: Options
    log: Log = field(default_factory=Log)
    port: int = 0
    revisions: dict[str, int] = field(default_factory=dict)
    answered: dict[str, int] = field(default_factory=dict)
    recent: dict[str, deque[float]] = field(default_factory=dict)
    secrets: list[str] = field(default_factory=list)

    def base(self, host: int = 0) -> str:
        """Return the base URL of the host of that index."""
        hosts = self.options.hosts
        return f"http://{hosts[host % len(hosts)]}:{self.port}"

    @property
    def credit_left(self) -> int:
        """Nano-dollars that the chat key may still spend."""
        return round(self.options.credit_usd * 1_000_000_000) - self.log.spent_nano_usd

    def over_rate(self, service: str) -> bool:
        """Count a request of a service, and say whether it comes too soon."""
        rate = self.options.rates.get(service)
        if not rate:
            return False
        now, times = time.monotonic(), self.recent.setdefault(service, deque())
        while times and times[0] <= now - 1:
            times.popleft()
        times.append(now)
        return len(times) > rate

    def over_quota(self, service: str) -> bool:
        """Say whether a service has answered all it answers."""
        quota = self.options.quotas.get(service)
        return quota is not None and self.answered.get(service, 0) >= quota

    def count_answer(self, service: str) -> None:
        """Count one request against the quota."""
        self.answered[service] = self.answered.get(service, 0) + 1

    def key_fits(self, service: str, key: str) -> bool:
        """Say whether a service takes this key."""
        return bool(key) and self.options.keys.get(service, key) == key
