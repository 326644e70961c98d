"""What ``research doctor --online`` asks: one request to each service in use; and the model servers on this machine.

Nothing uses a server on this machine unless it is written in ``queries.yaml``.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from types import MappingProxyType
from typing import Any

from pipeline.config.keys import Keys
from pipeline.config.service_selection import OPENROUTER, ModelServer, reasoner_for, searches_for
from pipeline.config.settings import Workspace
from pipeline.config.values import EmbeddingChoice
from pipeline.errors import CorpusUnusable, Malformed, ProviderRefused, StepError, UsageError
from pipeline.net.calls import Call, Good, Reply, Verdict, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.ops.doctor import Finding, note, ok, problem
from pipeline.text.normalise import counted, one_line
from pipeline.wiring.search_adapters import documents_of, embedding_client
from pipeline.wiring.session_adapters import Searches

PROBE = "history of the bicycle"
PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11_434, "LM Studio": 1_234, "llama.cpp": 8_080})
_WAIT = "try again later; if the problem stays, check the address and the network"
_MAX_MODELS = 10_000_000  # bytes; a router lists hundreds of models
_LOCAL_WAIT_S = 0.5
_NO_CHAT = ("embed", "rerank")  # in the names of models that do not answer


async def probe(workspace: Workspace, keys: Keys, http: HttpClient) -> AsyncIterator[Finding]:
    """Send one request to each service and yield the findings. A search provider may charge for it (Brave: 0.005 USD).

    What is not set up rightly is left to the checks without network.
    """
    settings = workspace.queue.settings
    names: dict[str, None] = {}
    for wanted in (settings.search, *(query.search for query in workspace.queue.queries)):
        try:
            names |= dict.fromkeys(searches_for(wanted, settings, keys).names if wanted else ())
        except UsageError:
            continue
    try:
        choice = reasoner_for(settings, keys)
    except UsageError:
        choice = None
    if choice is not None and choice.server is not None:
        try:
            yield await _model(choice.server, http)
        except StepError as error:
            yield _failed(f"model server {choice.server.name}", error)
    if isinstance(settings.embeddings, EmbeddingChoice) and not settings.embeddings.folder:
        try:
            client = embedding_client(settings, keys, http)
            assert client is not None  # noqa: S101 - the settings name a model
            found = await client.embed([PROBE, "bicycle"])
            yield ok("embeddings", f"it answers, and {client.model.model} gives vectors of {len(found.vectors[0])} numbers")
        except StepError as error:
            yield _failed("embeddings", error)
        except UsageError:
            pass
    for name in names:
        if name == "local":
            continue
        about = f"search {name}"
        try:
            result = await Searches(settings, keys, http, documents_of(workspace)).chain((name,)).search(PROBE, 3)
        except (StepError, CorpusUnusable) as error:
            yield _failed(about, error)
            continue
        if result.hits:
            yield ok(about, f"it answers, with {counted(len(result.hits), 'hit')}")
        else:
            yield problem(about, f"it answers, but finds nothing for {PROBE!r}", "check the provider's own settings", 1)


async def _model(server: ModelServer, http: HttpClient) -> Finding:
    about = f"model server {server.name}"
    headers = {"authorization": f"Bearer {server.key.reveal()}"} if server.key else {}
    path = "key" if server.name == OPENROUTER.name else "models"
    call = Call(server.name, "GET", f"{server.base_url.rstrip('/')}/{path}", headers, max_bytes=_MAX_MODELS, deadline_s=30.0)

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
            return problem(about, "the key is valid, but its limit is used up", "raise the key's limit, or add credit", 4)
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


def _failed(about: str, error: StepError | CorpusUnusable) -> Finding:
    todo = _WAIT if "--online" in error.hint else error.hint or _WAIT  # --online is what the user has just run
    return problem(about, error.message, todo, 4 if isinstance(error, ProviderRefused) else 1)


def local_findings(ports: Mapping[str, int] = PORTS) -> list[Finding]:
    """Return a note on each server that answers on this machine within a moment, with the lines that use its first model."""
    found = []
    for (name, port), models in zip(ports.items(), asyncio.run(_models_of(ports)), strict=True):
        if models:
            more = f" and {len(models) - 5} more" if len(models) > 5 else ""
            model = json.dumps(models[0], ensure_ascii=False)
            lines = ("settings:", f'  reasoner: {{model: {model}, base_url: "http://localhost:{port}/v1"}}')
            todo = "to have it answer, write in queries.yaml:" + "".join(f"\n             {line}" for line in lines)
            found.append(note("reasoner", f"{name} answers on this machine, with {', '.join(models[:5])}{more}", todo))
    return found


async def _models_of(ports: Mapping[str, int]) -> list[list[str]]:
    """Return the models that the servers at those ports list; none where there is no server, or one of something else."""
    http = HttpClient(Policy(attempts=1), guard=AddressGuard([f"http://127.0.0.1:{port}" for port in ports.values()]))

    async def models_at(port: int) -> list[str]:
        call = Call(str(port), "GET", f"http://127.0.0.1:{port}/v1/models", deadline_s=_LOCAL_WAIT_S, total_s=_LOCAL_WAIT_S)
        try:
            data = (await http.send(call, judged_by_status)).json_object().get("data")
        except (StepError, Malformed):
            return []
        named = (one_line(name, 100) for name in _ids(data))
        return [name for name in named if name and not any(word in name.lower() for word in _NO_CHAT)]

    try:
        return await asyncio.gather(*(models_at(port) for port in ports.values()))
    finally:
        await http.aclose()
