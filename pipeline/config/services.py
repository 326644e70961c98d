"""The services in use, from settings and keys: reasoner, searches, a session's limits, the way to each. Connects to nothing."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote, urlsplit

from pipeline import __version__
from pipeline.config.keys import DATABASE_PASSWORD, SEARCHES, Keys, Service
from pipeline.config.queue_schema import ModelChoice, Query, RerankerChoice, Settings
from pipeline.errors import UsageError
from pipeline.text.redaction import Secret

if TYPE_CHECKING:
    from pipeline.domain.research_values import ResearchConfig

SETTING = "proxy"
_VARIABLES = {"https": ("HTTPS_PROXY", "ALL_PROXY"), "http": ("HTTP_PROXY", "ALL_PROXY")}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. ``source`` is the setting or variable that names it; ``address`` may hold a user and a password."""

    source: str
    address: str = field(repr=False)

    @property
    def origin(self) -> str:
        """Its address without user and password."""
        return f"{urlsplit(self.address).scheme}://{self.place}"

    @property
    def place(self) -> str:
        """Its host and port, for messages."""
        return urlsplit(self.address).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one client. ``proxies`` are by scheme; ``unused`` says which proxy of the environment is not used, and why.

    ``direct`` are hosts that are asked without a proxy, as in ``NO_PROXY``. ``ca_file`` holds authorities beside the usual ones.
    """

    proxies: Mapping[str, Proxy] = field(default_factory=dict)
    direct: Sequence[str] = ()
    ca_file: str = ""
    unused: str = ""

    def proxy_for(self, url: str) -> Proxy | None:
        """Return the proxy through which an address is asked, or None: this machine is always asked directly."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        direct = host == "localhost" or host.endswith(".localhost")
        with suppress(ValueError):  # a name
            direct = direct or ip_address(host).is_loopback
        if direct or any(_names(entry, host, parts.port) for entry in self.direct):
            return None
        return self.proxies.get(parts.scheme)

    def said(self, url: str) -> str:
        """Return what a message about a failed connection adds: the proxy that was used, or that was not."""
        if proxy := self.proxy_for(url):
            return f" (through the proxy {proxy.place}, from {proxy.source})"
        if self.proxies.get(urlsplit(url).scheme):
            return " (without the proxy: the address is on this machine, or NO_PROXY names it)"
        return f" (without {self.unused})" if self.unused else ""


def route_of(settings: Settings, keys: Keys, *, to_pages: bool = False) -> Route:
    """Return the way to models and search providers: the setting's proxy, else the environment's.

    ``to_pages``: the way to web pages, through a proxy only if the setting names one, since a proxy chooses its own addresses.

    Raises:
        UsageError: the file of authorities cannot be used.
    """
    proxies, unused = _from_environment(keys)
    if settings.proxy:  # with the user and password of the environment's if that is the same one
        place = Proxy(SETTING, settings.proxy).place
        address = next((one.address for one in proxies.values() if one.place == place), settings.proxy)
        proxies, unused = dict.fromkeys(("http", "https"), Proxy(SETTING, address)), ""
    elif to_pages and proxies:
        sources = sorted({one.source for one in proxies.values()})
        proxies, unused = {}, f"the proxy of {' and '.join(sources)}: pages use only the setting `proxy:`"
    direct = tuple(entry.strip().lower() for entry in _value(keys, "NO_PROXY").split(",") if entry.strip())
    ca_file, source = (settings.ca_file, "ca_file") if settings.ca_file else (keys.value("SSL_CERT_FILE"), "SSL_CERT_FILE")
    path = str(keys.folder / ca_file) if ca_file else ""
    try:
        if path:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=path)
    except OSError as error:  # errors of TLS are such too
        message = f"{source}: no certificates can be read from {path}"
        raise UsageError(message, hint="name a PEM file of authorities") from error
    return Route(proxies, direct, path, unused)


def proxy_secrets(keys: Keys) -> tuple[Secret, ...]:
    """Return the passwords of the environment's proxies."""
    names = dict.fromkeys(name for both in _VARIABLES.values() for name in both)
    found = (urlsplit(_value(keys, name)).password for name in names)
    return tuple(Secret(unquote(password)) for password in found if password)


def _from_environment(keys: Keys) -> tuple[dict[str, Proxy], str]:
    """Return the environment's proxies, and what to say of one that is no http proxy: without the network, nothing needs it."""
    found: dict[str, Proxy] = {}
    others = ""
    for scheme, names in _VARIABLES.items():
        source, address = next(((name, value) for name in names if (value := _value(keys, name))), ("", ""))
        if address:
            whole = address if "://" in address else f"http://{address}"
            parts = urlsplit(whole)
            if parts.scheme in _VARIABLES and parts.hostname:
                found[scheme] = Proxy(source, whole)
            else:
                others = f"the proxy of {source}: only http proxies are supported"
    return found, others


def _value(keys: Keys, name: str) -> str:
    return keys.value(name.lower()) or keys.value(name)


def _names(entry: str, host: str, port: int | None) -> bool:
    """Return whether an entry of ``NO_PROXY`` names a host: ``*``, a domain with its subdomains, an address or a network."""
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        name, colon, wanted = entry.partition(":")
        bare = name.removeprefix("*").removeprefix(".")
        return (not colon or wanted == str(port)) and bool(bare) and (host == bare or host.endswith(f".{bare}"))


_SETUP = "set it in the environment or in .env; .env.example lists all names"


OPENROUTER = Service("openrouter", "OPENROUTER_API_KEY", "https://openrouter.ai/api/v1", True)
OPENAI = Service("openai", "OPENAI_API_KEY", "https://api.openai.com/v1", True)
USUAL_MODELS = {OPENROUTER.name: "openai/gpt-5-mini", OPENAI.name: "gpt-5-mini"}
SEARXNG_URL = "SEARXNG_URL"
LOCAL = "local"
TIMEOUT_S = 240.0
LOCAL_TIMEOUT_S = 900.0
_THIS_MACHINE = frozenset({"localhost", "127.0.0.1", "::1", "host.docker.internal"})
# What the folder of documents holds: some of the user's own, only the program's samples, or no document; "": not known.
Documents = Literal["own", "samples", "none", ""]


@dataclass(frozen=True, slots=True)
class ModelServer:
    """A server of models. ``name`` is its circuit's; ``base_url`` ends before ``/chat/completions``.

    ``choice`` has the other settings of the reasoner: fallbacks, roles, timeout, room and effort.
    """

    name: str
    base_url: str
    key: Secret | None = None
    model: str = ""
    choice: ModelChoice = field(default_factory=lambda: ModelChoice(""))

    @property
    def headers(self) -> dict[str, str]:
        """What is sent with each request: the key, if there is one."""
        return {"authorization": f"Bearer {self.key.reveal()}"} if self.key else {}

    @property
    def at_once(self) -> int | None:
        """How many requests it takes at the same time; None if nothing but the run's limit says so.

        A server on this machine or in a private network may have one slot, and a request that waits for it runs out of time.
        """
        host = urlsplit(self.base_url).hostname or ""
        is_private = self.on_this_machine
        with suppress(ValueError):  # a name
            is_private = is_private or ip_address(host).is_private
        return self.choice.concurrency or (1 if is_private else None)

    @property
    def on_this_machine(self) -> bool:
        """Whether it runs here, where a connection that is refused tells a dead server from one that reads a long prompt."""
        return (urlsplit(self.base_url).hostname or "") in _THIS_MACHINE

    @property
    def timeout_s(self) -> float:
        """The longest wait for a reply to begin, in seconds; one that comes in pieces may take four times as long."""
        if self.choice.timeout:
            return self.choice.timeout.total_seconds()
        return LOCAL_TIMEOUT_S if self.on_this_machine else TIMEOUT_S


@dataclass(frozen=True, slots=True)
class ReasonerChoice:
    """Who answers the questions: a server, or None for the extractive engine; and why."""

    server: ModelServer | None
    why: str

    @property
    def name(self) -> str:
        """How a session's config names it."""
        return self.server.model if self.server else "extractive"


@dataclass(frozen=True, slots=True)
class SearchChoice:
    """Who searches, and why: the web's providers in order of preference, and ``local`` beside them."""

    names: tuple[str, ...]
    why: str

    @property
    def words(self) -> str:
        """The names as a person would say them."""
        web = ", then ".join(name for name in self.names if name != LOCAL)
        return " and ".join([*([LOCAL] if LOCAL in self.names else []), *([web] if web else [])])


def reasoner_for(settings: Settings, keys: Keys, model: str | None = None) -> ReasonerChoice:
    """Return who answers; ``model`` is what a query asks for in place of the settings' model.

    Raises:
        UsageError: a model is asked for, but no server, or no key for it; or a key's file cannot be read.
    """
    said = settings.reasoner
    choice = said if isinstance(said, ModelChoice) else None
    if model == "extractive":
        return ReasonerChoice(None, "the question says model: extractive")
    if model is not None:
        choice = replace(choice or ModelChoice(""), model=model, roles=())
    if choice:
        return ReasonerChoice(*_chosen(choice, keys))
    if said == "extractive":
        return ReasonerChoice(None, "queries.yaml says reasoner: extractive")
    found = _public_server(keys)
    if found is None:
        return ReasonerChoice(None, f"neither {OPENROUTER.key_name} nor {OPENAI.key_name} is set")
    service, key = found
    return ReasonerChoice(ModelServer(service.name, service.url, key, USUAL_MODELS[service.name]), f"{service.key_name} is set")


def _chosen(choice: ModelChoice, keys: Keys, what: str = "reasoner") -> tuple[ModelServer, str]:
    """Return the server of a model that the settings name, and why it is that one."""
    if not choice.base_url and not choice.key:
        found = _public_server(keys)
        if found is None:
            hint = f"set {OPENROUTER.key_name} or {OPENAI.key_name}, or write {what}: {{model: …, base_url: …}}"
            raise UsageError(f"queries.yaml names the model {choice.model}, but no server for it", hint=hint)
        service, key = found
        server = ModelServer(service.name, service.url, key, choice.model, choice)
        return server, f"queries.yaml names {choice.model}, and {service.key_name} is set"
    url = choice.base_url or OPENROUTER.url
    own = urlsplit(url).netloc
    public = next((one for one in (OPENROUTER, OPENAI) if urlsplit(one.url).netloc == own and url.startswith("https:")), None)
    key_name = choice.key or (public.key_name if public else "")
    key_found = keys.secret(key_name) if key_name else None
    if key_name and key_found is None:
        raise UsageError(f"{key_name} is not set, which {what}: in queries.yaml needs", hint=_SETUP)
    server = ModelServer(public.name if public else own, url, key_found, choice.model, choice)
    return server, f"queries.yaml names {choice.model} at {own}"


def server_beside(choice: RerankerChoice, keys: Keys, what: str) -> ModelServer:
    """Return the server of the embeddings or of the reranker. Its circuit is its own, apart from a model's there.

    Raises:
        UsageError: it needs a key that is not set, or no server is named and no key for one is set.
    """
    server, _ = _chosen(ModelChoice(choice.model, choice.base_url, choice.key), keys, what)
    return replace(server, name=f"{what} at {urlsplit(server.base_url).netloc}")


def embedding_server(settings: Settings, keys: Keys) -> ModelServer | None:
    """Return the server of the embeddings; None if the settings name none. Raises as ``server_beside``."""
    said = settings.embeddings
    return None if isinstance(said, str) or said.folder else server_beside(said, keys, "embeddings")


def _public_server(keys: Keys) -> tuple[Service, Secret] | None:
    for service in (OPENROUTER, OPENAI):
        if key := keys.secret(service.key_name):
            return service, key
    return None


def searches_for(
    said: Literal["auto"] | tuple[str, ...], settings: Settings, keys: Keys, documents: Documents = ""
) -> SearchChoice:
    """Return who searches when settings or a query say ``said``; ``documents`` is what their folder holds.

    ``auto`` is every general web search that is set up, and the folder if it holds documents of the user's own or nothing else is
    set up.

    Raises:
        UsageError: a provider is named that needs a key or an address which is not set.
    """
    if said != "auto":
        for name in said:
            search_access(name, settings, keys)
        return SearchChoice(said, "queries.yaml says so")
    found = [name for name in ("brave", "tavily") if keys.secret(SEARCHES[name].key_name)]
    found += ["searxng"] if _searxng_url(settings, keys) else []
    if not found:
        return SearchChoice((LOCAL,), f"none of BRAVE_API_KEY, TAVILY_API_KEY and {SEARXNG_URL} is set")
    names = (LOCAL, *found) if documents == "own" else tuple(found)
    return SearchChoice(names, f"what has a key or an address{_ABOUT_DOCUMENTS[documents].format(', '.join(settings.corpus))}")


_ABOUT_DOCUMENTS: dict[Documents, str] = {
    "own": ", and your documents in {}",
    "samples": "; {} holds only the sample documents",
    "none": "; there are no documents in {}",
    "": "",
}


def search_access(name: str, settings: Settings, keys: Keys) -> tuple[str, Secret | None] | None:
    """Return where a provider is asked, and with which key; None for ``local``.

    Raises:
        UsageError: it needs a key or an address which is not set.
    """
    if name == LOCAL:
        return None
    service = SEARCHES[name]
    url = _searxng_url(settings, keys) if name == "searxng" else dict(settings.search_urls).get(name, service.url)
    if not url:
        hint = f"write search_urls: {{searxng: …}} under settings, or set {SEARXNG_URL}"
        raise UsageError(f"search: {name} needs the address of a server", hint=hint)
    key = keys.secret(service.key_name) if service.key_name else None
    if key is None and service.key_needed:
        raise UsageError(f"search: {name} needs {service.key_name}, which is not set", hint=_SETUP)
    return url.rstrip("/"), key


def _searxng_url(settings: Settings, keys: Keys) -> str:
    return dict(settings.search_urls).get("searxng") or settings.searxng_url or keys.value(SEARXNG_URL)


def _named(settings: Settings) -> list[ModelChoice | RerankerChoice]:
    return [one for one in (settings.reasoner, settings.embeddings, settings.reranker) if one and not isinstance(one, str)]


def own_servers(settings: Settings, keys: Keys) -> tuple[str, ...]:
    """Return the addresses that the user named: the only ones that may lie on this machine or in a private network."""
    models = [one.base_url for one in _named(settings)]
    return tuple(filter(None, (*models, _searxng_url(settings, keys), *dict(settings.search_urls).values())))


def requests_at_once(settings: Settings, keys: Keys) -> dict[str, int]:
    """Return how many requests the servers of models take at the same time, by name; without those that take any number."""
    found: list[ModelServer | None] = []
    with suppress(UsageError):  # it is reported where the model is needed
        found.append(reasoner_for(settings, keys).server)
    with suppress(UsageError):
        found.append(embedding_server(settings, keys))
    with suppress(UsageError):
        found.append(server_beside(settings.reranker, keys, "reranker") if settings.reranker else None)
    return {server.name: server.at_once for server in found if server and server.at_once}


def secrets_of(settings: Settings, keys: Keys) -> tuple[Secret, ...]:
    """Return every key that is set, also those that the settings name: what is taken out of all that is written."""
    named = [one.key for one in _named(settings) if one.key]
    return (*keys.secrets(DATABASE_PASSWORD, *named), *proxy_secrets(keys))


def agent_of(settings: Settings) -> str:
    """Return the user agent: who asks, and how to reach whoever runs it."""
    return f"night-research/{__version__}" + (f" (+{settings.contact})" if settings.contact else "")


_FAST = {"perspectives": 1, "iterations": 1}
# Ranking reads a page at no cost, and a report is chosen from many passages; a model is paid for each page.
_EXTRACTIVE = {
    "pages_per_iteration": 12,
    "hits_per_query": 20,
    "survey_hits": 40,
    "reads_survey": True,
    "gap_rounds": 0,
    **_FAST,
}
# The window of a model that nobody sets is what its server says.
_MODEL = {
    "survey_hits": 120,
    "perspectives": 3,
    "iterations": 2,
    "pages_per_iteration": 6,
    "gap_pages": 12,
    "reads_survey": True,
    "context_tokens": 0,
}
_COUNTS = ("perspectives", "iterations", "gap_rounds")


def search_for(query: Query, settings: Settings, keys: Keys, documents: Documents = "") -> SearchChoice:
    """Return who searches for ``query``, and why; ``documents`` is what their folder holds.

    One that names a folder of the documents is searched for there alone, unless it names its searches too.

    Raises:
        UsageError: a provider is named that is not set up.
    """
    usual = (LOCAL,) if query.within else settings.search
    return searches_for(usual if query.search is None else query.search, settings, keys, documents)


def config_for(query: Query, settings: Settings, keys: Keys | None = None, documents: Documents = "") -> ResearchConfig:
    """Return the limits of a session on ``query``: the mode's numbers, unless the query says otherwise; and who answers.

    Without ``keys`` there are none. ``documents`` is what the folder of documents holds.

    Raises:
        UsageError: query or settings name a model or a provider that is not set up.
    """
    from pipeline.domain.research_values import ResearchConfig  # pydantic is slow to import; a run with nothing due needs none

    keys = Keys() if keys is None else keys
    reasoner = reasoner_for(settings, keys, query.model).name
    if reasoner == "extractive":
        values: dict[str, Any] = dict(_EXTRACTIVE)
    else:
        values = _MODEL | (_FAST if query.mode == "fast" else {})
        values |= {name: number for name in _COUNTS if (number := getattr(query, name)) is not None}
    usual = settings.query_limits
    timeout = query.timeout or usual.timeout
    return ResearchConfig(
        mode=query.mode,
        reasoner=reasoner,
        approve=query.approve or "",
        within=query.within,
        allow=query.sources.allow or settings.sources.allow,
        deny=tuple(dict.fromkeys((*settings.sources.deny, *query.sources.deny))),
        beyond=settings.beyond if query.beyond is None else query.beyond,
        search=search_for(query, settings, keys, documents).names,
        budget_usd=usual.cost_usd if query.budget_usd is None else query.budget_usd,
        timeout_s=timeout.total_seconds() if timeout else None,
        **values,
    )
