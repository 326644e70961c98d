"""Model servers on this machine that ``doctor`` and ``init`` find. Nothing uses one unless it is written in ``queries.yaml``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.errors import Malformed, StepError
from pipeline.net.calls import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.ops.doctor.finding import Finding, note
from pipeline.text.normalise import one_line

PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11_434, "LM Studio": 1_234, "llama.cpp": 8_080})
_WAIT_S = 0.5
_NO_CHAT = ("embed", "rerank")  # in the names of models that do not answer


@dataclass(frozen=True, slots=True)
class LocalServer:
    """A server that answers on this machine, by its usual port, and its models."""

    name: str
    port: int
    models: tuple[str, ...]

    @property
    def lines(self) -> tuple[str, str]:
        """The two lines of ``queries.yaml`` with which its first model is used."""
        model = json.dumps(self.models[0], ensure_ascii=False)
        return "settings:", f'  reasoner: {{model: {model}, base_url: "http://localhost:{self.port}/v1"}}'


def local_servers(ports: Mapping[str, int] = PORTS) -> list[LocalServer]:
    """Return the servers that answer on this machine within a moment, and have a model."""
    listed = zip(ports.items(), asyncio.run(_models_of(ports)), strict=True)
    found = (LocalServer(name, port, models) for (name, port), models in listed)
    return [server for server in found if server.models]


def local_findings(ports: Mapping[str, int] = PORTS) -> list[Finding]:
    """Return a note on each server that answers on this machine."""
    return [
        note("reasoner", f"{server.name} answers on this machine, with {_listed(server.models)}", _advice(server))
        for server in local_servers(ports)
    ]


def _advice(server: LocalServer) -> str:
    return "to have it answer, write in queries.yaml:" + "".join(f"\n             {line}" for line in server.lines)


def _listed(models: tuple[str, ...]) -> str:
    return ", ".join(models[:5]) + (f" and {len(models) - 5} more" if len(models) > 5 else "")


async def _models_of(ports: Mapping[str, int]) -> list[tuple[str, ...]]:
    """Return the models that the servers at those ports list; none where there is no server, or one of something else."""
    http = HttpClient(Policy(attempts=1), guard=AddressGuard([f"http://127.0.0.1:{port}" for port in ports.values()]))
    try:
        return await asyncio.gather(*(_models_at(port, http) for port in ports.values()))
    finally:
        await http.aclose()


async def _models_at(port: int, http: HttpClient) -> tuple[str, ...]:
    url = f"http://127.0.0.1:{port}/v1/models"
    try:
        listed = (
            await http.send(Call(str(port), "GET", url, deadline_s=_WAIT_S, total_s=_WAIT_S), judged_by_status)
        ).json_object()
    except (StepError, Malformed):
        return ()
    entries = listed.get("data")
    names = [one.get("id") for one in entries if isinstance(one, dict)] if isinstance(entries, list) else []
    named = (one_line(name, 100) for name in names if isinstance(name, str))
    return tuple(name for name in named if name and not any(word in name.lower() for word in _NO_CHAT))
