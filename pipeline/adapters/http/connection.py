"""Connections as httpx's pool wants them made: to addresses that the guard has checked, over the event loop's own sockets.

The waits have no limits of their own but for connecting: ``wire.exchange`` bounds the whole exchange by the clock.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore

from pipeline.adapters.http.address_guard import AddressGuard

_FIRST_CONNECT_S = 4.0  # for an address that has others after it: a host without IPv6 must not wait for it in vain
_AHEAD = 256 * 1024  # bytes that may arrive before they are read


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that the guard has checked, and to nothing else."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the pool is given neither this nor socket options
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> httpcore.AsyncNetworkStream:
        """Return a connection to the first address of ``host`` that answers.

        Raises:
            AddressRefused: the guard refuses the name, or one of its addresses.
            httpcore.ConnectError, httpcore.ConnectTimeout: no address answers.
        """
        try:
            addresses = await asyncio.wait_for(self._guard.addresses(host, port), timeout)
        except OSError:
            raise httpcore.ConnectError("the name cannot be resolved") from None
        for address in addresses[:-1]:
            try:
                return await _connected(address, port, min(_FIRST_CONNECT_S, timeout or _FIRST_CONNECT_S))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await _connected(addresses[-1], port, timeout)


class Stream(httpcore.AsyncNetworkStream, asyncio.Protocol):
    """One connection: what the loop tells of it, and what the pool asks of it."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._arrived = bytearray()
        self._ended = False
        self._fault: Exception | None = None
        self._news: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the socket."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Keep what came; let the sender wait when it is too far ahead."""
        self._arrived += data
        if len(self._arrived) > _AHEAD:
            self._transport.pause_reading()
        self._tell()

    def eof_received(self) -> None:
        """Nothing more will come."""
        self._ended = True
        self._tell()

    def connection_lost(self, exc: Exception | None) -> None:
        """The socket is gone."""
        self._ended, self._fault = True, exc
        self._tell()

    def _tell(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the client bounds every call
        """Return what has come, at most ``max_bytes``; b"" at the end."""
        if not self._arrived and not self._ended:
            self._news = asyncio.get_running_loop().create_future()
            await self._news
        if not self._arrived and self._fault is not None:
            raise httpcore.ReadError("the connection broke") from self._fault
        data = bytes(self._arrived[:max_bytes])
        del self._arrived[:max_bytes]
        if len(self._arrived) <= _AHEAD:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - nothing waits
        """Send ``buffer`` in the background. It is no larger than the request, so nobody waits until it is out."""
        if self._transport.is_closing():
            raise httpcore.WriteError("the connection is closed")
        self._transport.write(buffer)

    async def aclose(self) -> None:
        """Let go of the socket at once: nothing that is still to be sent or read matters any more."""
        self._transport.abort()
        await asyncio.sleep(0)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Go on encrypted, if the server proves to be ``server_hostname``. What came before that could be anybody's."""
        if self._arrived:
            raise httpcore.ConnectError("something was said before the connection was encrypted")
        loop = asyncio.get_running_loop()
        async with _connecting(timeout):
            self._transport = await loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        """Tell what the pool wants to know. An idle connection on which something came, or ended, is of no more use."""
        if info == "is_readable":
            return bool(self._arrived) or self._ended
        return self._transport.get_extra_info(info)


async def _connected(address: str, port: int, timeout: float | None) -> Stream:
    async with _connecting(timeout):
        _, stream = await asyncio.get_running_loop().create_connection(Stream, address, port)
    return stream


@asynccontextmanager
async def _connecting(timeout: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise httpcore.ConnectTimeout("no connection in time") from error
    except OSError as error:
        raise httpcore.ConnectError("no connection could be made") from error
