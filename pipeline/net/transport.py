"""One exchange: a connection to checked addresses alone, the request, and the whole reply, decoded under a size cap.

A decompression bomb costs no more memory than the cap. Only connecting has a timeout of its own; ``exchange`` bounds the rest.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import zlib
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, cast

import httpcore
import httpx

from pipeline.config.services import Proxy, Route
from pipeline.net.calls_and_replies import Again, Call, Failed, Reply, loop_time
from pipeline.net.guard import AddressGuard

_AUTOMATIC = zlib.MAX_WBITS | 32  # gzip or zlib, by the header


Transport = httpx.AsyncBaseTransport

_CONNECT_S = 15.0
_FIRST_CONNECT_S = 4.0  # for an address that is not the last, so that a machine without IPv6 soon tries IPv4
_RESOLVE_S = 5.0  # for a name that a proxy will resolve too
_CONNECTIONS = httpx.Limits(max_connections=200, max_keepalive_connections=20, keepalive_expiry=15.0)

for _name in ("httpx", "httpcore"):
    logging.getLogger(_name).setLevel(logging.WARNING)  # lower levels log addresses, which may hold keys


class Fault(Exception):
    """An exchange without a reply: its verdict, and whether the request was ``sent``, so that it may be billed."""

    def __init__(self, verdict: Again | Failed, *, sent: bool) -> None:
        super().__init__(verdict.why)
        self.verdict = verdict
        self.sent = sent


class Decoder:
    """Decodes a body with at most one content coding, chunk by chunk. ``max_bytes`` caps it as it comes, and decoded.

    Raises:
        Fault: from the constructor, if ``coding`` was not asked for or names several codings.
    """

    def __init__(self, coding: str, max_bytes: int) -> None:
        names = [name.strip().lower() for name in coding.split(",") if name.strip().lower() not in ("", "identity")]
        if len(names) > 1:
            raise Fault(Failed("the body is compressed more than once"), sent=True)
        if names and names[0] not in ("gzip", "x-gzip", "deflate"):
            raise Fault(Failed("the body is compressed in a way that was not asked for"), sent=True)
        self._zlib = zlib.decompressobj(_AUTOMATIC) if names else None
        self._most, self._left, self._room = max_bytes, max_bytes, max_bytes
        self._chunks: list[bytes] = []
        self._started = False

    def feed(self, data: bytes) -> None:
        """Decode the next bytes of the body.

        Raises:
            Fault: the bytes cannot be decompressed, or the body exceeds its cap.
        """
        self._left -= len(data)
        if self._left < 0:
            raise Fault(Failed(f"the body is larger than {self._most / 1e6:g} MB"), sent=True)
        if self._zlib is None:
            self._chunks.append(data)
            return
        self._started = self._started or bool(data)
        try:
            while data and not self._zlib.eof:
                self._chunks.append(self._zlib.decompress(data, self._room + 1))
                self._room -= len(self._chunks[-1])
                if self._room < 0:
                    raise Fault(Failed("the body is larger than its cap"), sent=True)
                data = self._zlib.unconsumed_tail
        except zlib.error:
            raise Fault(Again("the compressed body is damaged"), sent=True) from None

    def finished(self) -> bytes:
        """Return the whole body.

        Raises:
            Fault: the compressed body is cut off.
        """
        if self._zlib is not None and self._started and not self._zlib.eof:
            raise Fault(Again("the compressed body is cut off"), sent=True)
        return self.beginning()

    def beginning(self) -> bytes:
        """Return what was decoded so far."""
        return b"".join(self._chunks)


# What an exchange without a reply means, and whether its request was sent: the first row that fits. A service that cannot be
# connected to, or whose connection is cut, is down. Texts of foreign errors are never shown: they can hold a header's value.
_FAULTS: tuple[tuple[tuple[type[BaseException], ...], Again | Failed, bool], ...] = (
    ((ssl.SSLCertVerificationError,), Failed("its certificate is not valid"), False),
    ((httpx.ConnectTimeout, httpx.PoolTimeout), Again("the connection timed out", down=True), False),
    ((httpx.ConnectError,), Again("no connection could be made", down=True), False),
    ((httpx.ProxyError,), Again("the proxy refuses to connect", down=True), False),
    ((httpx.TimeoutException, TimeoutError), Again("no complete reply in time"), True),
    ((httpx.LocalProtocolError, httpx.UnsupportedProtocol), Failed("the request cannot be sent"), False),
    ((httpx.RemoteProtocolError,), Again("the connection was cut, or the reply is not HTTP", down=True), True),
    ((httpx.TransportError, OSError), Again("the connection broke", down=True), True),
    ((httpx.InvalidURL, UnicodeError), Failed("the address or a header is not valid"), False),
)


class GuardedBackend(httpcore.AsyncNetworkBackend):
    """Connects only to addresses that the guard has checked."""

    def __init__(self, guard: AddressGuard) -> None:
        self._guard = guard
        self._sockets = httpcore.AnyIOBackend()

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
                return await self._sockets.connect_tcp(address, port, min(_FIRST_CONNECT_S, timeout or _FIRST_CONNECT_S))
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._sockets.connect_tcp(addresses[-1], port, timeout)


class GuardedTransport(Transport):
    """Connects by the client's route; ``guard`` checks every address, also of what a proxy is asked for."""

    def __init__(self, guard: AddressGuard, route: Route) -> None:
        self._guard = guard
        self._route = route
        self._ways: dict[Proxy | None, httpx.AsyncHTTPTransport] = {}

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request directly or through the proxy of its address.

        A name that resolves here to a private address is refused also if a proxy would resolve it; one that nothing here can
        resolve is left to the proxy.
        """
        proxy = self._route.proxy_for(str(request.url))
        if proxy is not None:
            port = request.url.port or (443 if request.url.scheme == "https" else 80)
            with suppress(OSError):  # a time limit that has passed is one too
                await asyncio.wait_for(self._guard.addresses(request.url.host, port), _RESOLVE_S)
        return await self._way(proxy).handle_async_request(request)

    def _way(self, proxy: Proxy | None) -> httpx.AsyncHTTPTransport:
        if proxy not in self._ways:
            certificates = _certificates(self._route.ca_file)
            encrypted = certificates if proxy and proxy.address.startswith("https:") else None
            through = httpx.Proxy(proxy.address, ssl_context=encrypted) if proxy else None
            way = httpx.AsyncHTTPTransport(verify=certificates, trust_env=False, limits=_CONNECTIONS, retries=0, proxy=through)
            # httpx has no public way to set the pool's backend; a test checks that this one is used. The user named the proxy.
            way._pool._network_backend = GuardedBackend(AddressGuard((proxy.origin,)) if proxy else self._guard)
            self._ways[proxy] = way
        return self._ways[proxy]

    async def aclose(self) -> None:
        """Close all connections."""
        for way in self._ways.values():
            await way.aclose()


@cache
def _certificates(ca_file: str = "") -> ssl.SSLContext:
    """Read the certificates once for all clients, because it takes tens of milliseconds."""
    found = httpx.create_ssl_context(trust_env=False)
    if ca_file:
        found.load_verify_locations(cafile=ca_file)
    return found


async def exchange(transport: Transport, call: Call, left_s: float) -> Reply:
    """Send ``call`` once and return the whole reply with its body decoded. Redirects are not followed.

    Raises:
        AddressRefused: the guard refuses the address.
        Fault: there is no complete reply within the call's time and ``left_s`` seconds, or it exceeds a cap.
    """
    within_s, until = min(call.deadline_s, left_s), loop_time() + left_s
    pace = call.pace() if call.pace else None
    paced = stopped = False
    try:
        async with asyncio.timeout(within_s) as limit:
            response = await transport.handle_async_request(_request(call, within_s))
            try:
                decoder = Decoder(response.headers.get("content-encoding", ""), call.max_bytes)
                async for chunk in cast(Any, response.stream):
                    decoder.feed(chunk)
                    if pace is not None:
                        paced, next_s = True, pace(chunk)
                        stopped = next_s <= 0
                        if stopped:
                            break
                        limit.reschedule(min(until, loop_time() + next_s))
                body = decoder.beginning() if stopped else decoder.finished()
            finally:
                await response.aclose()
    except Fault:
        raise
    except Exception as error:
        if paced and isinstance(error, TimeoutError | httpx.TimeoutException):
            raise Fault(Again("it fell silent in the middle of its reply", down=True), sent=True) from None
        chain: list[BaseException] = [error]
        while (cause := chain[-1].__cause__ or chain[-1].__context__) is not None:
            chain.append(cause)
        for errors, verdict, sent in _FAULTS:
            if any(isinstance(one, errors) for one in chain):
                raise Fault(verdict, sent=sent) from None
        raise
    headers = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, headers, body, call.url, stopped=stopped)


def _request(call: Call, within_s: float) -> httpx.Request:
    headers = {"accept-encoding": "gzip", "accept": "*/*", **{name.lower(): value for name, value in call.headers.items()}}
    content = None
    if call.json is not None:
        headers.setdefault("content-type", "application/json")
        content = json.dumps(call.json, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    timeout = {"connect": min(_CONNECT_S, within_s), "read": within_s, "write": within_s, "pool": within_s}
    return httpx.Request(call.method, call.target, headers=headers, content=content, extensions={"timeout": timeout})
