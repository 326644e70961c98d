"""Model servers on this machine that ``doctor`` and ``init`` find. Nothing uses one unless it is written in ``queries.yaml``."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.ops.doctor.finding import Finding, note
from pipeline.text.normalise import one_line

PORTS: Mapping[str, int] = MappingProxyType({"Ollama": 11_434, "LM Studio": 1_234, "llama.cpp": 8_080})
_WAIT_S = 0.4
_MOST_BYTES = 1_000_000
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
    found = (LocalServer(name, port, _models_at(port)) for name, port in ports.items())
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


def _models_at(port: int) -> tuple[str, ...]:
    """Return the models that a server on this machine lists; none if there is no server, or one of something else."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_WAIT_S)
    try:
        connection.request("GET", "/v1/models")
        reply = connection.getresponse()
        listed = json.loads(reply.read(_MOST_BYTES)) if reply.status == 200 else {}
    except (OSError, http.client.HTTPException, ValueError, RecursionError):
        return ()
    finally:
        connection.close()
    entries = listed.get("data") if isinstance(listed, dict) else None
    names = (
        [one["id"] for one in entries if isinstance(one, dict) and isinstance(one.get("id"), str)]
        if isinstance(entries, list)
        else []
    )
    return tuple(one_line(name, 100) for name in names if name.strip() and not any(word in name.lower() for word in _NO_CHAT))
