"""A loopback server that sends the very bytes it is told to: for everything a proper server never does."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

Script = Callable[["Request", asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class Request:
    """One request as it came. ``number`` counts from 1 over the server's life; header names are in lower case."""

    number: int
    method: str
    target: str
    headers: dict[str, str]
    body: bytes


@dataclass
class RawServer:
    """``base`` is the server's address; ``seen`` every request; ``connections`` counts them, silent ones too."""

    base: str = ""
    seen: list[Request] = field(default_factory=list)
    connections: int = 0

    def paths(self) -> list[str]:
        return [request.target for request in self.seen]


@asynccontextmanager
async def raw_server(script: Script) -> AsyncIterator[RawServer]:
    """Serve ``script`` on a free loopback port; one request a connection."""
    server = RawServer()
    tasks: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        server.connections += 1
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        try:
            request = await _request(reader, len(server.seen) + 1)
            server.seen.append(request)
            await script(request, writer)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            tasks.discard(task)
            writer.close()

    listener = await asyncio.start_server(handle, "127.0.0.1", 0)
    server.base = f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}"
    try:
        yield server
    finally:
        listener.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader, number: int) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ", 2)
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(number, method, target, headers, body)


def response(body: bytes = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a proper response; ``content_type="…"`` becomes the header ``content-type``."""
    lines = [f"HTTP/1.1 {status}", *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    if not any(name in headers for name in ("content_length", "transfer_encoding")):
        lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "connection: close", "", ""]).encode("utf-8") + body


def always(data: bytes) -> Script:
    """Return a script that answers every request with ``data``."""

    async def script(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(data)

    return script
