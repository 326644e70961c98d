"""``research doctor``: a list of checks of settings, keys, services, documents, log and clock. Findings are values.

``examine`` runs all that need no network; it prints and changes nothing. ``probe`` is for ``--online``: one request to each
service in use. ``local_findings`` are the model servers on this machine; nothing uses one unless ``queries.yaml`` names it.
"""

from __future__ import annotations

import asyncio
import json
import stat
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from types import MappingProxyType
from typing import Any, Literal
from urllib.parse import urlsplit

from pipeline.batch.session_index import read_all
from pipeline.config import services
from pipeline.config.keys import ENV_FILE, SEARCHES, Keys
from pipeline.config.queue_schema import EmbeddingChoice, RerankerChoice
from pipeline.config.workspace_settings import Workspace, store_address
from pipeline.errors import CorpusUnusable, ExitCode, LogError, Malformed, ProviderRefused, ResearchError, StepError, UsageError
from pipeline.net.calls_and_replies import Call, Good, Reply, Verdict, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.search.corpus_files import Corpus
from pipeline.search.embedding_servers import EmbeddingClient, Reranker
from pipeline.search.local_embedder import files_of, missing_packages
from pipeline.text.cleaning import one_line
from pipeline.text.humanize import counted
from pipeline.text.times import moment_of
from pipeline.wiring import corpus_status, store_adapters
from pipeline.wiring.session_adapters import client_of, documents_of, web_search_of

_KEY_NAMES = (
    services.OPENROUTER.key_name,
    services.OPENAI.key_name,
    *(one.key_name for one in SEARCHES.values() if one.key_name),
)
_SLACK = timedelta(minutes=5)
_EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
_MOST_APART_S = 5.0  # events of several machines are ordered by their clocks wherever one list shows them all
_ROLES = "research store init --print-roles prints the SQL that grants what is needed"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """``ok`` needs no action, a ``note`` is worth knowing, a ``problem`` must be fixed: ``todo`` says how.

    ``exit_code`` is the command's exit code for a problem.
    """

    about: str
    level: Literal["ok", "note", "problem"]
    text: str
    todo: str = ""
    exit_code: int = ExitCode.DONE


def ok(about: str, text: str) -> CheckResult:
    """Return a finding that needs no action."""
    return CheckResult(about, "ok", text)


def note(about: str, text: str, todo: str = "") -> CheckResult:
    """Return a finding that is worth knowing."""
    return CheckResult(about, "note", text, todo)


def problem(about: str, text: str, todo: str, exit_code: int = ExitCode.USAGE) -> CheckResult:
    """Return a finding that must be fixed."""
    return CheckResult(about, "problem", text, todo, exit_code)


def examine(workspace: Workspace, keys: Keys) -> list[CheckResult]:
    """Run all checks that need no network. An error that a check meets is its finding."""
    queries = workspace.queue.queries
    findings = [ok("queue", f"queries.yaml is valid: {counted(len(queries), 'question')}")]
    for about, check in CHECKS:
        store = next((one for one in findings if one.about == "store"), None)
        if about == "log" and store and store.level == "problem":
            continue
        try:
            findings += check(workspace, keys)
        except ResearchError as error:
            findings.append(problem(about, error.message, error.hint, error.exit_code))
    return findings


def answers_with_a_model(workspace: Workspace, keys: Keys) -> bool:
    """Return whether a model is set up, or is meant to be; then no other one is looked for."""
    try:
        return services.reasoner_for(workspace.queue.settings, keys).server is not None
    except UsageError:
        return True


def _keys(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    for line, fault in keys.faults.items():
        yield problem("keys", f"{ENV_FILE}:{line}: {fault}", "write NAME=value, one on a line")
    files = {workspace.folder / ENV_FILE}
    for name in sorted({*_KEY_NAMES, *keys.names()}):
        try:
            found = keys.find(name)
        except UsageError as error:
            yield problem("keys", error.message, error.hint)
            continue
        if found is not None:
            yield ok("keys", f"{name} is set, from {found.source}")
            files |= {found.path} if found.path else set()
    for path in sorted(path for path in files if path.is_file()):
        mode = stat.S_IMODE(path.stat().st_mode)
        if mode & 0o077:
            yield problem("keys", f"{path} can be read or written by others (mode {mode:03o})", f"chmod 600 {path}")


def _unencrypted(about: str, what: str, url: str, setting: str) -> Iterator[CheckResult]:
    parts = urlsplit(url)
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        yield problem(about, f"{what} goes to {url} unencrypted", f"write https:// in {setting}")


def _reasoner(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    """Only OpenRouter reports costs; for other servers, caps in USD need prices in the settings. One without a key is free."""
    settings = workspace.queue.settings
    choice = services.reasoner_for(settings, keys)
    server = choice.server
    yield ok("reasoner", f"{choice.name}{f' at {server.base_url}' if server else ''} ({choice.why})")
    if server is None or server.key is None:
        return
    yield from _unencrypted("reasoner", "the key", server.base_url, "base_url")
    if (settings.limits.cost_usd or settings.query_limits.cost_usd) is None:
        yield note("budget", "no cap in USD is set", "write limits: {cost_usd: 2.00} under settings")
    named = {server.model, *server.choice.fallback, *dict(server.choice.roles).values()}
    if server.name != services.OPENROUTER.name and (unpriced := named - dict(settings.prices).keys()):
        todo = "write prices: {model: {input: …, output: …}} under settings, in USD"
        yield note("budget", f"no price is known for {', '.join(sorted(unpriced))}", todo)


def _search(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    settings = workspace.queue.settings
    choice = services.searches_for(settings.search, settings, keys, corpus_status.documents_in(workspace))
    yield ok("search", f"{choice.words} ({choice.why})")
    if settings.search == "auto" and services.LOCAL in choice.names and len(choice.names) > 1:
        web = ", ".join(name for name in choice.names if name != services.LOCAL)
        todo = f"to separate them, write search: [{services.LOCAL}] or search: [{web}], under settings or for single questions"
        yield note("search", "text of your documents can become part of web searches, nearly word for word", todo)
    for name in choice.names:
        access = services.search_access(name, settings, keys)
        if access and access[1]:
            yield from _unencrypted("search", f"the key of {name}", access[0], "search_urls")


def _embeddings(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    """What a hosted model is sent leaves this machine: the finding says where to."""
    settings = workspace.queue.settings
    if settings.reranker:
        reranker = services.server_beside(settings.reranker, keys, "reranker")
        yield ok("reranker", f"{reranker.model} at {reranker.base_url}; each search and its 50 best passages are sent there")
    server = services.embedding_server(settings, keys)
    if server is None:
        model = store_adapters.local_model(settings, keys, workspace.folder)
        if model is None:
            missing = missing_packages() if settings.embeddings == "auto" else ""
            yield ok("embeddings", f"documents are searched by words only{f': {missing} is not installed' if missing else ''}")
            return
        files_of(model)
        text = f"{model.model} in this process: documents are searched by meaning too, and nothing is sent anywhere"
        yield ok("embeddings", text)
        return
    yield ok("embeddings", f"{server.model} at {server.base_url}; the text of your documents and stored pages is sent there")
    if server.key:
        yield from _unencrypted("embeddings", "the key", server.base_url, "base_url")
        if server.model not in dict(settings.prices):
            todo = f"write prices: {{{server.model}: {{input: …, output: 0}}}} under settings, in USD for a million tokens"
            yield note("embeddings", f"no price is known for {server.model}, so its cost is an assumption", todo)


def _network(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    servers, pages = (services.route_of(workspace.queue.settings, keys, to_pages=of_pages) for of_pages in (False, True))
    for proxy in dict.fromkeys(servers.proxies.values()):
        whose = "models, searches and pages" if pages.proxies else "models and searches"
        yield ok("network", f"{whose} are asked through the proxy {proxy.place}, from {proxy.source}")
    if servers.unused:
        yield note("network", f"models and searches are asked without {servers.unused}", "write http://HOST:PORT, or unset it")
    if pages.unused:
        todo = "if pages can be read no other way, write proxy: http://HOST:PORT under settings"
        yield note("network", f"pages are read without {pages.unused}", todo)


def _queries(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    for query in workspace.queue.queries:
        try:
            if query.model is not None:
                services.reasoner_for(workspace.queue.settings, keys, query.model)
            if query.search is not None:
                services.searches_for(query.search, workspace.queue.settings, keys)
            if query.within:
                Corpus(workspace.corpora).prefixes(query.within)
        except UsageError as error:
            yield problem(f"query {query.id}", error.message, error.hint)


def _documents(workspace: Workspace, keys: Keys) -> Iterator[CheckResult]:
    settings = workspace.queue.settings
    try:
        wanted = (
            services.LOCAL in services.searches_for(settings.search, settings, keys, corpus_status.documents_in(workspace)).names
        )
    except UsageError:
        wanted = False
    wanted = wanted or any(services.LOCAL in (query.search or ()) for query in workspace.queue.queries)
    try:
        found, skipped = corpus_status.corpus_files(workspace)
    except CorpusUnusable as error:
        yield problem("documents", error.message, error.hint) if wanted else note("documents", "there is no folder of documents")
        return
    for missing in Corpus(workspace.corpora).unusable().values():
        yield problem("documents", missing.message, missing.hint) if wanted else note("documents", missing.message)
    unusable = corpus_status.unusable_folders(workspace)
    names = ", ".join(name for name in settings.corpus if name not in unusable)
    text = f"{counted(found, 'file')} in {names}" + (f", {skipped} skipped" if skipped else "")
    if wanted and not found:
        yield problem("documents", text, "put documents there, or name another folder under settings: corpus:")
    else:
        yield ok("documents", text + ("" if wanted else "; not searched"))
    if store_adapters.index_file(workspace.folder).is_file():  # what lacks much of its text, as the last refresh found it
        for thin in documents_of(workspace).thin():
            yield note("documents", f"{workspace.document_name(thin.path)}: {thin.reason}")


def _store(workspace: Workspace, _keys: Keys) -> Iterator[CheckResult]:
    if not store_address(workspace.folder):
        return
    store_adapters.require_psycopg()
    from pipeline.wiring import postgres_adapters

    status = postgres_adapters.status_of_store(workspace.folder)
    database, server, role, may_append, may_remove, is_durable, is_copy, ahead_s = status
    unused = sum(1 for _ in store_adapters.file_store(workspace.folder).ids("session"))
    place = f"database {database}, PostgreSQL {server}, as {role}"
    if is_copy:
        yield problem("store", f"{place}: the server is a read-only copy", "name the primary server in `store`", 12)
    elif not may_append:
        yield problem("store", f"{place}: the role may not append", _ROLES, 12)
    else:
        yield ok("store", f"{place}, {'which may also remove' if may_remove else 'which may append only'}")
        if may_remove:
            yield note("store", f"{role} can change and delete events", f"let nights run as a role that cannot: {_ROLES}")
    if not is_durable:
        todo = "set fsync and synchronous_commit to on"
        yield problem("store", "the server acknowledges before it has written: a power cut can lose events", todo, 12)
    if unused:
        todo = f"research store copy {workspace.folder} ADDRESS --check says what the database lacks; then move events/ away"
        yield note("store", f"events/ has {counted(unused, 'session')} in files that are not in use", todo)
    nights = postgres_adapters.nights_of(workspace.folder)
    yield from machine_findings(ahead_s, nights.workers())
    if night := nights.unfinished():
        waiting, running = (sum(counts[place] for counts in nights.queue().values()) for place in (0, 1))
        yield ok("machines", f"the night to {night.day} is not over: {counted(waiting, 'job')} waiting, {running} under way")


def machine_findings(ahead_s: float, workers: Sequence[str]) -> Iterator[CheckResult]:
    """Yield findings on a database's clock, and on the workers that are connected to it."""
    if abs(ahead_s) <= _MOST_APART_S:
        yield ok("machines", "the clocks of this machine and of the database agree")
    else:
        todo = "let both set their clocks by NTP; the times in notes and logs are those of the machine that did the work"
        word = "ahead of" if ahead_s > 0 else "behind"
        yield note("machines", f"the database's clock is {abs(ahead_s):.0f} s {word} this machine's", todo)
    connected = f"workers are connected: {', '.join(sorted(workers))}"
    yield ok("machines", connected if workers else "no worker is connected: research work starts one")


def _log(workspace: Workspace, _keys: Keys) -> Iterator[CheckResult]:
    """Look at all sessions, but at no stored pages: ``research verify`` checks all; and compare the clock with them."""
    try:
        store_adapters.refuse_missing_log(workspace.folder)
    except LogError as error:
        yield problem("log", error.message, error.hint, error.exit_code)
    known = read_all(store_adapters.store_of(workspace.folder), store_adapters.summaries_of(workspace.folder), writable=False)
    for damaged in known.damaged.values():
        yield problem("log", damaged.message, damaged.hint or "research verify lists all damage", damaged.exit_code)
    if not known.damaged:
        yield ok("log", f"{counted(len(known.sessions), 'session')}, none damaged" if known.sessions else "no session yet")
    now, newest = datetime.now(UTC), max((moment_of(one.started_at) for one in known.sessions), default=_EARLIEST)
    if newest > now + _SLACK:
        text = f"it says {now:%Y-%m-%d %H:%M} UTC, but the newest session began at {newest:%Y-%m-%d %H:%M} UTC"
        yield problem("clock", text, "set the clock: deadlines, recurrence and the order of events depend on it", 1)


CHECKS: tuple[tuple[str, Callable[[Workspace, Keys], Iterator[CheckResult]]], ...] = (
    ("keys", _keys),
    ("reasoner", _reasoner),
    ("search", _search),
    ("embeddings", _embeddings),
    ("network", _network),
    ("queue", _queries),
    ("documents", _documents),
    ("store", _store),
    ("log", _log),
)


PROBE = "history of the bicycle"
PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11_434, "LM Studio": 1_234, "llama.cpp": 8_080})
_WAIT = "try again later; if the problem stays, check the address and the network"
_MAX_MODELS = 10_000_000  # bytes; a router lists hundreds of models
_LOCAL_WAIT_S = 0.5
_NO_CHAT = ("embed", "rerank")  # in the names of models that do not answer


async def probe(workspace: Workspace, keys: Keys, http: HttpClient) -> AsyncIterator[CheckResult]:
    """Send one request to each service and yield the findings. A search provider may charge for it (Brave: 0.005 USD).

    What is not set up rightly is left to the checks without network.
    """
    settings = workspace.queue.settings

    async def vectors(choice: EmbeddingChoice) -> CheckResult:
        client = client_of(EmbeddingClient, choice, "embeddings", settings, keys, http)
        found = await client.embed([PROBE, "bicycle"])
        text = f"it answers, and {client.model.model} gives vectors of {len(found.vectors[0])} numbers"
        return ok("embeddings", text)

    async def order(choice: RerankerChoice) -> CheckResult:
        client = client_of(Reranker, choice, "reranker", settings, keys, http)
        await client.scores(PROBE, [PROBE, "bicycle"])
        return ok("reranker", f"it answers, and {client.model.model} gives scores")

    async def hits(name: str) -> CheckResult:
        result = await web_search_of(name, settings, keys, http).search(PROBE, 3)
        if result.hits:
            return ok(f"search {name}", f"it answers, with {counted(len(result.hits), 'hit')}")
        text = f"it answers, but finds nothing for {PROBE!r}"
        return problem(f"search {name}", text, "check the provider's own settings", ExitCode.FAILED)

    asked: dict[str, Callable[[], Awaitable[CheckResult]]] = {}
    with suppress(UsageError):
        if server := services.reasoner_for(settings, keys).server:
            asked[f"model server {server.name}"] = partial(_model, server, http)
    if isinstance(settings.embeddings, EmbeddingChoice) and not settings.embeddings.folder:
        asked["embeddings"] = partial(vectors, settings.embeddings)
    if settings.reranker:
        asked["reranker"] = partial(order, settings.reranker)
    for wanted in (settings.search, *(query.search for query in workspace.queue.queries)):
        with suppress(UsageError):
            names = services.searches_for(wanted, settings, keys).names if wanted else ()
            asked |= {f"search {name}": partial(hits, name) for name in names if name != services.LOCAL}
    for about, ask in asked.items():
        with suppress(UsageError):
            try:
                yield await ask()
            except (StepError, CorpusUnusable) as error:
                todo = error.hint if error.hint and "--online" not in error.hint else _WAIT  # that is what was just run
                yield problem(about, error.message, todo, 4 if isinstance(error, ProviderRefused) else 1)


async def _model(server: services.ModelServer, http: HttpClient) -> CheckResult:
    about = f"model server {server.name}"
    path = "key" if server.name == services.OPENROUTER.name else "models"
    call = Call(
        server.name, "GET", f"{server.base_url.rstrip('/')}/{path}", server.headers, max_bytes=_MAX_MODELS, deadline_s=30.0
    )

    def judged(reply: Reply) -> Verdict:
        verdict = judged_by_status(reply)
        if isinstance(verdict, Good) and "data" not in reply.json_object():
            raise Malformed("shape", "the reply is not what such a server sends")
        return verdict

    data = (await http.send(call, judged)).json_object().get("data")
    if path == "key":
        left = data.get("limit_remaining") if isinstance(data, dict) else None
        if not isinstance(left, int | float):
            return ok(about, "the key is valid")
        if left <= 0:
            spent = "the key is valid, but its limit is used up"
            return problem(about, spent, "raise the key's limit, or add credit", ExitCode.REFUSED)
        return ok(about, f"the key is valid; {left:.2f} USD are left of its limit")
    listed = _ids(data)
    if server.model in listed:
        return ok(about, f"it answers, and has {server.model}")
    known = ", ".join(sorted(one_line(name, 60) for name in listed)[:8]) or "none"
    return problem(about, f"it answers, but lists no model {server.model}", f"it has: {known}")


def _ids(data: Any) -> list[str]:
    """The ids in a list of models; of what is none, no id."""
    entries = [one.get("id") for one in data if isinstance(one, dict)] if isinstance(data, list) else []
    return [name for name in entries if isinstance(name, str)]


def local_findings(ports: Mapping[str, int] = PORTS) -> list[CheckResult]:
    """Return a note on each server that answers on this machine within a moment, with the lines that use its first model."""

    async def models_at(http: HttpClient, port: int) -> list[str]:
        call = Call(str(port), "GET", f"http://127.0.0.1:{port}/v1/models", deadline_s=_LOCAL_WAIT_S, total_s=_LOCAL_WAIT_S)
        try:
            data = (await http.send(call, judged_by_status)).json_object().get("data")
        except (StepError, Malformed):
            return []
        named = (one_line(name, 100) for name in _ids(data))
        return [name for name in named if name and not any(word in name.lower() for word in _NO_CHAT)]

    async def models() -> list[list[str]]:
        guard = AddressGuard([f"http://127.0.0.1:{port}" for port in ports.values()])
        async with aclosing(HttpClient(Policy(attempts=1), guard=guard)) as http:
            return await asyncio.gather(*(models_at(http, port) for port in ports.values()))

    found = []
    for (name, port), listed in zip(ports.items(), asyncio.run(models()), strict=True):
        if listed:
            more = f" and {len(listed) - 5} more" if len(listed) > 5 else ""
            model = json.dumps(listed[0], ensure_ascii=False)
            lines = ("settings:", f'  reasoner: {{model: {model}, base_url: "http://localhost:{port}/v1"}}')
            todo = "to have it answer, write in queries.yaml:" + "".join(f"\n             {line}" for line in lines)
            found.append(note("reasoner", f"{name} answers on this machine, with {', '.join(listed[:5])}{more}", todo))
    return found
