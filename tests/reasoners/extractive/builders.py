"""Small facts, pages and perspectives that the tests of this folder are built from."""

from __future__ import annotations

from pipeline.text import digest_of
from pipeline.values import Fact, Perspective


def fact(claim: str, url: str = "corpus:a.md", *, relevance: float = 0.5, heading: str = "", question: str = "") -> Fact:
    name = digest_of(f"{claim}{url}".encode())[:12]
    return Fact(
        id=name, claim=claim, quote=claim, url=url, digest="0" * 64, heading=heading, question=question, relevance=relevance
    )


def view(*questions: str, name: str = "basic-facts", keywords: tuple[str, ...] = ()) -> Perspective:
    return Perspective(id=name, name=name.replace("-", " ").capitalize(), focus="", questions=questions, keywords=keywords)


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
