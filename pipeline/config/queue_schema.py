"""The content of ``queries.yaml`` as frozen values, whose annotations say how each field is read: queue, queries and settings."""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import time, timedelta
from typing import Annotated, Literal
from unicodedata import category

from yaml import Node

from pipeline.config import yaml_to_dataclasses as y
from pipeline.config.keys import SEARCHES, usable_store
from pipeline.domain.budget import Caps
from pipeline.errors import UsageError
from pipeline.text.times import is_zone

MAX_CHARACTERS = 1_000
FOREVER = timedelta.max
_ID_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-")


def _is_address(said: str) -> bool:
    return said.startswith(("http://", "https://")) and said.partition("://")[2][:1] not in ("", "/") and " " not in said


def _is_contact(said: str) -> bool:
    return said.isascii() and 2 < len(said) <= 200 and not set(" ()") & set(said)


def _is_within(said: str) -> bool:
    return not said.startswith("/") and ".." not in said.split("/")


def _is_tag(said: str) -> bool:
    """As Obsidian takes it: letters with their marks, digits, - and /."""
    return any(map(str.isalpha, said)) and all(sign in "-_/" or category(sign)[0] in "LMN" for sign in said)


def _is_source(said: str) -> bool:
    return not any(sign in said for sign in ("://", "*")) and ("/" in said or ("." in said and " " not in said.strip()))


_address = y.text_that(_is_address, "{} is no web address", "start it with https:// or http://")
_contact = y.text_that(_is_contact, "{} is no address", "write an e-mail address or a page: you@example.org")
_within = y.text_that(_is_within, "{} is no folder of your documents", "write a folder of settings: corpus, or one in it: notes/")
tag = y.text_that(_is_tag, "{} is no tag", "use letters, digits, - and /, with one letter at least")
_source = y.text_that(_is_source, "{} is no host and no folder", "write a host: example.org, or a folder or document: notes/")
_sources = y.listing(_source, "write a list of hosts and folders: [example.org, notes/]")
_proxy = y.text_that(
    lambda said: _is_address(said) and "@" not in said,
    "a proxy is a web address without user and password",
    "write http://HOST:PORT, and a password in HTTPS_PROXY",
)
_key_name = y.text_that(
    lambda said: said.isascii() and said.isupper() and said.isidentifier() and 2 < len(said) < 62,
    "key takes the name of an environment variable, never a key itself",
    "write the variable's name, such as MY_SERVER_API_KEY, and set it in the environment or in .env",
)
_zone = y.text_that(is_zone, "{} is no time zone that is known here", "write its name, as Europe/Berlin, or UTC or +02:00")


def _path(node: Node) -> str:
    return os.path.expanduser(y.text(node))  # noqa: PTH111 - where there is no such user, it leaves the text as it is


_share = y.number(0, 1, "a number from 0 to 1, such as 0.35")
_price = y.number(0, 999_999_999, "an amount in USD, such as 0.25 or 0")
_prices = y.pairs(lambda node: y.record(Price, node))
_SEARCH_WANTED = "write search: auto, or a list: [local]"
_search = y.either(y.choice("auto", wanted=_SEARCH_WANTED), y.listing(y.choice("local", *SEARCHES), _SEARCH_WANTED, some=True))
_EMBEDDINGS_WANTED = "write embeddings: auto, off, {folder: …} or {model: …, base_url: …}"
_folders = y.either(lambda node: (_path(node),), y.listing(_path, "write a folder, or a list: [corpus, ../papers]", some=True))


def _searxng_url(node: Node) -> str:
    y.notice("searxng_url")
    return str(_address(node))


def _age(node: Node) -> timedelta:
    return FOREVER if node.value == "forever" else y.duration(node)


def _store(node: Node) -> str:
    try:
        return usable_store(y.text(node, "write files, or postgresql://ROLE@HOST/DATABASE"))
    except UsageError as error:
        raise y.fault_at(node, error.message, error.hint) from None


def _roles(node: Node) -> tuple[tuple[str, str], ...]:
    named = dict(y.pairs(y.text, ("plan", "read", "write", "check", "work"))(node))
    if older := named.pop("work", ""):  # as an earlier version called it
        y.notice("work")
        named.setdefault("read", older)
    return tuple(named.items())


def _embedding_model(node: Node) -> EmbeddingChoice:
    found = y.record(EmbeddingChoice, node)
    if bool(found.model) == bool(found.folder):
        raise y.fault_at(node, "embeddings need a folder, or a model on a server, and not both", _EMBEDDINGS_WANTED)
    return found


_reasoner = y.either(y.choice("auto", "extractive"), lambda node: y.record(ModelChoice, node))
_embeddings = y.either(y.choice("auto", "off", wanted=_EMBEDDINGS_WANTED), _embedding_model)


_WANTED = "write a question"


def question(node: Node) -> str:
    """Read a question: words to search for, on one line."""
    found = y.text(node, _WANTED)
    if fault := question_fault(found):
        raise y.fault_at(node, *fault)
    return found


def question_fault(said: str) -> tuple[str, str] | None:
    """Return why nothing can be searched for with a question, and what to do; None if it can."""
    if not any(map(str.isalnum, said)):
        return f"{y.shown(said)} has no letter and no digit: there is nothing to search for", _WANTED
    if len(said) > MAX_CHARACTERS:
        return f"a question of {len(said):,} characters", f"shorten it to {MAX_CHARACTERS:,}"
    return None


def _is_id(said: str) -> bool:
    return set(said) <= _ID_SIGNS and said[0] != "-" and len(said) <= 48


_id = y.text_that(_is_id, "{} is no id", "write at most 48 of a-z, 0-9 and -, such as eu-batteries")


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """The caps of each query that does not name its own; None is no cap."""

    cost_usd: float | None = None
    timeout: timedelta | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one night; None is no cap. ``deadline`` is local time of day."""

    cost_usd: float | None = None
    tokens: int | None = None
    calls: int | None = None
    deadline: time | None = None
    concurrency: Annotated[int, y.whole(1, 100)] = 8
    max_failures: Annotated[int, y.whole(1, 10_000)] = 5

    @property
    def caps(self) -> Caps:
        """Those on what is spent."""
        return Caps(self.cost_usd, self.tokens, self.calls)


@dataclass(frozen=True, slots=True)
class Price:
    """The price of a model, in USD for a million tokens; ``cached_usd``: input that its server takes from a cache.

    Without it such input costs ``input_usd``.
    """

    input_usd: Annotated[float, _price, "input"]
    output_usd: Annotated[float, _price, "output"]
    cached_usd: Annotated[float | None, _price, "cached"] = None

    def usd(self, input_tokens: int, output_tokens: int, cached_tokens: int = 0) -> float:
        """Return the price in US dollars. ``cached_tokens`` are part of ``input_tokens``."""
        cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
        sent_usd = (input_tokens - cached_tokens) * self.input_usd + cached_tokens * cached_usd
        return (sent_usd + output_tokens * self.output_usd) / 1_000_000


@dataclass(frozen=True, slots=True)
class ModelChoice:
    """A language model to answer the questions. ``roles`` pairs a role with the model that plays it, under its name of today.

    ``key`` is the name of the variable that holds the server's key, "" for the one that belongs to its address. ``timeout`` is
    the longest wait for a reply, ``max_tokens`` its room, ``effort`` how much the model is to think, ``context`` its context in
    tokens, ``concurrency`` the most requests at the same time; what is None or "" was not set.
    """

    model: str
    base_url: Annotated[str, _address] = ""
    key: Annotated[str, _key_name] = ""
    fallback: tuple[str, ...] = ()
    roles: Annotated[tuple[tuple[str, str], ...], _roles] = ()
    timeout: timedelta | None = None
    max_tokens: Annotated[int | None, y.whole(500, 1_000_000)] = None
    effort: Annotated[str, y.choice("none", "minimal", "low", "medium", "high", "xhigh", "max")] = ""
    context: Annotated[int | None, y.whole(2_000, 20_000_000)] = None
    concurrency: Annotated[int | None, y.whole(1, 100)] = None


@dataclass(frozen=True, slots=True)
class RerankerChoice:
    """A model on a server that orders the best passages; ``key`` and ``base_url`` as in ``ModelChoice``.

    ``floor`` is the least score of a passage near its question, None if not known.
    """

    model: str
    base_url: Annotated[str, _address] = ""
    key: Annotated[str, _key_name] = ""
    floor: Annotated[float | None, _share] = None


@dataclass(frozen=True, slots=True)
class EmbeddingChoice(RerankerChoice):
    """A model that turns texts into vectors, for the search by meaning; its ``floor`` is the least cosine.

    The prefixes are what the model wants before a query and before a passage. ``folder`` holds a model that runs in this process;
    ``model`` is then its name.
    """

    model: str = ""
    query_prefix: str = ""
    passage_prefix: str = ""
    folder: Annotated[str, _path] = ""


@dataclass(frozen=True, slots=True)
class Keep:
    """How long exchanges, pages and the logs of sessions are kept, counted from the session's end."""

    exchanges: Annotated[timedelta, _age] = timedelta(days=30)
    pages: Annotated[timedelta, _age] = FOREVER
    sessions: Annotated[timedelta, _age] = FOREVER


@dataclass(frozen=True, slots=True)
class Notify:
    """Where the digest of a night is posted: a topic of ntfy, any other webhook; "" for neither."""

    ntfy: Annotated[str, _address] = ""
    webhook: Annotated[str, _address] = ""


@dataclass(frozen=True, slots=True)
class Sources:
    """Which sources may be read: hosts, which stand for their subdomains too, and folders or documents, which have a ``/``."""

    allow: Annotated[tuple[str, ...], _sources] = ()
    deny: Annotated[tuple[str, ...], _sources] = ()


@dataclass(frozen=True, slots=True)
class Enqueueing:
    """Whether other programs may queue questions, through ``research mcp``, and their cap.

    Each may cost 0.25 USD a session, all of them together ``cost_usd``.
    """

    enqueue: bool = False
    cost_usd: float = 1.0


@dataclass(frozen=True, slots=True)
class Settings:
    """The ``settings`` section. ``corpus``: folders relative to the workspace. Both it and ``search`` in order of preference.

    ``prices`` pairs a model with its price, ``search_urls`` a search provider with the address it is asked at (``searxng_url``:
    in older files). ``contact``, an address or a page, is sent to all servers that are asked. ``page_hosts`` are the only
    addresses on this machine or in a private network whose pages may be read. ``site_url`` is the address of the published site,
    "" if it is not published. ``proxy``: all requests go through it; "": those to models and searches go through that of the
    environment. ``ca_file``: authorities that vouch for servers beside the usual ones. ``memory``: whether a run recalls earlier
    sessions, and consolidates those that ended; ``model``: with the model of the settings too. ``keep``: how long ``research
    forget --by-settings`` keeps what. ``timezone`` is that of the night's noon, "" for this computer's. ``store`` is the address
    of the database that holds the log; "": it is in files. ``objects`` is where pages are kept beside the database.
    ``embeddings``: the model of the search by meaning; ``auto``: the one that is installed, if any; ``off``: documents are
    searched by words alone. ``vault_queue``: whether the questions in the vault are researched too. ``notify``: where a night's
    digest is posted.
    """

    reasoner: Annotated[Literal["auto", "extractive"] | ModelChoice, _reasoner] = "auto"
    search: Annotated[Literal["auto"] | tuple[str, ...], _search] = "auto"
    corpus: Annotated[tuple[str, ...], _folders] = ("corpus",)
    embeddings: Annotated[Literal["auto", "off"] | EmbeddingChoice, _embeddings] = "auto"
    reranker: RerankerChoice | None = None
    limits: Limits = Limits()
    query_limits: QueryLimits = QueryLimits()
    prices: Annotated[tuple[tuple[str, Price], ...], _prices] = ()
    searxng_url: Annotated[str, _searxng_url] = ""
    search_urls: Annotated[tuple[tuple[str, str], ...], y.pairs(_address, [*SEARCHES])] = ()
    page_hosts: Annotated[tuple[str, ...], y.listing(_address, "write a list of addresses: [http://wiki.intranet]")] = ()
    contact: Annotated[str, _contact] = ""
    site_url: Annotated[str, _address] = ""
    proxy: Annotated[str, _proxy] = ""
    ca_file: Annotated[str, _path] = ""
    memory: Literal["on", "off", "model"] = "on"
    keep: Keep = Keep()
    notify: Notify = Notify()
    sources: Sources = Sources()
    beyond: bool = False
    vault_queue: Literal["read", "ignore"] = "read"
    timezone: Annotated[str, _zone] = ""
    store: Annotated[str, _store] = ""
    objects: str = ""
    mcp: Enqueueing = Enqueueing()


@dataclass(frozen=True, slots=True)
class Query:
    """One entry of the queue. ``None`` means: not said, the settings or defaults decide.

    ``text`` is one line: runs of white space are one space. ``line`` counts from 1. A higher ``priority`` comes first.
    ``beyond``: a model may add what it knows itself, marked as that.
    ``machine``: only its runs take the query up; "": those of any. ``within``: the only folder of the documents that is searched.
    ``same_as`` is the id of an entry that asks the same: that one is researched, this one is not. ``file``: the note of the vault
    that asks it, relative to the workspace; "" for ``queries.yaml``.
    """

    text: Annotated[str, question, "query"]
    id: Annotated[str, _id]
    line: Annotated[int, None]
    mode: Literal["fast", "deep"] = "deep"
    every: timedelta | None = None
    tags: Annotated[tuple[str, ...], y.listing(tag, "write a list: [policy, batteries]")] = ()
    priority: Annotated[int, y.whole(-1_000, 1_000)] = 0
    machine: str = ""
    perspectives: Annotated[int | None, y.whole(1, 20)] = None
    iterations: Annotated[int | None, y.whole(1, 20)] = None
    gap_rounds: Annotated[int | None, y.whole(0, 10)] = None
    budget_usd: float | None = None
    timeout: timedelta | None = None
    search: Annotated[Literal["auto"] | tuple[str, ...] | None, _search] = None
    model: str | None = None
    approve: Literal["plan"] | None = None
    within: Annotated[str, _within, "in"] = ""
    sources: Sources = Sources()
    beyond: bool | None = None
    same_as: Annotated[str, None] = ""
    file: Annotated[str, None] = ""


@dataclass(frozen=True, slots=True)
class Queue:
    """The whole file, and the vault's questions. ``queries`` are in the file's order; ``digest`` is the SHA-256 of its bytes.

    ``left_out`` says which questions of the vault, and in a run which folders of documents, cannot be read, and why.
    """

    settings: Settings = Settings()
    queries: tuple[Query, ...] = ()
    digest: str = ""
    left_out: tuple[str, ...] = ()
