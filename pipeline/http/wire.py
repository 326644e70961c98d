"""One exchange with a server, over httpx: the only file that imports it.

No client object of httpx is used, only its transport: no redirects, cookies, proxies or credentials from the environment can
come in that way, and nothing of it writes addresses to a log. Every fault is translated here, from one table.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from pipeline.http.clock import loop_time
from pipeline.http.decoding import BodyFault, Decoder
from pipeline.http.exchange import Again, Call, Failed, Reply
from pipeline.http.guard import AddressRefused, Guard

Transport = httpx.AsyncBaseTransport

_CONNECT_S = 15.0
_FIRST_CONNECT_S = 4.0  # for an address that has others after it: a host without IPv6 must not wait for it in vain
_FREE, _FREE_S = 100, 15.0  # connections that are kept for the next request, and seconds

for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # below it, addresses with keys in them are written out


class Fault(Exception):
    """An exchange that brought no reply: what it means, and whether the server may have worked on it (and bills it)."""

    def __init__(self, verdict: Again | Failed, *, sent: bool) -> None:
        super().__init__(verdict.why)
        self.verdict = verdict
        self.sent = sent


@dataclass(frozen=True, slots=True)
class _Row:
    errors: tuple[type[BaseException], ...]
    why: str
    passing: bool = True
    sent: bool = True


# The first row that fits counts. Texts of foreign errors are never shown: they can hold a header's value.
_TABLE = (
    _Row((ssl.SSLCertVerificationError,), "its certificate is not valid", passing=False, sent=False),
    _Row((httpx.ConnectTimeout, httpcore.ConnectTimeout), "no connection in time", sent=False),
    _Row((httpx.ConnectError, httpcore.ConnectError), "no connection could be made", sent=False),
    _Row((httpx.TimeoutException, httpcore.TimeoutException, TimeoutError), "no whole reply in time"),
    _Row(
        (httpx.LocalProtocolError, httpcore.LocalProtocolError, httpx.UnsupportedProtocol, httpcore.UnsupportedProtocol),
        "the request is not one that can be sent",
        False,
        False,
    ),
    _Row((httpx.RemoteProtocolError, httpcore.RemoteProtocolError), "the connection was cut, or what came is not HTTP"),
    _Row((httpx.TransportError, httpcore.NetworkError, httpcore.ProtocolError, OSError), "the connection broke"),
    _Row((httpx.InvalidURL, UnicodeError), "the address or a header holds what cannot be sent", passing=False, sent=False),
)


def guarded(guard: Guard) -> Transport:
    """Return a transport whose every connection goes through ``guard``."""
    return _Connections(guard)


class _Connections(httpx.AsyncBaseTransport):
    """One connection for each request under way; those that are free wait for the next request to the same place.

    httpcore's pool asks the system about every free connection at every request; with a hundred of them, that takes longer than
    all else that a request does.
    """

    def __init__(self, guard: Guard) -> None:
        self._backend = _GuardedBackend(guard)
        self._trust = httpx.create_ssl_context(trust_env=False)
        self._free: list[tuple[httpcore.Origin, httpcore.AsyncHTTPConnection]] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        url = httpcore.URL(
            scheme=request.url.raw_scheme, host=request.url.raw_host, port=request.url.port, target=request.url.raw_path
        )
        sent = httpcore.Request(
            request.method, url, headers=request.headers.raw, content=request.stream, extensions=request.extensions
        )
        connection = await self._taken(url.origin)
        try:
            reply = await connection.handle_async_request(sent)
        except BaseException:
            await connection.aclose()
            raise
        body = _Body(reply.stream, lambda: self._returned(url.origin, connection))
        return httpx.Response(reply.status, headers=reply.headers, stream=body)

    async def aclose(self) -> None:
        while self._free:
            await self._free.pop()[1].aclose()

    async def _taken(self, origin: httpcore.Origin) -> httpcore.AsyncHTTPConnection:
        """Return the connection to ``origin`` that was used last, or a new one."""
        while at := next((at for at in range(len(self._free), 0, -1) if self._free[at - 1][0] == origin), 0):
            connection = self._free.pop(at - 1)[1]
            if connection.is_available() and not connection.has_expired():
                return connection
            await connection.aclose()
        return httpcore.AsyncHTTPConnection(
            origin, ssl_context=self._trust, keepalive_expiry=_FREE_S, network_backend=self._backend
        )

    async def _returned(self, origin: httpcore.Origin, connection: httpcore.AsyncHTTPConnection) -> None:
        if not connection.is_idle():
            await connection.aclose()
            return
        self._free.append((origin, connection))
        if len(self._free) > _FREE:
            await self._free.pop(0)[1].aclose()


class _Body(httpx.AsyncByteStream):
    """A reply's body; gives its connection back when it is closed."""

    def __init__(self, stream: Any, closed: Callable[[], Awaitable[None]]) -> None:
        self._stream, self._closed = stream, closed

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            yield chunk

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._closed()


class _GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects to addresses that the guard has checked, and to nothing else."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._inner = httpcore.AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            addresses = await asyncio.wait_for(self._guard.addresses(host, port), timeout)
        except OSError:
            raise httpcore.ConnectError("the name cannot be resolved") from None
        for address in addresses[:-1]:
            try:
                short = min(_FIRST_CONNECT_S, timeout or _FIRST_CONNECT_S)
                return await self._inner.connect_tcp(address, port, short, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


async def exchange(transport: Transport, call: Call, within_s: float, clock: Callable[[], float] = loop_time) -> Reply:
    """Send ``call`` once and return the whole reply, its body decoded. Redirects are replies like any other.

    Raises:
        Fault: there is no whole reply within ``within_s`` seconds, or one over its caps.
    """
    began = clock()
    try:
        async with asyncio.timeout(within_s):
            response = await transport.handle_async_request(_request(call, within_s))
            try:
                body = await _body(response, call.max_bytes)
            finally:
                await response.aclose()
    except AddressRefused as error:
        raise Fault(Failed(str(error)), sent=False) from None
    except BodyFault as error:
        raise Fault(Again(str(error)) if error.passing else Failed(str(error)), sent=True) from None
    except Exception as error:
        fault = _translated(error)
        if fault is None:
            raise
        raise fault from None
    return Reply(response.status_code, _headers(response), body, call.url, clock() - began)


def _request(call: Call, within_s: float) -> httpx.Request:
    headers = {"accept-encoding": "gzip", "accept": "*/*", **{name.lower(): value for name, value in call.headers.items()}}
    content = None
    if call.json is not None:
        headers.setdefault("content-type", "application/json")
        content = json.dumps(call.json, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    timeout = {"connect": min(_CONNECT_S, within_s), "read": within_s, "write": within_s, "pool": within_s}
    return httpx.Request(call.method, call.target, headers=headers, content=content, extensions={"timeout": timeout})


async def _body(response: httpx.Response, max_bytes: int) -> bytes:
    stream: Any = response.stream
    decoder = Decoder(response.headers.get("content-encoding", ""), max_bytes)
    on_wire = 0
    async for chunk in stream:
        on_wire += len(chunk)
        if on_wire > max_bytes:
            raise BodyFault(f"the body is larger than {max_bytes / 1e6:g} MB", passing=False)
        decoder.feed(chunk)
    return decoder.finished()


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _translated(error: Exception) -> Fault | None:
    """Return the fault that a foreign error means; None for one that is not the network's."""
    chain = list(_causes(error))
    for row in _TABLE:
        if any(isinstance(cause, row.errors) for cause in chain):
            return Fault(Again(row.why) if row.passing else Failed(row.why), sent=row.sent)
    return None


def _causes(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
