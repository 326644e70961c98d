"""Network backend for httpx's connection pool: connects only to checked addresses.

Only connecting has a timeout here; ``transport.exchange`` bounds the whole exchange.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

import httpcore

from pipeline.net.guard import AddressGuard

_FIRST_CONNECT_S = 4.0  # for an address that is not the last, so that a machine without IPv6 soon tries IPv4


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
