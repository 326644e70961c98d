"""robots.txt as RFC 9309 has it: parsing and matching. Pure."""

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
    """What one site allows one crawler. ``delay_s`` is its Crawl-delay, at most 10, or 0."""

    rules: tuple[_Rule, ...] = ()
    delay_s: float = 0.0

    def allow(self, url: str) -> bool:
        """Return whether ``url`` may be read: the longest pattern that fits decides, for reading when two are as long."""
        parts = urlsplit(url)
        path = _normal((parts.path or "/") + (f"?{parts.query}" if parts.query else ""))
        if path == "/robots.txt":
            return True
        fitting = [(len(rule.pattern), rule.allows) for rule in self.rules if _fits(rule.pattern, path)]
        return max(fitting, default=(0, True))[1]


ALLOW_ALL = Rules()
ALLOW_NOTHING = Rules((_Rule(False, "/"),))


def parsed(data: bytes, agent: str) -> Rules:
    """Return the rules of the groups that name ``agent`` (a product token, any case), else of those for ``*``.

    What lies beyond 500 KiB, and what cannot be understood, does not count.
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
    rules = tuple(_Rule(key == "allow", _normal(value)) for key, value in chosen if key != "crawl-delay" and value)
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


def _normal(path: str) -> str:
    """Return a path or pattern with every octet written in one way."""
    return quote(unquote_to_bytes(path.replace("%2F", "%252F").replace("%2f", "%252F")), safe="/?&=*$!'();:@+,~-._%")


def _fits(pattern: str, path: str) -> bool:
    """Match without a regex: ``*`` stands for anything, ``$`` at the end for the end. Linear in pattern times path."""
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
