"""Small facts, pages and perspectives that the tests of this folder are built from."""

from __future__ import annotations

from pipeline.adapters.reasoners.extractive.page_findings import observe
from pipeline.domain.reasoner_questions import Finding, Observation, ObservationQuestion
from pipeline.domain.values import Fact, Perspective
from pipeline.research.gathering.quoted_facts import facts_and_rejected
from pipeline.text.normalise import digest_of
from pipeline.text.ranking.passages import passages
from pipeline.text.ranking.term_statistics import TermStatistics


def fact(claim: str, url: str = "corpus:a.md", *, relevance: float = 0.5, heading: str = "", question: str = "") -> Fact:
    name = digest_of(f"{claim}{url}".encode())[:12]
    return Fact(
        id=name, claim=claim, quote=claim, url=url, digest="0" * 64, heading=heading, question=question, relevance=relevance
    )


def view(*questions: str, name: str = "basic-facts", keywords: tuple[str, ...] = ()) -> Perspective:
    return Perspective(id=name, name=name.replace("-", " ").capitalize(), focus="", questions=questions, keywords=keywords)


def asked(query: str, text: str, *, limit: int = 8, known: TermStatistics | None = None) -> ObservationQuestion:
    return ObservationQuestion(
        query=query,
        perspectives=(view(query),),
        url="corpus:a.md",
        title="Append-only logs",
        text=text,
        limit=limit,
        statistics=known or TermStatistics(),
    )


def observed(query: str, text: str, *, limit: int = 8, known: TermStatistics | None = None) -> Observation:
    return observe(asked(query, text, limit=limit, known=known))


def facts_of_page(text: str, url: str = "corpus:a.md") -> tuple[Fact, ...]:
    """All passages of a page as facts, made as a session makes them."""
    question = asked("q", text, limit=1_000).model_copy(update={"url": url})
    findings = tuple(Finding(claim=one.text, quote=one.text, lead=one.lead) for one in passages(text))
    facts, rejected = facts_and_rejected(findings, question, digest_of(text.encode()))
    assert not rejected
    return facts


LOG_PAGE = """# Append-only logs

An append-only log is a file to which records are only ever added at the end.

## Durability {#durability}

A record survives a power cut only after the fsync call has returned. The call takes about 5 milliseconds on a disk.
It is often forgotten. Default five records.

- The checksum tells a torn record from a whole one
- Home
- Copyright 2020 The Authors. All rights reserved.

```
log.append(record)  # A record survives a power cut in this code.
```

## Weather {#weather}

Rain is expected in the northern valleys during the whole of next week.
"""
