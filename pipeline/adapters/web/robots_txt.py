"""Parser and matcher for robots.txt (RFC 9309), without I/O."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, urlsplit

MAX_BYTES = 512_000
LONGEST_DELAY_S = 10.0
_MAX_RULES = 5_000
_LINE = re.compile(r"\s*([a-zA-Z-]{1,40})\s*:\s*([^#]*)")
_TOKEN = re.compile(r"[a-zA-Z_-]+")


class _Rule(NamedTuple):
    allows: bool
    pattern: str


@dataclass(frozen=True, slots=True)
class Rules:
    """The rules of one site for one crawler. ``delay_s`` is its Crawl-delay in seconds, at most 10, or 0."""

    rules: tuple[_Rule, ...] = ()
    delay_s: float = 0.0

    def allow(self, url: str) -> bool:
        """Return whether ``url`` may be read: the longest matching pattern decides; of two equally long, the one that allows."""
        parts = urlsplit(url)
        path = _normalised((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        if path == "/robots.txt":
            return True
        matching = [(len(rule.pattern), rule.allows) for rule in self.rules if _matches(rule.pattern, path)]
        return max(matching, default=(0, True))[1]


ALLOW_ALL = Rules()
ALLOW_NOTHING = Rules((_Rule(False, "/"),))


def parse_robots(data: bytes, agent: str) -> Rules:
    """Return the rules of the groups for ``agent`` (a product token in any case), else of those for ``*``.

    Text beyond ``MAX_BYTES`` and lines that cannot be parsed are ignored.
    """
    groups: dict[str, list[tuple[str, str]]] = {}
    named: list[str] = []
    in_rules = False
    for key, value in _lines(data):
        if key == "user-agent":
            named = [*([] if in_rules else named), _token(value)]
            in_rules = False
            groups.setdefault(named[-1], [])
        elif key in ("allow", "disallow", "crawl-delay"):
            in_rules = True
            for name in dict.fromkeys(named):
                groups[name].append((key, value))
    chosen = groups.get(agent.lower(), groups.get("*", []))[:_MAX_RULES]
    rules = tuple(_Rule(key == "allow", _normalised(value)) for key, value in chosen if key != "crawl-delay" and value)
    return Rules(rules, max((_delay(value) for key, value in chosen if key == "crawl-delay"), default=0.0))


def _lines(data: bytes) -> Iterator[tuple[str, str]]:
    for line in re.split(r"\r\n|\r|\n", data[:MAX_BYTES].decode("utf-8-sig", "replace")):
        if found := _LINE.match(line):
            yield found[1].lower(), found[2].strip()


def _token(value: str) -> str:
    found = _TOKEN.match(value)
    return found[0].lower() if found else "*" if value.startswith("*") else ""


def _delay(value: str) -> float:
    return min(LONGEST_DELAY_S, float(value)) if re.fullmatch(r"\d{1,6}(?:\.\d{1,6})?", value) else 0.0


def _normalised(path: str) -> str:
    """Return a path or pattern with normalised percent-encoding; an encoded slash stays distinct from a slash."""
    return quote(unquote_to_bytes(path.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/?&=*$!'();:@+,~-._%")


def _matches(pattern: str, path: str) -> bool:
    """Return whether ``pattern`` matches: ``*`` is any text, a final ``$`` the end. Takes linear time, unlike a regex."""
    anchored = pattern.endswith("$")
    first, *others = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    at = len(first)
    if anchored and others:
        last = others.pop()
        if len(path) - len(last) < at or not path.endswith(last):
            return False
        path = path[: len(path) - len(last)]
    elif anchored:
        return at == len(path)
    for part in others:
        found = path.find(part, at)
        if found < 0:
            return False
        at = found + len(part)
    return True
