"""Online checks of ``research doctor --online``: one request to the model server and to each search provider in use."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pipeline.config.keys import Keys
from pipeline.config.service_selection import OPENROUTER, ModelServer, reasoner_for, searches_for
from pipeline.config.settings import Workspace
from pipeline.config.values import EmbeddingChoice, Settings
from pipeline.errors import CorpusUnusable, Malformed, ProviderRefused, StepError, UsageError
from pipeline.net.calls import Call, Good, Reply, Verdict, judged_by_status
from pipeline.net.client import HttpClient
from pipeline.ops.doctor.finding import Finding, ok, problem
from pipeline.text.normalise import counted, one_line

PROBE = "history of the bicycle"
_WAIT = "try again later; if the problem stays, check the address and the network"
_MAX_MODELS = 10_000_000  # bytes; a router lists hundreds of models


async def probe(workspace: Workspace, keys: Keys, http: HttpClient) -> AsyncIterator[Finding]:
    """Send one request to each service and yield the findings. A search provider may charge for it (Brave: 0.005 USD)."""
    settings = workspace.queue.settings
    try:
        choice = reasoner_for(settings, keys)
    except UsageError:
        choice = None  # the checks without network report it
    if choice is not None and choice.server is not None:
        yield await _model(choice.server, http)
    if isinstance(settings.embeddings, EmbeddingChoice) and not settings.embeddings.folder:
        async for finding in _embeddings(settings, keys, http):
            yield finding
    for name in _searches(workspace, keys):
        yield await _search(name, workspace, keys, http)


def _searches(workspace: Workspace, keys: Keys) -> list[str]:
    settings = workspace.queue.settings
    names: dict[str, None] = {}
    for wanted in (settings.search, *(query.search for query in workspace.queue.queries)):
        try:
            names |= dict.fromkeys(searches_for(wanted, settings, keys).names if wanted else ())
        except UsageError:
            continue
    return [name for name in names if name != "local"]


async def _model(server: ModelServer, http: HttpClient) -> Finding:
    about = f"model server {server.name}"
    headers = {"authorization": f"Bearer {server.key.reveal()}"} if server.key else {}
    path = "key" if server.name == OPENROUTER.name else "models"
    call = Call(server.name, "GET", f"{server.base_url.rstrip('/')}/{path}", headers, max_bytes=_MAX_MODELS, deadline_s=30.0)
    try:
        reply = await http.send(call, _judged)
    except StepError as error:
        return _failed(about, error)
    data = reply.json_object().get("data")
    return _credit(about, data) if path == "key" else _models(about, data, server)


def _judged(reply: Reply) -> Verdict:
    verdict = judged_by_status(reply)
    if isinstance(verdict, Good) and "data" not in reply.json_object():
        raise Malformed("shape", "the reply is not what such a server sends")
    return verdict


def _credit(about: str, data: Any) -> Finding:
    left = data.get("limit_remaining") if isinstance(data, dict) else None
    if not isinstance(left, int | float):
        return ok(about, "the key is valid")
    if left <= 0:
        return problem(about, "the key is valid, but its limit is used up", "raise the key's limit, or add credit", 4)
    return ok(about, f"the key is valid; {left:.2f} USD are left of its limit")


def _models(about: str, data: Any, server: ModelServer) -> Finding:
    listed = {one.get("id") for one in data if isinstance(one, dict)} if isinstance(data, list) else set()
    if server.model in listed:
        return ok(about, f"it answers, and has {server.model}")
    known = ", ".join(sorted(one_line(str(name), 60) for name in listed)[:8]) or "none"
    return problem(about, f"it answers, but lists no model {server.model}", f"it has: {known}")


async def _search(name: str, workspace: Workspace, keys: Keys, http: HttpClient) -> Finding:
    from pipeline.wiring.workspace_adapters import Searches, documents_of

    searches = Searches(workspace.queue.settings, keys, http, documents_of(workspace))
    try:
        result = await searches.chain((name,)).search(PROBE, 3)
    except (StepError, CorpusUnusable) as error:
        return _failed(f"search {name}", error)
    if not result.hits:
        return problem(f"search {name}", f"it answers, but finds nothing for {PROBE!r}", "check the provider's own settings", 1)
    return ok(f"search {name}", f"it answers, with {counted(len(result.hits), 'hit')}")


async def _embeddings(settings: Settings, keys: Keys, http: HttpClient) -> AsyncIterator[Finding]:
    from pipeline.wiring.embedding_adapters import embedding_client

    try:
        client = embedding_client(settings, keys, http)
    except UsageError:
        return  # the checks without network report it
    assert client is not None  # noqa: S101 - the settings name a model
    try:
        found = await client.embed([PROBE, "bicycle"])
    except StepError as error:
        yield _failed("embeddings", error)
        return
    yield ok("embeddings", f"it answers, and {client.model.model} gives vectors of {len(found.vectors[0])} numbers")


def _failed(about: str, error: StepError | CorpusUnusable) -> Finding:
    todo = _WAIT if "--online" in error.hint else error.hint or _WAIT  # --online is what the user has just run
    return problem(about, error.message, todo, 4 if isinstance(error, ProviderRefused) else 1)
