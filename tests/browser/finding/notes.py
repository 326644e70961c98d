"""Four hundred notes on 64 topics, and what readers ask of them (``topics.yaml``, ``asked.yaml``)."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import yaml

HERE = Path(__file__).parent
NIGHTS = 16


@dataclass(frozen=True)
class Asked:
    """What is typed and chosen on the search page, and the pages that answer it, the best one first."""

    words: str
    filters: Mapping[str, str]
    wanted: tuple[str, ...]
    sort: str
    kept: bool


def topics() -> list[dict[str, Any]]:
    """Return the topics: slug, date, tags, title, five sentences."""
    found: list[dict[str, Any]] = yaml.safe_load((HERE / "topics.yaml").read_text("utf-8"))
    return found


def asked() -> list[Asked]:
    """Return all queries."""
    return [_asked(one) for one in yaml.safe_load((HERE / "asked.yaml").read_text("utf-8"))]


def _asked(one: Mapping[str, Any]) -> Asked:
    filters = {name: one[name] for name in ("kind", "tag", "from", "to") if name in one}
    wanted = tuple(page for place in (one["want"], *one.get("also", ())) for page in _pages(*place.split()))
    return Asked(one["ask"], filters, wanted, one["sort"], bool(one.get("kept")))


def _pages(slug: str, kind: str) -> tuple[str, ...]:
    numbers = ("-1", "-2") if kind in ("worker", "source") else ("",)
    return tuple(f"{kind}s/2026/{slug}{number}.html" for number in numbers)


def write(vault: Path) -> int:
    """Write the notes; return their number."""
    dice, every = random.Random(11), topics()
    notes = dict(one for topic in every for one in _of(topic, [other for other in every if other is not topic], dice))
    notes |= {f"nights/2026-{1 + number // 4:02d}-{1 + number % 4:02d}.md": _night(number, every) for number in range(NIGHTS)}
    for path, text in notes.items():
        (vault / path).parent.mkdir(parents=True, exist_ok=True)
        (vault / path).write_text(text, "utf-8")
    return len(notes)


def _of(topic: Mapping[str, Any], others: list[dict[str, Any]], dice: random.Random) -> Iterator[tuple[str, str]]:
    slug, title, facts = topic["slug"], topic["title"], topic["facts"]

    def stray(count: int) -> list[str]:
        return [dice.choice(other["facts"]) for other in dice.sample(others, count)]

    body = f"> [!abstract] In short\n> {facts[0]}\n\n## What was found\n\n" + "\n\n".join(facts)
    yield _note("report", slug, title, f"{body}\n\n## Beside the question\n\n{stray(1)[0]}", topic)
    lines = "\n".join(f"- {line}" for line in (*facts[:2], *stray(3)))
    yield _note("session", slug, title, f"## Plan\n\nBasic facts, then doubts.\n\n## Timeline\n\n{lines}", topic)
    for number, name in enumerate(("Basic facts", "Doubts"), start=1):
        mine = facts[number - 1 :: 2]
        read = "\n".join(f"> “{line}”\n" for line in (*mine, *stray(2)))
        yield _note("worker", f"{slug}-{number}", f"{name}: {title}", f"Searched for {title}\n\n{read}", topic)
    for number in (1, 2):
        quotes = "\n\n".join(f"> “{line}”" for line in facts[number::2])
        yield _note("source", f"{slug}-{number}", facts[number], f"Read in one session.\n\n{quotes}\n\n{stray(1)[0]}", topic)


def _note(kind: str, name: str, title: str, body: str, topic: Mapping[str, Any]) -> tuple[str, str]:
    tags = [f"research/{kind}", "status/complete", *(f"topic/{tag.replace(' ', '-')}" for tag in topic["tags"])]
    head = f"title: {json.dumps(title)}\nkind: {kind}\ncreated: {topic['date']}T02:15:00\ntags: {json.dumps(tags)}"
    return f"{kind}s/2026/{name}.md", f"---\n{head}\n---\n\n# {title}\n\n{body}\n"


def _night(number: int, every: list[dict[str, Any]]) -> str:
    day = date(2026, 1, 1) + timedelta(days=number)
    lines = "\n".join(f"- {topic['title']}" for topic in every[number * 4 : number * 4 + 4])
    return f"---\ntitle: Night of {day}\nkind: night\ncreated: {day}T02:00:00\ntags: [research/night]\n---\n\n{lines}\n"
