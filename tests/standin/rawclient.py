"""A client on a bare socket, which hides nothing of what came over the wire."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tests.standin.server import Standin

PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Seen:
    """What came: the bytes, how it ended (``closed``, ``reset``, or ``open`` when patience ran out), and after how long."""

    data: bytes
    end: str
    seconds: float

    @property
    def status(self) -> int:
        """The status; 0 when there is no status line."""
        return int(self.data.split(b" ", 2)[1]) if self.data.startswith(b"HTTP/1.1 ") else 0

    @property
    def headers(self) -> dict[str, str]:
        """Headers by lower-case name."""
        lines = self.data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")[1:]
        return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}

    @property
    def body(self) -> bytes:
        """Everything after the head."""
        return self.data.partition(b"\r\n\r\n")[2]

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def talk(server: Standin, data: bytes, *, host: str = "127.0.0.1", port: int = 0, patience_s: float = PATIENCE_S) -> Seen:
    """Send bytes, and read until the other side ends it or patience runs out."""
    start, parts, end = time.monotonic(), list[bytes](), "closed"
    with socket.create_connection((host, port or server.state.port), timeout=patience_s) as client:
        client.sendall(data)
        try:
            while part := client.recv(1 << 20):
                parts.append(part)
        except TimeoutError:
            end = "open"
        except ConnectionResetError:
            end = "reset"
    return Seen(b"".join(parts), end, time.monotonic() - start)


def get(server: Standin, target: str, headers: Mapping[str, str] | None = None, **options: Any) -> Seen:
    """``GET``, with ``Connection: close``."""
    return talk(server, _head("GET", target, headers or {}) + b"\r\n", **options)


def post(server: Standin, target: str, body: Any, headers: Mapping[str, str] | None = None, **options: Any) -> Seen:
    """``POST`` of JSON, with ``Connection: close``."""
    data = json.dumps(body).encode()
    head = _head("POST", target, {"Content-Type": "application/json", "Content-Length": str(len(data)), **(headers or {})})
    return talk(server, head + b"\r\n" + data, **options)


def _head(method: str, target: str, headers: Mapping[str, str]) -> bytes:
    everything = {"Host": "127.0.0.1:1", "User-Agent": "standin-test", "Connection": "close", **headers}
    lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in everything.items())]
    return "".join(line + "\r\n" for line in lines).encode()


def ask(server: Standin, text: str = "Why is it so?", *, path: str = "/api/v1/chat/completions", **more: Any) -> Seen:
    """One chat completion; ``more`` are further fields of the request."""
    body = {"model": "standin/model", "max_tokens": 4_000, "messages": [{"role": "user", "content": text}], **more}
    return post(server, path, body, {"Authorization": "Bearer key"})
