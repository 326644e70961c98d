"""Decoding of compressed reply bodies under a size cap, so that a decompression bomb costs no more memory than the cap."""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import zlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import httpx

from pipeline.config.network import Proxy, Route
from pipeline.net.calls import Again, Call, Failed, Reply, loop_time
from pipeline.net.connection import GuardedBackend
from pipeline.net.guard import AddressGuard

_AUTOMATIC = zlib.MAX_WBITS | 32  # gzip or zlib, by the header


class BodyFault(Exception):
    """The body cannot be decoded; ``passing`` is whether another attempt may succeed."""

    def __init__(self, why: str, *, passing: bool) -> None:
        super().__init__(why)
        self.passing = passing


class Decoder:
    """Decodes a body with at most one content coding, chunk by chunk. With ``cut_off``, what exceeds the cap is dropped.

    Raises:
        BodyFault: from the constructor, if ``coding`` was not asked for or names several codings.
    """

    def __init__(self, coding: str, max_bytes: int, *, cut_off: bool = False) -> None:
        names = [name.strip().lower() for name in coding.split(",") if name.strip().lower() not in ("", "identity")]
        if len(names) > 1:
            raise BodyFault("the body is compressed more than once", passing=False)
        if names and names[0] not in ("gzip", "x-gzip", "deflate"):
            raise BodyFault("the body is compressed in a way that was not asked for", passing=False)
        self._zlib = zlib.decompressobj(_AUTOMATIC) if names else None
        self._room = max_bytes
        self._cut_off = cut_off
        self.is_full = False
        self._chunks: list[bytes] = []
        self._started = False

    def feed(self, data: bytes) -> None:
        """Decode the next bytes of the body.

        Raises:
            BodyFault: the bytes cannot be decompressed, or the body exceeds its cap.
        """
        if self._zlib is None:
            self._keep(data)
            return
        self._started = self._started or bool(data)
        try:
            while data and not self._zlib.eof and not self.is_full:
                self._keep(self._zlib.decompress(data, self._room + 1))
                data = self._zlib.unconsumed_tail
        except zlib.error:
            raise BodyFault("the compressed body is damaged", passing=True) from None

    def finished(self) -> bytes:
        """Return the whole body.

        Raises:
            BodyFault: the compressed body is cut off.
        """
        if self._zlib is not None and self._started and not self._zlib.eof:
            raise BodyFault("the compressed body is cut off", passing=True)
        return self.beginning()

    def beginning(self) -> bytes:
        """Return what was decoded so far."""
        return b"".join(self._chunks)

    def _keep(self, data: bytes) -> None:
        if len(data) > self._room:
            if not self._cut_off:
                raise BodyFault("the body is larger than its cap", passing=False)
            data, self.is_full = data[: self._room], True
        self._room -= len(data)
        if data:
            self._chunks.append(data)


Transport = httpx.AsyncBaseTransport

_CONNECT_S = 15.0
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


@dataclass(frozen=True, slots=True)
class _FaultRule:
    errors: tuple[type[BaseException], ...]
    why: str
    passing: bool = True
    sent: bool = True
    cut: bool = False

    @property
    def verdict(self) -> Again | Failed:
        """The verdict; a service that cannot be connected to, or whose connection is cut, is down."""
        return Again(self.why, down=self.cut or not self.sent) if self.passing else Failed(self.why)


# The first matching rule applies. Texts of foreign errors are never shown, because they can hold a header's value.
_FAULT_RULES = (
    _FaultRule((ssl.SSLCertVerificationError,), "its certificate is not valid", passing=False, sent=False),
    _FaultRule((httpx.ConnectTimeout, httpx.PoolTimeout), "the connection timed out", sent=False),
    _FaultRule((httpx.ConnectError,), "no connection could be made", sent=False),
    _FaultRule((httpx.ProxyError,), "the proxy refuses to connect", sent=False),
    _FaultRule((httpx.TimeoutException, TimeoutError), "no complete reply in time"),
    _FaultRule((httpx.LocalProtocolError, httpx.UnsupportedProtocol), "the request cannot be sent", False, False),
    _FaultRule((httpx.RemoteProtocolError,), "the connection was cut, or the reply is not HTTP", cut=True),
    _FaultRule((httpx.TransportError, OSError), "the connection broke", cut=True),
    _FaultRule((httpx.InvalidURL, UnicodeError), "the address or a header is not valid", passing=False, sent=False),
)


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


async def exchange(transport: Transport, call: Call, left_s: float, clock: Callable[[], float] = loop_time) -> Reply:
    """Send ``call`` once and return the whole reply with its body decoded. Redirects are not followed.

    Raises:
        AddressRefused: the guard refuses the address.
        Fault: there is no complete reply within the call's time and ``left_s`` seconds, or it exceeds a cap.
    """
    began = clock()
    within_s = min(call.deadline_s, left_s)
    pieces = _Pieces(call, loop_time() + left_s)
    try:
        async with asyncio.timeout(within_s) as limit:
            response = await transport.handle_async_request(_request(call, within_s))
            try:
                body = await pieces.body(response, limit)
            finally:
                await response.aclose()
    except BodyFault as error:
        raise Fault(Again(str(error)) if error.passing else Failed(str(error)), sent=True) from None
    except Exception as error:
        fault = _fault_for(error)
        if fault is None:
            raise
        if pieces.paced and isinstance(error, TimeoutError | httpx.TimeoutException):
            fault = Fault(Again("it fell silent in the middle of its reply", down=True), sent=True)
        raise fault from None
    return Reply(response.status_code, _headers(response), body, call.url, clock() - began, stopped=pieces.stopped)


def _request(call: Call, within_s: float) -> httpx.Request:
    headers = {"accept-encoding": "gzip", "accept": "*/*", **{name.lower(): value for name, value in call.headers.items()}}
    content = None
    if call.json is not None:
        headers.setdefault("content-type", "application/json")
        content = json.dumps(call.json, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    timeout = {"connect": min(_CONNECT_S, within_s), "read": within_s, "write": within_s, "pool": within_s}
    return httpx.Request(call.method, call.target, headers=headers, content=content, extensions={"timeout": timeout})


class _Pieces:
    """The pieces of one reply's body. ``paced``: its call has a pace, and a piece has come; ``stopped``: its pace ended it."""

    def __init__(self, call: Call, until: float) -> None:
        self._call, self._until = call, until
        self._pace = call.pace() if call.pace else None
        self.paced = self.stopped = False

    async def body(self, response: httpx.Response, limit: asyncio.Timeout) -> bytes:
        """Return the decoded body; each piece of a call with a pace sets ``limit`` again."""
        call, stream, on_wire = self._call, cast(Any, response.stream), 0
        decoder = Decoder(response.headers.get("content-encoding", ""), call.max_bytes, cut_off=call.cut_off)
        async for chunk in stream:
            on_wire += len(chunk)
            if on_wire > call.max_bytes and not call.cut_off:
                raise BodyFault(f"the body is larger than {call.max_bytes / 1e6:g} MB", passing=False)
            decoder.feed(chunk)
            if decoder.is_full or on_wire > call.max_bytes:
                return decoder.beginning()
            if self._pace is not None:
                self.paced = True
                next_s = self._pace(chunk)
                self.stopped = next_s <= 0
                if self.stopped:
                    return decoder.beginning()
                limit.reschedule(min(self._until, loop_time() + next_s))
        return decoder.finished()


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}


def _fault_for(error: Exception) -> Fault | None:
    """Return the fault for a foreign error, or None if it is not a network error."""
    chain = list(_causes(error))
    for row in _FAULT_RULES:
        if any(isinstance(cause, row.errors) for cause in chain):
            return Fault(row.verdict, sent=row.sent)
    return None


def _causes(error: BaseException | None) -> Iterable[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
