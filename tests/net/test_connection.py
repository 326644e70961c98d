"""Connections on real sockets: with TLS and without, kept, and left."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from pipeline.errors import ServiceFailed
from pipeline.net import transport
from pipeline.net.calls import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard

LOOPBACK = Path(__file__).with_name("loopback.pem")  # a certificate for 127.0.0.1 and its key, which is no secret
LARGE, SMALL = b"." * 900_000, b"hello"

After = Callable[[asyncio.StreamWriter], Awaitable[None]]


async def nothing(_writer: asyncio.StreamWriter) -> None:
    """Keep the connection open."""


@asynccontextmanager
async def keeping_server(
    body: bytes, context: ssl.SSLContext | None, after: After, read: asyncio.Event
) -> AsyncIterator[list[int]]:
    """Answer every request of a connection with ``body``, and do ``after`` when the client has ``read`` it.

    Yield the port, then the number of each request's connection.
    """
    seen: list[int] = []
    writers: list[asyncio.StreamWriter] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        number = len(writers)
        try:
            while await reader.readuntil(b"\r\n\r\n"):
                seen.append(number)
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
                await read.wait()
                await after(writer)
        except (OSError, asyncio.IncompleteReadError):
            return

    server = await asyncio.start_server(handle, "127.0.0.1", 0, ssl=context)
    seen.append(server.sockets[0].getsockname()[1])
    try:
        yield seen
    finally:
        server.close()
        for writer in writers:
            writer.transport.abort()
        await asyncio.sleep(0.01)


def serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(LOOPBACK)
    return context


def twice(base: str, body: bytes, context: ssl.SSLContext | None = None, after: After = nothing) -> list[int]:
    """Ask twice, with time for the server to act in between; return the connections that the requests came over."""

    async def scenario() -> list[int]:
        read = asyncio.Event()
        async with keeping_server(body, context, after, read) as seen:
            url = f"{base}:{seen.pop()}"
            http = HttpClient(Policy(attempts=1), guard=AddressGuard(allowed=[url]))
            try:
                for _ in range(2):
                    reply = await http.send(Call("raw", "GET", url), judged_by_status)
                    assert (reply.body, reply.lost) == (body, 0)
                    read.set()
                    for _ in range(50):
                        await asyncio.sleep(0)
            finally:
                await http.aclose()
            return seen

    return asyncio.run(scenario())


@pytest.fixture
def vouched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "_certificates", lambda _ca_file: ssl.create_default_context(cafile=str(LOOPBACK)))


def test_a_connection_is_kept_for_the_next_call() -> None:
    assert twice("http://127.0.0.1", LARGE) == [1, 1]


@pytest.mark.usefixtures("vouched_for")
def test_an_encrypted_connection_is_kept_for_the_next_call() -> None:
    assert twice("https://127.0.0.1", LARGE, serving()) == [1, 1]


async def leaving(writer: asyncio.StreamWriter) -> None:
    writer.close()


async def speaking_unasked(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")


@pytest.mark.usefixtures("vouched_for")
@pytest.mark.parametrize("after", [leaving, speaking_unasked])
@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_on_which_anything_came_meanwhile_is_not_used_again(scheme: str, after: After) -> None:
    context = serving() if scheme == "https" else None
    assert twice(f"{scheme}://127.0.0.1", SMALL, context, after) == [1, 2]


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    with pytest.raises(ServiceFailed, match="certificate"):
        twice("https://127.0.0.1", SMALL, serving())


@pytest.mark.usefixtures("vouched_for")
def test_a_certificate_for_another_host_is_refused() -> None:
    with pytest.raises(ServiceFailed, match="certificate"):
        twice("https://localhost", SMALL, serving())
