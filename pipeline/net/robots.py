"""The rules of the sites' robots.txt (RFC 9309), fetched once a day and matched by protego; page addresses for requests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import takewhile
from typing import NamedTuple
from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from protego import Protego

from pipeline.errors import ReadFailed, ServiceFailed, ServiceUnavailable
from pipeline.net.calls import Again, Call, Good, Reply, Verdict
from pipeline.net.client import HttpClient

_SAFE = "/?:@!$&'()*+,;=-._~%[]"


def canonical(url: str) -> str:
    """Return ``url`` without fragment, with its host in lower-case ASCII and the rest percent-encoded where needed.

    Raises:
        ReadFailed: the address cannot be parsed. (The guard decides whether it may be read.)
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise ReadFailed("the address is not valid") from None
    path = quote(parts.path.encode("utf-8", "replace"), safe=_SAFE) or "/"
    query = quote(parts.query.encode("utf-8", "replace"), safe=_SAFE)
    return urlunsplit((parts.scheme, host.lower(), path, query, ""))


def redirect_target(base: str, location: str) -> str:
    """Return the canonical target of a redirect from ``base`` to ``location``.

    Raises:
        ReadFailed: the target cannot be parsed.
    """
    try:
        return canonical(urljoin(base, location.strip()))
    except ValueError:
        raise ReadFailed("it redirects to an address that is not valid") from None


def site_of(url: str) -> str:
    """Return scheme, host and port: the scope of one robots.txt."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def host_of(url: str) -> str:
    """Return the host, without port."""
    return urlsplit(url).hostname or ""


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
ALLOW_NOTHING = parse_robots(b"User-agent: *\nDisallow: /", "*")


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
        rules, why, place = ALLOW_ALL, "", site_of(url) + "/robots.txt"
        try:
            for _ in range(REDIRECTS + 1):
                reply = await self._http.send(Call(host_of(place), "GET", place, self._headers, deadline_s=_DEADLINE_S), _judge)
                if not 300 <= reply.status < 400 or "location" not in reply.headers:
                    rules = parse_robots(reply.body, self._agent) if reply.status == 200 else ALLOW_ALL
                    break
                place = redirect_target(place, reply.headers["location"])
        except (ServiceUnavailable, ServiceFailed, ReadFailed) as error:
            rules = ALLOW_NOTHING
            why = f"the site's robots.txt cannot be read, so none of its pages may be ({error.message})"
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


def _judge(reply: Reply) -> Verdict:
    if reply.status == 429 or reply.status >= 500:
        return Again(f"status {reply.status}")
    return Good()
