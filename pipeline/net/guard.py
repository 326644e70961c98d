"""Guard against server-side request forgery: only public web addresses, and servers from the settings, may be connected to.

URLs are checked before a request, IP addresses when connecting. If any address of a name is not public, the name is refused. The
connection goes to an address that was checked, so a name that resolves differently the next time (DNS rebinding) has no effect.
"""

from __future__ import annotations

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from threading import Thread
from typing import Any
from urllib.parse import urlsplit


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses to which the system resolves ``host``, each once, in the system's order.

    The system's call cannot be cancelled, so it runs in a daemon thread: asyncio and Python would wait for other threads.

    Raises:
        OSError: the name cannot be resolved.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def deliver(setter: Callable[[Any], None], what: object) -> None:
        if not answer.done():
            setter(what)

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result = partial(deliver, answer.set_result, list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            result = partial(deliver, answer.set_exception, error if isinstance(error, OSError) else OSError(str(error)))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(result)

    Thread(target=resolve, name=f"address of {host}", daemon=True).start()
    return await answer


MAX_URL = 2_000

Resolve = Callable[[str, int], Awaitable[list[str]]]
Origin = tuple[str, int]

_PORTS = {"http": 80, "https": 443}
# Names of public hosts by their letters: what is none of these is refused, however the system would resolve it.
_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])\.?\Z")
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".onion", ".test")
# Signs at which parsers of addresses disagree.
_SPACE = re.compile(r"[\x00-\x20\x7f-\x9f\\\s]")

# These tables are needed because `is_global` of the standard library has changed between patch releases.
_BAD_V4 = tuple(
    ip_network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # the host agent of a cloud provider, reachable only from its virtual machines
    )
)  # fmt: skip
_GLOBAL_V6 = IPv6Network("2000::/3")
# 2001::/23 holds Teredo and other tunnels, 2002::/16 is 6to4: both embed an IPv4 address that would escape the checks.
_BAD_V6 = tuple(IPv6Network(net) for net in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """The address must not be connected to; the text is the reason, for a message."""


class AddressGuard:
    """Checks addresses before a connection. ``allowed`` are base URLs of servers that may be private (a local model)."""

    def __init__(self, allowed: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._allowed = frozenset(host_and_port(base) for base in allowed)
        self._resolve = resolve or addresses_of

    def check_url(self, url: str) -> None:
        """Check a URL without resolving its name.

        Raises:
            AddressRefused: scheme, port, user, length or host is not allowed for a page of the public web.
        """
        self._is_named(*host_and_port(url))

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the checked IP addresses to connect to for ``host``.

        Raises:
            AddressRefused: at least one address is not public, or the port is not a web port.
            OSError: the name cannot be resolved.
        """
        if self._is_named(host.lower(), port):
            return [host]
        found = await self._resolve(host.strip("[]"), port)
        for address in found:
            if not is_public(address):
                raise AddressRefused(f"{host} resolves to an address that is not public")
        if not found:
            raise AddressRefused(f"{host} has no address")
        return found

    def _is_named(self, host: str, port: int) -> bool:
        """Return whether the user named a server; refuse another one that is none of the public web by its name or port."""
        if (host, port) in self._allowed:
            return True
        if port not in _PORTS.values():
            raise AddressRefused(f"port {port} is not a web port (80 or 443)")
        _check_host(host)
        return False


def host_and_port(url: str) -> Origin:
    """Return host (lower case, IPv6 without brackets) and port of a URL.

    Raises:
        AddressRefused: the URL is no http or https address of at most ``MAX_URL`` characters, names a user, or has no host.
    """
    if len(url) > MAX_URL:
        raise AddressRefused(f"the address is longer than {MAX_URL} characters")
    if _SPACE.search(url):
        raise AddressRefused("the address holds white space, control characters or a backslash")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise AddressRefused("the address is not valid") from None
    if parts.scheme not in _PORTS:
        raise AddressRefused(f"only http and https are read, not {parts.scheme[:20] or 'an address without a scheme'}")
    if "@" in parts.netloc:
        raise AddressRefused("the address contains a user name")
    if not host or "%" in host:
        raise AddressRefused("the address has no valid host")
    return host, _PORTS[parts.scheme] if port is None else port


def _check_host(host: str) -> None:
    """Refuse a private name, an IP address that is not public, and an IP address in an unusual spelling."""
    if ":" in host or re.fullmatch(r"\d{1,3}(?:\.\d{1,3}){3}", host):  # in the one usual spelling of an IPv4 address
        if not is_public(host.strip("[]")):
            raise AddressRefused(f"{host} is not a public address")
        return
    try:
        ascii_name = host.encode("idna").decode("ascii").lower() if not host.isascii() else host.lower()
    except UnicodeError:
        raise AddressRefused("the host name is not valid") from None
    bare = "." + ascii_name.rstrip(".")
    if not _NAME.match(ascii_name) or bare.endswith(_PRIVATE_NAMES):
        raise AddressRefused(f"{ascii_name[:100]} is not the name of a public host")


def is_public(address: str) -> bool:
    """Return whether ``address`` is an IP address of the public internet."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = found.ipv4_mapped or (IPv4Address(int(found) & 0xFFFF_FFFF) if found in _NAT64 else None)  # it embeds that one
        if inner is None:
            return found in _GLOBAL_V6 and not any(found in net for net in _BAD_V6) and not found.is_multicast
        found = inner
    return found.is_global and not any(found in net for net in _BAD_V4)
