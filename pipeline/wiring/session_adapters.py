"""Builds the adapters of one session from its config: reasoner, search and fetch.

All sessions of a run share one set of HTTP clients with their circuit breakers, rate limits, the run's budget, and what is known
of the model's server. Belongs to one event loop."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import cached_property

from pipeline.config.keys import Keys
from pipeline.config.network import pages_route, services_route
from pipeline.config.service_selection import (
    LOCAL,
    USUAL_MODELS,
    ModelServer,
    agent_of,
    own_servers,
    reasoner_for,
    requests_at_once,
    search_access,
    secrets_of,
)
from pipeline.config.settings import Workspace
from pipeline.config.values import ModelChoice, Settings
from pipeline.config.workspace_files import source
from pipeline.documents.extraction_process import Extractor
from pipeline.domain.budget import Budget, CombinedBudget, paying
from pipeline.domain.events.stream_events import PassagesEmbedded
from pipeline.domain.state import SessionState, cost_of
from pipeline.domain.values import EXTRACTIVE, Cost, ResearchConfig
from pipeline.errors import CorpusUnusable, SearchFailed, StepError
from pipeline.net.client import SERVICES, HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.net.pages import PageCache, ReadingLimits, WebFetch
from pipeline.ports import EventStore, Fetch, Page, Reasoner, Search
from pipeline.ports.distribution import SharedPace
from pipeline.reasoners.model.calls import Server
from pipeline.reasoners.model.prompts import PromptTemplates
from pipeline.reasoners.model.reasoner import OpenAIReasoner
from pipeline.reasoners.model.roles import Price, Prices, Role, Roles
from pipeline.reasoners.no_model import PassageReasoner
from pipeline.research import StepContext
from pipeline.search.passage_search import IndexReport, PassageSearch
from pipeline.search.providers import web_search
from pipeline.search.several import FallbackChain, Member, MeteredSearch, OwnAndWeb
from pipeline.text.normalise import one_line
from pipeline.text.redaction import Redaction
from pipeline.vault.identity import read_decisions
from pipeline.wiring.search_adapters import ChargedSearch, documents_of, meaning_of, reranker_of
from pipeline.wiring.workspace_adapters import templates_of

PUBLIC_PRICE = (2.0, 10.0)  # USD a million tokens in and out: the worst case of a model whose price nobody named


def http_of(settings: Settings, keys: Keys) -> HttpClient:
    """Return the client for models and providers; what the user named may lie in a private network. Close it when done."""
    return HttpClient(
        SERVICES,
        at_once=settings.limits.concurrency,
        at_once_at=requests_at_once(settings, keys),
        guard=AddressGuard(own_servers(settings, keys)),
        route=services_route(settings, keys),
    )


class Searches:
    """The searches that settings and queries name. Each is made once, so that all queries of a night share its pace and fate.

    Belongs to one event loop; ``documents`` is the search called ``local``.
    """

    def __init__(
        self, settings: Settings, keys: Keys, http: HttpClient, documents: PassageSearch, pace: SharedPace | None = None
    ) -> None:
        self._settings, self._keys, self._http, self._pace = settings, keys, http, pace
        self._members = {"local": Member(documents)}

    def chain(self, names: Iterable[str]) -> FallbackChain:
        """Return the search that asks ``names`` in order of preference.

        Raises:
            UsageError: one of them needs a key or an address which is not set.
        """
        return FallbackChain([self._member(name) for name in names])

    def _member(self, name: str) -> Member:
        if name not in self._members and (access := search_access(name, self._settings, self._keys)):
            headers = {"user-agent": agent_of(self._settings)}
            search = web_search(name, access.url, access.key, self._http, headers, self._pace)
            self._members[name] = Member(search, price=search.price)
        return self._members[name]


@dataclass(frozen=True, slots=True)
class Fetches:
    """Pages of the folder from the folder, all others from the web; ``redact`` takes out the keys that one may hold."""

    documents: Fetch
    web: Fetch
    redact: Callable[[str], str]

    async def read(self, url: str) -> Page:
        """Read the page at ``url``.

        Raises:
            ReadFailed: it cannot be read, or holds no text.
        """
        page = await (self.documents if url.startswith("corpus:") else self.web).read(url)
        return replace(page, text=self.redact(page.text))


@dataclass
class AdapterFactory:
    """Gives each session its step context. Close it at the end of the run.

    ``extractor`` takes the text out of documents and web pages, in place of one that is started when it is needed. ``night`` is
    the night's budget, in place of one of which nothing is spent. The ``pace`` towards hosts and providers is kept with other
    machines.
    """

    workspace: Workspace
    store: EventStore
    keys: Keys
    extractor: Extractor | None = None
    night: Budget | None = None
    pace: SharedPace | None = None
    _closers: list[Callable[[], Awaitable[None]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        settings = self.workspace.queue.settings
        limits = settings.limits
        self._settings: Settings = settings
        self._redaction = Redaction(secrets_of(settings, self.keys))
        self._http = http_of(settings, self.keys)
        self._extractor = self.extractor or Extractor()
        self._meaning = meaning_of(settings, self.keys, lambda: self._http, self.workspace.folder)
        self._reranker = reranker_of(settings, self.keys, lambda: self._http)
        self._documents = documents_of(self.workspace, self._meaning, self._extractor, self._reranker)
        self._closers += [self._http.aclose, self._extractor.aclose]
        self._searches = Searches(settings, self.keys, self._http, self._documents, self.pace)
        self._night = self.night or Budget(limits.cost_usd, limits.tokens, limits.calls, name="night")
        self._models: dict[str, OpenAIReasoner] = {}

    def prepare(self, *, needed: bool) -> IndexReport | None:
        """Bring the index of the documents up to date; None where that cannot be done, which matters only if it is ``needed``.

        Raises:
            CorpusUnusable: there is nothing to search.
            SearchFailed: the index cannot be built.
        """
        try:
            return self._documents.refresh()
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
            async for one in self._documents.embed():
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
        ledger = Budget(config.budget_usd, config.budget_tokens, config.budget_calls, name="query", spent=cost_of(state))
        is_model = config.reasoner != EXTRACTIVE
        return StepContext(
            reasoner=self._model(config.reasoner).for_query((ledger, night)) if is_model else PassageReasoner(),
            search=self._search(state, ledger, night),
            fetch=Fetches(self._documents, self._web, self._redaction.text),
            page_text=lambda digest: self.store.objects.get(digest).decode("utf-8"),
            rated=lambda query_id: read_decisions(self.store).ratings.about(query_id),
        )

    def talk_model(self, model: str, budget_usd: float | None, spent: Cost) -> Reasoner:
        """Return a model for one talk, which may spend ``budget_usd`` in all and has ``spent`` some of it.

        Raises:
            UsageError: the model is not set up.
        """
        return self._model(model).for_query((Budget(budget_usd, name="talk", spent=spent), self._night))

    def memory_model(self, model: str, budget_usd: float | None) -> Reasoner:
        """Return a model for one consolidation, which may spend ``budget_usd``.

        Raises:
            UsageError: the model is not set up.
        """
        return self._model(model).for_query((Budget(budget_usd, name="consolidation"), self._night))

    def may_cost(self, config: ResearchConfig) -> bool:
        """Return whether a session of that config may cost money; the network is not asked.

        Raises:
            UsageError: a model or a provider that it names is not set up.
        """
        server = None if config.reasoner == EXTRACTIVE else self._server(config.reasoner)
        prices = self._prices(server) if server else None
        known = [prices.default, *prices.models.values()] if prices else []
        return any(price.input_usd or price.output_usd for price in known) or self._searches.chain(config.search).price > 0

    def spent_out(self) -> str:
        """Return why the run's budget refused a call, or "" if it never did."""
        return self._night.refusal

    async def aclose(self) -> None:
        """Close connections and the extraction process."""
        for close in reversed(self._closers):
            await close()

    def _search(self, state: SessionState, ledger: Budget, night: Budget) -> Search:
        """The folder and the web are both asked where both are named; only the web's chain is paid for."""
        web = [name for name in state.config.search if name != LOCAL]
        chain = self._searches.chain(web)
        within = state.config.within
        local: Search = FallbackChain([Member(self._documents.inside(within))]) if within else self._searches.chain([LOCAL])
        if self._meaning or self._reranker:
            local = ChargedSearch(local, CombinedBudget((ledger, night)))
        if not web:
            return local
        search: Search = MeteredSearch(chain, chain.price, CombinedBudget((ledger, night))) if chain.price else chain
        return OwnAndWeb(local, search) if LOCAL in state.config.search else search

    def _model(self, model: str) -> OpenAIReasoner:
        if model not in self._models:
            server = self._server(model)
            choice, role = server.choice, Role(server.model, server.choice.fallback)
            if choice.max_tokens:
                role = replace(role, max_tokens=choice.max_tokens)
            self._models[model] = OpenAIReasoner(
                self._http,
                Server(server.name, server.base_url, server.key, server.timeout_s, choice.effort, choice.context or 0),
                Roles.of(role, dict(choice.roles)),
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
        default = Price(*PUBLIC_PRICE) if server.name in USUAL_MODELS or server.key else Price(0.0, 0.0)
        named = {name: Price(price.input_usd, price.output_usd, price.cached_usd) for name, price in self._settings.prices}
        return Prices(default, named)

    @cached_property
    def _web(self) -> WebFetch:
        """Pages have a client of their own: sharing the one that may ask your own servers, a page could redirect into them."""
        settings, policy = self._settings, Policy(attempts=2, call_deadline_s=90, retry_after_cap_s=30)
        http = HttpClient(policy, guard=AddressGuard(settings.page_hosts), route=pages_route(settings, self.keys))
        self._closers.append(http.aclose)
        cache = PageCache(self.workspace.folder / "events" / "local" / "pages", self._redaction.data)
        limits = ReadingLimits(at_once=settings.limits.concurrency)
        return WebFetch(http, self._extractor, contact=settings.contact, cache=cache, limits=limits, pace=self.pace)
