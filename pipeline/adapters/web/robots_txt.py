"""The rules of a robots.txt (RFC 9309) for one crawler, without I/O. Parsed and matched by protego."""

from __future__ import annotations

import re
from dataclasses import dataclass

from protego import Protego

MAX_BYTES = 512_000  # at least 500 KiB have to be read
LONGEST_DELAY_S = 10.0
_AGENT_LINE = re.compile(r"\s*user[- ]?agent[\s:]+([^#]*)", re.IGNORECASE)
_TOKEN = re.compile(r"[a-zA-Z_-]+")


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
    found = _AGENT_LINE.match(line)
    if found is None:
        return line
    token = _TOKEN.match(found[1])
    name = token[0].lower() if token else "*" if found[1].startswith("*") else ""
    return f"User-agent: {name if name in (agent, '*') else 'another'}"


ALLOW_ALL = parse_robots(b"", "*")
ALLOW_NOTHING = parse_robots(b"User-agent: *\nDisallow: /", "*")
