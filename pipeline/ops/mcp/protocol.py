"""JSON-RPC 2.0 and the handshake of the Model Context Protocol, without transport: one message in, at most one message out.

The protocol: https://modelcontextprotocol.io/specification/2025-11-25. A client that first asks for ``server/discover``, as newer
ones do, is told that there is no such method, and then begins the handshake.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from pipeline import __version__
from pipeline.errors import ResearchError

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
PARSE_ERROR, INVALID_REQUEST, NO_SUCH_METHOD, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_SUCH_RESOURCE = -32002

_log = logging.getLogger("pipeline.ops.mcp.protocol")
Params = Mapping[str, Any]


class RequestFailed(Exception):
    """A request that cannot be answered: a JSON-RPC error code and a message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class Served(Protocol):
    """What a server offers."""

    def instructions(self) -> str:
        """Return what a model is told about this server."""
        ...

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools, as the protocol lists them."""
        ...

    def call(self, name: str, arguments: Params) -> dict[str, Any]:
        """Call a tool; return its value.

        Raises:
            RequestFailed: there is no such tool, or the arguments do not fit.
            ResearchError: it could not do it; the model is told why.
        """
        ...

    def resources(self) -> list[dict[str, Any]]:
        """Return the resources, as the protocol lists them."""
        ...

    def templates(self) -> list[dict[str, Any]]:
        """Return the forms of resource addresses."""
        ...

    def read(self, uri: str) -> dict[str, Any]:
        """Return a resource's content. Raises: ``RequestFailed``: there is no such resource."""
        ...


def reply_to(line: bytes, served: Served) -> bytes:
    """Return the reply to one message, as one line of JSON; b"" if it needs none (a notification, or a reply to nothing)."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return _encoded(_error(None, PARSE_ERROR, "this is no JSON"))
    if isinstance(message, list) and message:  # a batch, as the protocol had it once
        replies = [reply for one in message if (reply := _reply(one, served))]
        return _encoded(replies) if replies else b""
    reply = _reply(message, served)
    return _encoded(reply) if reply else b""


def _encoded(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def _reply(message: object, served: Served) -> dict[str, Any] | None:
    if not isinstance(message, dict):
        return _unfit(None)
    name, method, params = message.get("id"), message.get("method"), message.get("params") or {}
    if not isinstance(method, str):
        return None if "result" in message or "error" in message else _unfit(name)
    if "id" not in message:
        return None
    if not isinstance(name, str | int) or isinstance(name, bool) or not isinstance(params, dict):
        return _unfit(name if isinstance(name, str | int) else None)
    try:
        return {"jsonrpc": "2.0", "id": name, "result": _result(method, params, served)}
    except RequestFailed as error:
        return _error(name, error.code, str(error))
    except ResearchError as error:
        return _error(name, INTERNAL, _told(error))
    except Exception:  # noqa: BLE001 - one request that fails must not end the server
        _log.exception("%s failed unexpectedly", method)
        return _error(name, INTERNAL, "the server failed unexpectedly; its error output says more")


def _unfit(name: object) -> dict[str, Any]:
    return _error(name, INVALID_REQUEST, "this is no request of JSON-RPC 2.0")


def _error(name: object, code: int, message: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": name, "error": {"code": code, "message": message}}


def _result(method: str, params: Params, served: Served) -> dict[str, Any]:
    simple: dict[str, Callable[[], dict[str, Any]]] = {
        "ping": dict,
        "tools/list": lambda: {"tools": served.tools()},
        "resources/list": lambda: {"resources": served.resources()},
        "resources/templates/list": lambda: {"resourceTemplates": served.templates()},
        "prompts/list": lambda: {"prompts": []},
        "logging/setLevel": dict,
    }
    if method in simple:
        return simple[method]()
    if method == "initialize":
        return _greeting(params, served)
    if method == "resources/read":
        return {"contents": [served.read(_text(params, "uri"))]}
    if method == "tools/call":
        return _called(params, served)
    raise RequestFailed(NO_SUCH_METHOD, f"there is no method {method[:100]!r} here")


def _greeting(params: Params, served: Served) -> dict[str, Any]:
    wanted = params.get("protocolVersion")
    return {
        "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
        "capabilities": {"tools": {}, "resources": {}},
        "serverInfo": {"name": "night-research", "title": "Night research", "version": __version__},
        "instructions": served.instructions(),
    }


def _called(params: Params, served: Served) -> dict[str, Any]:
    """Return a tool's value as text and as a structure; what it could not do is told to the model as the tool's own error."""
    arguments = params.get("arguments") or {}
    if not isinstance(arguments, dict):
        raise RequestFailed(INVALID_PARAMS, "the arguments of a tool are an object")
    try:
        value = served.call(_text(params, "name"), arguments)
    except ResearchError as error:
        return {"content": [{"type": "text", "text": _told(error)}], "isError": True}
    text = json.dumps(value, ensure_ascii=False)
    return {"content": [{"type": "text", "text": text}], "structuredContent": value, "isError": False}


def _text(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise RequestFailed(INVALID_PARAMS, f"{name} is a text")
    return value


def _told(error: ResearchError) -> str:
    return f"{error.message}\n  → {error.hint}" if error.hint else error.message
