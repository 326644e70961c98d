"""Network backend for httpx's connection pool: connects only to checked addresses, over the event loop's sockets.

Only connecting has a timeout here; ``transport.exchange`` bounds the whole exchange.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

import httpcore

from pipeline.net.guard import AddressGuard

_FIRST_CONNECT_S = 4.0  # for an address that is not the last, so that a machine without IPv6 soon tries IPv4
_AHEAD = 256 * 1024  # bytes that may arrive before they are read


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that the guard has checked."""

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
                return await _connect(address, port, min(_FIRST_CONNECT_S, timeout or _FIRST_CONNECT_S))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await _connect(addresses[-1], port, timeout)


class Stream(httpcore.AsyncNetworkStream, asyncio.Protocol):
    """One connection: a protocol for the event loop and a stream for the pool."""

    def __init__(self) -> None:
        self._transport: Any = None
        self._received = bytearray()
        self._ended = False
        self._fault: Exception | None = None
        self._wakeup: asyncio.Future[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport."""
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Buffer the data; pause reading if the buffer is full."""
        self._received += data
        if len(self._received) > _AHEAD:
            self._transport.pause_reading()
        self._wake_reader()

    def eof_received(self) -> None:
        """Note that the server has sent all its data."""
        self._ended = True
        self._wake_reader()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the socket is closed, and why."""
        self._ended, self._fault = True, exc
        self._wake_reader()

    def _wake_reader(self) -> None:
        if self._wakeup is not None and not self._wakeup.done():
            self._wakeup.set_result(None)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002 - the client bounds every call
        """Return the received data, at most ``max_bytes``; b"" at the end."""
        if not self._received and not self._ended:
            self._wakeup = asyncio.get_running_loop().create_future()
            await self._wakeup
        if not self._received and self._fault is not None:
            raise httpcore.ReadError("the connection broke") from self._fault
        data = bytes(self._received[:max_bytes])
        del self._received[:max_bytes]
        if len(self._received) <= _AHEAD:
            self._transport.resume_reading()
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002 - nothing waits
        """Send ``buffer`` in the background; no caller waits for it, as it is no larger than the request."""
        if self._transport.is_closing():
            raise httpcore.WriteError("the connection is closed")
        self._transport.write(buffer)

    async def aclose(self) -> None:
        """Close the socket at once; unsent and unread data is dropped."""
        self._transport.abort()
        await asyncio.sleep(0)

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        """Switch to TLS, if the server proves to be ``server_hostname``. Data received before is refused as unauthenticated."""
        if self._received:
            raise httpcore.ConnectError("the server sent data before the connection was encrypted")
        loop = asyncio.get_running_loop()
        async with _connect_errors(timeout):
            self._transport = await loop.start_tls(self._transport, self, ssl_context, server_hostname=server_hostname)
        return self

    def get_extra_info(self, info: str) -> Any:
        """Return a property that the pool asks for. An idle connection is "readable" (unusable) if data came or it ended."""
        if info == "is_readable":
            return bool(self._received) or self._ended
        return self._transport.get_extra_info(info)


async def _connect(address: str, port: int, timeout: float | None) -> Stream:
    async with _connect_errors(timeout):
        _, stream = await asyncio.get_running_loop().create_connection(Stream, address, port)
    return stream


@asynccontextmanager
async def _connect_errors(timeout: float | None) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(timeout):
            yield
    except TimeoutError as error:
        raise httpcore.ConnectTimeout("no connection in time") from error
    except OSError as error:
        raise httpcore.ConnectError("no connection could be made") from error
