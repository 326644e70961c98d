"""Builds what sessions and talks work with: reasoner, fetch, and the searches over the web, documents and stored pages.

All sessions of a run share one set of HTTP clients with their circuit breakers, rate limits, the run's budget, and what is known
of the model's server. Belongs to one event loop.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from pipeline.config.keys import Keys
from pipeline.config.queue_schema import EmbeddingChoice, ModelChoice, Price, RerankerChoice, Settings
from pipeline.config.services import (
    LOCAL,
    USUAL_MODELS,
    ModelServer,
    agent_of,
    own_servers,
    reasoner_for,
    requests_at_once,
    route_of,
    search_access,
    secrets_of,
    server_beside,
)
from pipeline.config.workspace_settings import Workspace
from pipeline.config.workspace_starter import source
from pipeline.documents.extractor import Extractor
from pipeline.domain.budget import Budget, Caps, CombinedBudget, paying
from pipeline.domain.events.night_events import PassagesEmbedded
from pipeline.domain.research_values import Cost, ResearchConfig
from pipeline.domain.session_state import SessionState, cost_of
from pipeline.errors import CorpusUnusable, SearchFailed, StepError
from pipeline.net.client import SERVICES, HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.ports import EventStore, Fetch, FoundPassages, Page, Reasoner, Search, SearchResult, SharedPace
from pipeline.research import StepContext
from pipeline.search.combined_searches import FallbackChain, Member, OwnAndWeb
from pipeline.search.local_embedder import LocalEmbedder, files_of
from pipeline.search.passage_search import IndexReport, PassageSearch
from pipeline.search.vectors import Meaning, VectorModel
from pipeline.text.cleaning import one_line
from pipeline.text.redaction import Redaction
from pipeline.vault.identity import read_decisions
from pipeline.vault.read_model import rated_for
from pipeline.wiring.store_adapters import index_file, local_model
from pipeline.wiring.vault_and_site import templates_of

if TYPE_CHECKING:  # only a run with a model, a server of vectors or the web waits for what they need
    from pipeline.net.pages import WebFetch
    from pipeline.reasoners.model.call_costs import Prices
    from pipeline.reasoners.model.reasoner import OpenAIReasoner
    from pipeline.search.embedding_servers import EmbeddingClient, Reranker
    from pipeline.search.providers import WebSearch

C = TypeVar("C", "EmbeddingClient", "Reranker")
WAIT_S = 600.0  # how long a run waits for vectors of passages, some 20,000 on two processors; the next one goes on
PUBLIC_PRICE = (2.0, 10.0)  # USD a million tokens in and out: the worst case of a model whose price nobody named


def http_of(settings: Settings, keys: Keys) -> HttpClient:
    """Return the client for models and providers; what the user named may lie in a private network. Close it when done."""
    return HttpClient(
        SERVICES,
        at_once=settings.limits.concurrency,
        at_once_at=requests_at_once(settings, keys),
        guard=AddressGuard(own_servers(settings, keys)),
        route=route_of(settings, keys),
    )


def web_search_of(name: str, settings: Settings, keys: Keys, http: HttpClient, pace: SharedPace | None = None) -> WebSearch:
    """Return the search of a provider of the web, at the ``pace`` that it is asked by all machines.

    Raises:
        UsageError: it needs a key or an address which is not set.
    """
    from pipeline.search.providers import PROVIDER_BY_NAME, WebSearch

    access = search_access(name, settings, keys)
    assert access is not None  # noqa: S101 - it is no folder of documents
    return WebSearch(PROVIDER_BY_NAME[name](*access), http, {"user-agent": agent_of(settings)}, pace=pace)


@dataclass(frozen=True, slots=True)
class Fetches:
    """Pages of the folder from the folder, all others from the web, which is first asked for then.

    ``redact`` takes out the keys that a page may hold.
    """

    documents: Fetch
    web: Callable[[], Fetch]
    redact: Callable[[str], str]

    async def read(self, url: str) -> Page:
        """Read the page at ``url``.

        Raises:
            ReadFailed: it cannot be read, or holds no text.
        """
        page = await (self.documents if url.startswith("corpus:") else self.web()).read(url)
        return replace(page, text=self.redact(page.text))


@dataclass
class AdapterFactory:
    """Gives each session its step context. Close it at the end of the run.

    ``extractor`` takes the text out of documents and web pages, in place of one that is started when it is needed. ``night`` is
    the night's budget, in place of one of which nothing is spent. The ``pace`` towards hosts and providers is kept with other
    machines. ``wait_s`` is how long searches wait for vectors of passages. ``documents`` is the search over the workspace's own
    documents and over the pages that sessions stored.
    """

    workspace: Workspace
    store: EventStore
    keys: Keys
    extractor: Extractor | None = None
    night: Budget | None = None
    pace: SharedPace | None = None
    wait_s: float = WAIT_S
    _closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.workspace.queue.settings
        self._settings: Settings = settings
        self._redaction = Redaction(secrets_of(settings, self.keys))
        self._http = http_of(settings, self.keys)
        self._extractor = self.extractor or Extractor()
        self._meaning = meaning_of(settings, self.keys, self._http, self.workspace.folder, self.wait_s)
        self._reranker: Reranker | None = None
        if settings.reranker:
            from pipeline.search.embedding_servers import Reranker

            self._reranker = client_of(Reranker, settings.reranker, "reranker", settings, self.keys, self._http)
        self.documents = documents_of(self.workspace, self._meaning, self._extractor, self._reranker, self.store)
        self._closers += [self._http.aclose, self._extractor.aclose]
        self._members = {LOCAL: Member(self.documents)}  # each is made once, so that all of a night share its pace and fate
        self._night = self.night or Budget(settings.limits.caps, name="night")
        self._models: dict[str, OpenAIReasoner] = {}

    def prepare(self, *, needed: bool) -> IndexReport | None:
        """Bring the index of the documents up to date; None where that cannot be done, which matters only if it is ``needed``.

        Raises:
            CorpusUnusable: there is nothing to search.
            IndexRefused: the index cannot be built.
        """
        try:
            return self.documents.refresh()
        except (CorpusUnusable, SearchFailed):
            if needed:
                raise
            return None

    async def embed_documents(self) -> AsyncGenerator[PassagesEmbedded]:
        """Ask for the vectors of the documents' passages that have none, where they are searched by meaning.

        A failure ends it and is the last event: searches then go on by words alone, and each tries again.
        """
        if self._meaning is None:
            return
        model = self._meaning.model
        token = paying.set(CombinedBudget((self._night,)))
        try:
            async for one in self.documents.embed():
                yield PassagesEmbedded(model=model, passages=one.done, left=one.left, tokens=one.tokens, cost=one.cost)
        except (StepError, CorpusUnusable) as error:
            cost = error.cost if isinstance(error, StepError) and error.cost else Cost()
            yield PassagesEmbedded(model=model, passages=0, cost=cost, failed=one_line(error.message, 500))
        finally:
            paying.reset(token)

    def __call__(self, state: SessionState, night: Budget | None = None) -> StepContext:
        """Return what the session's config asks for. ``night`` is the run's budget, in place of the factory's own.

        Raises:
            UsageError: a model or a provider that it names is not set up (any more).
        """
        config, night = state.config, night or self._night
        ledger = Budget(Caps(config.budget_usd), name="query", spent=cost_of(state))
        return StepContext(
            reasoner=self._model(config.reasoner).for_query((ledger, night)) if config.has_model else None,
            search=self._search(state, ledger, night),
            fetch=Fetches(self.documents, lambda: self._web, self._redaction.text),
            page_text=lambda digest: self.store.objects.get(digest).decode("utf-8"),
            rated=lambda query_id: rated_for(self.store, read_decisions(self.store).ratings, query_id),
            nearness=self._meaning.nearness if self._meaning else None,
        )

    def model_for(self, model: str, budget: Budget) -> Reasoner:
        """Return a model for a talk or a consolidation, which may spend what this budget and the night have left.

        Raises:
            UsageError: the model is not set up.
        """
        return self._model(model).for_query((budget, self._night))

    def documents_for(self, budget: Budget) -> Charged:
        """Return the search of the documents and the stored pages, which may spend what this budget and the night have left."""
        return Charged(self.documents, CombinedBudget((budget, self._night)))

    def may_cost(self, config: ResearchConfig) -> bool:
        """Return whether a session of that config may cost money; the network is not asked.

        Raises:
            UsageError: a model or a provider that it names is not set up.
        """
        server = self._server(config.reasoner) if config.has_model else None
        prices = self._prices(server) if server else None
        known = [prices.default, *prices.models.values()] if prices else []
        return any(price.input_usd or price.output_usd for price in known) or self._chain(config.search).price > 0

    def spent_out(self) -> str:
        """Return why the run's budget refused a call, or "" if it never did."""
        return self._night.refusal

    async def aclose(self) -> None:
        """Close connections, the extraction process, and the index of the documents."""
        for close in reversed(self._closers):
            await close()
        self.documents.close()

    def _chain(self, names: Sequence[str]) -> FallbackChain:
        """The search that asks ``names`` in order of preference."""
        for name in names:
            if name not in self._members:
                search = web_search_of(name, self._settings, self.keys, self._http, self.pace)
                self._members[name] = Member(search, price=search.price)
        return FallbackChain([self._members[name] for name in names])

    def _search(self, state: SessionState, ledger: Budget, night: Budget) -> Search:
        """The folder and the web are both asked where both are named; what either costs is charged."""
        web = [name for name in state.config.search if name != LOCAL]
        chain = self._chain(web)
        within = state.config.within
        local: Search = FallbackChain([Member(self.documents.inside(within))]) if within else self._chain([LOCAL])
        search: Search = chain if LOCAL not in state.config.search else OwnAndWeb(local, chain) if web else local
        return Charged(search, CombinedBudget((ledger, night)))

    def _model(self, model: str) -> OpenAIReasoner:
        if model not in self._models:
            from pipeline.reasoners.model.prompts import PromptTemplates
            from pipeline.reasoners.model.reasoner import OpenAIReasoner

            server = self._server(model)
            self._models[model] = OpenAIReasoner(
                self._http,
                server,
                PromptTemplates(templates_of(self.workspace.folder, "prompts"), source() / "templates" / "prompts"),
                self._prices(server),
            )
        return self._models[model]

    def _server(self, model: str) -> ModelServer:
        said = self._settings.reasoner
        usual = said.model if isinstance(said, ModelChoice) else ""
        choice = reasoner_for(self._settings, self.keys, None if model == usual else model)
        assert choice.server is not None  # noqa: S101 - a model was asked for, so there is a server or an error
        return choice.server

    def _prices(self, server: ModelServer) -> Prices:
        from pipeline.reasoners.model.call_costs import Prices

        default = Price(*PUBLIC_PRICE) if server.name in USUAL_MODELS or server.key else Price(0.0, 0.0)
        return Prices(default, dict(self._settings.prices))

    @cached_property
    def _web(self) -> WebFetch:
        """Pages have a client of their own: sharing the one that may ask your own servers, a page could redirect into them."""
        from pipeline.net.pages import PageCache, ReadingLimits, WebFetch

        settings, policy = self._settings, Policy(attempts=2, call_deadline_s=90, retry_after_cap_s=30)
        http = HttpClient(policy, guard=AddressGuard(settings.page_hosts), route=route_of(settings, self.keys, to_pages=True))
        self._closers.append(http.aclose)
        cache = PageCache(self.workspace.folder / "events" / "local" / "pages", self._redaction.data)
        limits = ReadingLimits(at_once=settings.limits.concurrency)
        return WebFetch(http, self._extractor, contact=settings.contact, cache=cache, limits=limits, pace=self.pace)


_AT_ONCE = 4  # requests to a server that is not on this machine
_VECTORS_PRICE = 0.2  # USD a million tokens: the worst case of a model of vectors whose price nobody named


def client_of(make: type[C], choice: RerankerChoice, what: str, settings: Settings, keys: Keys, http: HttpClient) -> C:
    """Return the client of the embeddings or of the reranker, which are ``what`` the settings name.

    Raises:
        UsageError: they name a key that is not set, or no server and no key for one.
    """
    server = server_beside(choice, keys, what)
    prefixes = (choice.query_prefix, choice.passage_prefix) if isinstance(choice, EmbeddingChoice) else ("", "")
    at_once = server.at_once or _AT_ONCE
    asked = VectorModel(server.model, server.name, *prefixes, at_once, choice.floor, server.base_url, server.key)
    price = dict(settings.prices).get(server.model)
    return make(http, asked, price.input_usd if price else None, _VECTORS_PRICE if server.key else 0.0)


def meaning_of(settings: Settings, keys: Keys, http: HttpClient, folder: Path, wait_s: float) -> Meaning | None:
    """Return the search by meaning of the workspace in ``folder``; None for words alone. Raises as ``client_of``.

    ``wait_s`` is how long searches wait for vectors of passages.

    Raises:
        UsageError: the folder of the model holds none, or a package for it is missing.
    """
    if model := local_model(settings, keys, folder):
        files_of(model)
        return Meaning(LocalEmbedder(model), wait_s)
    if isinstance(settings.embeddings, str):
        return None
    from pipeline.search.embedding_servers import EmbeddingClient

    return Meaning(client_of(EmbeddingClient, settings.embeddings, "embeddings", settings, keys, http), wait_s)


@dataclass(frozen=True, slots=True)
class Charged:
    """The searches of ``inner``; what they cost is charged to ``budget``."""

    inner: Any
    budget: CombinedBudget

    async def find(self, question: str, sessions: Sequence[str], limit: int) -> FoundPassages:
        """Find passages of stored pages. Raises as ``inner``."""
        found: FoundPassages = await self._paid(self.inner.find(question, sessions, limit))
        return found

    async def search(self, query: str, limit: int) -> SearchResult:
        """Search, or find passages of the folders. Raises as ``inner``."""
        found: SearchResult = await self._paid(self.inner.search(query, limit))
        return found

    async def read(self, url: str) -> Page:
        """Read a document. Raises as ``inner``."""
        page: Page = await self.inner.read(url)
        return page

    async def _paid(self, work: Awaitable[Any]) -> Any:
        token = paying.set(self.budget)
        try:
            return await work
        finally:
            paying.reset(token)


def documents_of(
    workspace: Workspace,
    meaning: Meaning | None = None,
    extractor: Extractor | None = None,
    reranker: Reranker | None = None,
    store: EventStore | None = None,
) -> PassageSearch:
    """Return the search over the workspace's own documents and, given the ``store``, over the pages that sessions stored."""
    file = index_file(workspace.folder)
    return PassageSearch(file, workspace.corpora, store=store, meaning=meaning, reranker=reranker, extractor=extractor)
