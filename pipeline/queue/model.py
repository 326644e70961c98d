"""What ``queries.yaml`` says, as frozen values. Nothing here performs work."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time, timedelta
from typing import Literal

from pipeline.values import Mode


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one night. ``deadline`` is local time of day; ``concurrency`` and ``max_failures`` are counts."""

    cost_usd: float | None = None
    deadline: time | None = None
    concurrency: int = 8
    max_failures: int = 5


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A language model to answer the questions. ``roles`` pairs a role with the model that plays it."""

    model: str
    base_url: str = ""
    fallback: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Settings:
    """The ``settings`` section. ``corpus`` is a folder relative to the workspace; ``search`` is in order of preference."""

    reasoner: Literal["auto", "extractive"] | ModelChoice = "auto"
    search: Literal["auto"] | tuple[str, ...] = "auto"
    corpus: str = "corpus"
    limits: Limits = Limits()
    snapshot_every: int = 20


@dataclass(frozen=True, slots=True)
class Query:
    """One entry of the queue. ``None`` means: not said, the settings or defaults decide.

    ``text`` is one line: runs of white space are one space. ``line`` counts from 1. A higher ``priority`` comes first.
    """

    text: str
    id: str
    line: int
    mode: Mode = "deep"
    every: timedelta | None = None
    tags: tuple[str, ...] = ()
    priority: int = 0
    max_workers: int | None = None
    perspectives: int | None = None
    iterations: int | None = None
    gap_rounds: int | None = None
    budget_usd: float | None = None
    timeout: timedelta | None = None
    search: Literal["auto"] | tuple[str, ...] | None = None
    model: str | None = None
    approve: Literal["plan"] | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole file. ``queries`` stand in the file's order; ``digest`` is the SHA-256 of its bytes."""

    settings: Settings = Settings()
    queries: tuple[Query, ...] = ()
    digest: str = ""
