"""The content of ``queries.yaml`` as frozen values: queue, queries, settings and limits."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import time, timedelta
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # the queue's ids are completed in a shell, and what else values need takes longer to import than that
    from pipeline.domain.values import Mode


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one night; None is no cap. ``deadline`` is local time of day, ``timeout`` counts from the start.

    ``tokens``, ``calls`` (requests to a model), ``concurrency`` and ``max_failures`` are counts.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    timeout: timedelta | None = None
    deadline: time | None = None
    concurrency: int = 8
    max_failures: int = 5


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The caps of each query that does not name its own; None is no cap. Counts as in ``Limits``.

    ``context_tokens`` is what a worker's context may hold before it is condensed; None is the default.
    """

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    timeout: timedelta | None = None
    context_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in USD for a million tokens; ``cached_usd``: input that its server takes from a cache."""

    input_usd: float
    output_usd: float
    cached_usd: float | None = None


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A language model to answer the questions. ``roles`` pairs a role with the model that plays it, under its name of today.

    ``key`` is the name of the variable that holds the server's key, "" for the one that belongs to its address. ``timeout`` is
    the longest wait for a reply, ``max_tokens`` its room, ``effort`` how much the model is to think, ``context`` its context in
    tokens, ``concurrency`` the most requests at the same time; what is None or "" was not set.
    """

    model: str
    base_url: str = ""
    key: str = ""
    fallback: tuple[str, ...] = ()
    roles: tuple[tuple[str, str], ...] = ()
    timeout: timedelta | None = None
    max_tokens: int | None = None
    effort: str = ""
    context: int | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class EmbeddingChoice:
    """A model that turns texts into vectors, for the search by meaning.

    ``key``, ``base_url`` and ``concurrency`` as in ``ModelChoice``. ``dimensions`` is the length that is asked for; None is the
    model's own. The prefixes are what the model wants before a query and before a passage. ``folder`` holds a model that runs in
    this process; ``model`` is then its name. ``floor`` is the least cosine of a passage near its question, None if not known.
    """

    model: str = ""
    base_url: str = ""
    key: str = ""
    dimensions: int | None = None
    query_prefix: str = ""
    passage_prefix: str = ""
    concurrency: int | None = None
    folder: str = ""
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """A model on a server that orders the best passages; ``key`` and ``floor`` as in ``EmbeddingChoice``."""

    model: str
    base_url: str = ""
    key: str = ""
    floor: float | None = None


FOREVER = timedelta.max


@dataclass(frozen=True, slots=True)
class Keep:
    """How long exchanges, pages and the logs of sessions are kept, counted from the session's end.

    ``originals`` are those of imports, counted from the import.
    """

    exchanges: timedelta = timedelta(days=30)
    pages: timedelta = FOREVER
    sessions: timedelta = FOREVER
    originals: timedelta = FOREVER


@dataclass(frozen=True, slots=True)
class Enqueueing:
    """Whether other programs may queue questions, through ``research mcp``, and their caps.

    ``questions`` is how many may stand in the file. Each may cost ``each_usd`` a session, all of them together ``cost_usd``.
    """

    enqueue: bool = False
    questions: int = 20
    each_usd: float = 0.25
    cost_usd: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The ``settings`` section. ``corpus``: folders relative to the workspace. Both it and ``search`` in order of preference.

    ``prices`` pairs a model with its price, ``search_urls`` a search provider with the address it is asked at. ``contact``, an
    address or a page, is sent to all servers that are asked. ``page_hosts`` are the only addresses on this machine or
    in a private network whose pages may be read. ``site_url`` is the address of the published site, "" if it is not published.
    ``proxy``: all requests go through it; "": those to models and searches go through that of the environment. ``ca_file``:
    authorities that vouch for servers beside the usual ones.
    ``memory``: whether a run recalls earlier sessions, and consolidates those that ended; ``model``: with the model of the
    settings too. ``keep``: how long ``research forget --by-settings``
    keeps what. ``machine`` is this computer's name in the log, unless the environment names it; "": its host name. ``timezone``
    is that of the night's noon, "" for this computer's. ``store`` is
    the address of the database that holds the log; "": it is in files. ``embeddings``: the model of the search by meaning;
    ``auto``: the one that is installed, if any; ``off``: documents are searched by words alone. ``workers`` have ``notes`` in
    the vault, or are ``folded`` into their session's.
    ``vault_queue``: whether the questions in the vault are researched too.
    """

    reasoner: Literal["auto", "extractive"] | ModelChoice = "auto"
    search: Literal["auto"] | tuple[str, ...] = "auto"
    corpus: tuple[str, ...] = ("corpus",)
    embeddings: Literal["auto", "off"] | EmbeddingChoice = "auto"
    reranker: RerankerChoice | None = None
    limits: Limits = Limits()
    query_limits: QueryLimits = QueryLimits()
    prices: tuple[tuple[str, Price], ...] = ()
    searxng_url: str = ""
    search_urls: tuple[tuple[str, str], ...] = ()
    page_hosts: tuple[str, ...] = ()
    contact: str = ""
    site_url: str = ""
    proxy: str = ""
    ca_file: str = ""
    memory: Literal["on", "off", "model"] = "on"
    keep: Keep = Keep()
    workers: Literal["notes", "folded"] = "notes"
    vault_queue: Literal["read", "ignore"] = "read"
    snapshot_every: int = 20
    machine: str = ""
    timezone: str = ""
    store: str = ""
    mcp: Enqueueing = Enqueueing()


@dataclass(frozen=True, slots=True)
class Query:
    """One entry of the queue. ``None`` means: not said, the settings or defaults decide.

    ``text`` is one line: runs of white space are one space. ``line`` counts from 1. A higher ``priority`` comes first.
    ``machine``: only its runs take the query up; "": those of any. ``within``: the only folder of the documents that is searched.
    ``same_as`` is the id of an entry that asks the same: that one is researched, this one is not. ``file``: the note of the vault
    that asks it, relative to the workspace; "" for ``queries.yaml``.
    """

    text: str
    id: str
    line: int
    mode: Mode = "deep"
    every: timedelta | None = None
    tags: tuple[str, ...] = ()
    priority: int = 0
    machine: str = ""
    max_workers: int | None = None
    perspectives: int | None = None
    iterations: int | None = None
    gap_rounds: int | None = None
    context_tokens: int | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    budget_calls: int | None = None
    timeout: timedelta | None = None
    search: Literal["auto"] | tuple[str, ...] | None = None
    model: str | None = None
    approve: Literal["plan"] | None = None
    within: str = ""
    same_as: str = ""
    file: str = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole file, and the vault's questions. ``queries`` are in the file's order; ``digest`` is the SHA-256 of its bytes.

    ``left_out`` says which questions of the vault cannot be read, and why.
    """

    settings: Settings = Settings()
    queries: tuple[Query, ...] = ()
    digest: str = ""
    left_out: tuple[str, ...] = ()
