"""One exchange with a server, over httpx: the only file that imports it.

No client object of httpx is used, only its transport: no redirects, cookies, proxies or credentials from the environment can
come in that way, and nothing of it writes addresses to a log. Every fault is translated here, from one table.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx

from pipeline.adapters.http.address_guard import AddressGuard, AddressRefused
from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Reply
from pipeline.adapters.http.clock import loop_time
from pipeline.adapters.http.connection import GuardedBackend
from pipeline.adapters.http.content_decoding import BodyFault, Decoder

Transport = httpx.AsyncBaseTransport

_CONNECT_S = 15.0
_CONNECTIONS = httpx.Limits(max_connections=200, max_keepalive_connections=20, keepalive_expiry=15.0)

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
    _Row((httpx.ConnectTimeout, httpx.PoolTimeout), "no connection in time", sent=False),
    _Row((httpx.ConnectError,), "no connection could be made", sent=False),
    _Row((httpx.TimeoutException, TimeoutError), "no whole reply in time"),
    _Row((httpx.LocalProtocolError, httpx.UnsupportedProtocol), "the request is not one that can be sent", False, False),
    _Row((httpx.RemoteProtocolError,), "the connection was cut, or what came is not HTTP"),
    _Row((httpx.TransportError, OSError), "the connection broke"),
    _Row((httpx.InvalidURL, UnicodeError), "the address or a header holds what cannot be sent", passing=False, sent=False),
)


def guarded(guard: AddressGuard) -> Transport:
    """Return a transport whose every connection goes through ``guard``."""
    transport = httpx.AsyncHTTPTransport(verify=_certificates(), trust_env=False, limits=_CONNECTIONS, retries=0)
    # The pool has no public way to be given a backend through httpx; a test holds that this one is used.
    transport._pool._network_backend = GuardedBackend(guard)
    return transport


@cache
def _certificates() -> ssl.SSLContext:
    """Read once for all clients: it takes tens of milliseconds."""
    return httpx.create_ssl_context(trust_env=False)


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
