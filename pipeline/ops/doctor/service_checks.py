"""Checks of the keys, the reasoner, the search providers and the cost limits, without the network."""

from __future__ import annotations

from collections.abc import Iterator
from urllib.parse import urlsplit

from pipeline.config.keys import ENV_FILE, Keys
from pipeline.config.network import pages_route, services_route
from pipeline.config.service_selection import (
    LOCAL,
    OPENAI,
    OPENROUTER,
    SEARCHES,
    ReasonerChoice,
    embedding_server,
    reasoner_for,
    reranking_server,
    search_access,
    searches_for,
)
from pipeline.config.settings import Workspace
from pipeline.config.values import Query, Settings
from pipeline.errors import UsageError
from pipeline.ops.doctor.finding import Finding, note, ok, problem
from pipeline.text.redaction import SHORTEST

KEY_NAMES = (OPENROUTER.key_name, OPENAI.key_name, *(one.key_name for one in SEARCHES.values() if one.key_name))


def service_findings(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    """Yield the findings on keys, reasoner, search providers and queries."""
    queries = workspace.queue.queries
    yield ok("queue", f"queries.yaml is valid: {len(queries)} question{'' if len(queries) == 1 else 's'}")
    yield from _keys(keys)
    yield from _reasoner(workspace, keys)
    yield from _search(workspace, keys)
    yield from _embeddings(workspace, keys)
    yield from _reranker(workspace, keys)
    yield from _proxies(workspace.queue.settings, keys)
    for query in queries:
        yield from _query(query, workspace, keys)


def answers_with_a_model(workspace: Workspace, keys: Keys) -> bool:
    """Return whether a model is set up, or is meant to be; then no other one is looked for."""
    try:
        return reasoner_for(workspace.queue.settings, keys).server is not None
    except UsageError:
        return True


def _keys(keys: Keys) -> Iterator[Finding]:
    for line, fault in keys.faults.items():
        yield problem("keys", f"{ENV_FILE}:{line}: {fault}", "write NAME=value, one on a line")
    for name in KEY_NAMES:
        try:
            found = keys.find(name)
        except UsageError as error:
            yield problem("keys", error.message, error.hint)
            continue
        if found is not None:
            yield ok("keys", f"{name} is set, from {found.source}")
            if len(found.secret.reveal()) < SHORTEST:
                yield note(
                    "keys", f"{name} could be mistaken for ordinary text, it is so short", "it will not be removed from messages"
                )


def _reasoner(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    settings = workspace.queue.settings
    try:
        choice = reasoner_for(settings, keys)
    except UsageError as error:
        yield problem("reasoner", error.message, error.hint)
        return
    at = f" at {choice.server.base_url}" if choice.server else ""
    yield ok("reasoner", f"{choice.name}{at} ({choice.why})")
    if choice.server and choice.server.key and _is_unencrypted(choice.server.base_url):
        yield problem("reasoner", f"the key goes to {choice.server.base_url} unencrypted", "write https:// in base_url")
    yield from _prices(choice, workspace)


def _prices(choice: ReasonerChoice, workspace: Workspace) -> Iterator[Finding]:
    """Only OpenRouter reports costs; for other servers, caps in USD need prices in the settings. One without a key is free."""
    settings, server = workspace.queue.settings, choice.server
    if server is None or server.key is None:
        return
    capped = settings.limits.cost_usd or settings.query_limits.cost_usd
    if capped is None:
        yield note("budget", "no cap in USD is set", "write limits: {cost_usd: 2.00} under settings")
    unpriced = {server.model, *server.choice.fallback, *dict(server.choice.roles).values()} - {
        name for name, _ in settings.prices
    }
    if server.name != OPENROUTER.name and unpriced:
        names = ", ".join(sorted(unpriced))
        yield note(
            "budget", f"no price is known for {names}", "write prices: {model: {input: …, output: …}} under settings, in USD"
        )


def _embeddings(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    """What a hosted model is sent leaves this machine: the finding says where to."""
    settings = workspace.queue.settings
    try:
        server = embedding_server(settings, keys)
    except UsageError as error:
        yield problem("embeddings", error.message, error.hint)
        return
    if server is None:
        yield _local_model(workspace, keys)
        return
    yield ok("embeddings", f"{server.model} at {server.base_url}; the text of your documents and stored pages is sent there")
    if server.key and _is_unencrypted(server.base_url):
        yield problem("embeddings", f"the key goes to {server.base_url} unencrypted", "write https:// in base_url")
    if server.key and server.model not in dict(settings.prices):
        todo = f"write prices: {{{server.model}: {{input: …, output: 0}}}} under settings, in USD for a million tokens"
        yield note("embeddings", f"no price is known for {server.model}, so its cost is an assumption", todo)


def _reranker(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    try:
        server = reranking_server(workspace.queue.settings, keys)
    except UsageError as error:
        yield problem("reranker", error.message, error.hint)
        return
    if server:
        yield ok("reranker", f"{server.model} at {server.base_url}; each search and its 50 best passages are sent there")


def _local_model(workspace: Workspace, keys: Keys) -> Finding:
    from pipeline.search.local_model import files_of, missing_packages
    from pipeline.wiring.embedding_adapters import local_model

    model = local_model(workspace.queue.settings, keys, workspace.folder)
    if model is None:
        missing = missing_packages() if workspace.queue.settings.embeddings == "auto" else ""
        return ok("embeddings", f"documents are searched by words only{f': {missing} is not installed' if missing else ''}")
    try:
        files_of(model)
    except UsageError as error:
        return problem("embeddings", error.message, error.hint)
    return ok("embeddings", f"{model.model} in this process: documents are searched by meaning too, and nothing is sent anywhere")


def _search(workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    from pipeline.wiring.workspace_adapters import documents_in

    settings = workspace.queue.settings
    try:
        choice = searches_for(settings.search, settings, keys, documents_in(workspace))
    except UsageError as error:
        yield problem("search", error.message, error.hint)
        return
    yield ok("search", f"{choice.words} ({choice.why})")
    if settings.search == "auto" and LOCAL in choice.names and len(choice.names) > 1:
        web = ", ".join(name for name in choice.names if name != LOCAL)
        todo = f"to separate them, write search: [{LOCAL}] or search: [{web}], under settings or for single questions"
        yield note("search", "text of your documents can become part of web searches, nearly word for word", todo)
    for name in choice.names:
        access = search_access(name, settings, keys)
        if access and access.key and _is_unencrypted(access.url):
            yield problem("search", f"the key of {name} goes to {access.url} unencrypted", "write https:// in search_urls")
    if not settings.contact and not {"wikipedia", "arxiv", "openalex"}.isdisjoint(choice.names):
        yield note("search", "requests name no contact address", "write contact: you@example.org under settings")


def _proxies(settings: Settings, keys: Keys) -> Iterator[Finding]:
    try:
        services, pages = services_route(settings, keys), pages_route(settings, keys)
    except UsageError as error:
        yield problem("network", error.message, error.hint)
        return
    for proxy in dict.fromkeys(services.proxies.values()):
        whose = "models, searches and pages" if pages.proxies else "models and searches"
        yield ok("network", f"{whose} are asked through the proxy {proxy.place}, from {proxy.source}")
    if services.unused:
        yield note("network", f"models and searches are asked without {services.unused}", "write http://HOST:PORT, or unset it")
    if pages.unused:
        todo = "if pages can be read no other way, write proxy: http://HOST:PORT under settings"
        yield note("network", f"pages are read without {pages.unused}", todo)
    if services.ca_file:
        yield ok("network", f"the authorities in {services.ca_file} vouch for servers too")


def _query(query: Query, workspace: Workspace, keys: Keys) -> Iterator[Finding]:
    settings = workspace.queue.settings
    try:
        if query.model is not None:
            reasoner_for(settings, keys, query.model)
        if query.search is not None:
            searches_for(query.search, settings, keys)
    except UsageError as error:
        yield problem(f"query {query.id}", error.message, error.hint)


def _is_unencrypted(url: str) -> bool:
    parts = urlsplit(url)
    return parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1")
