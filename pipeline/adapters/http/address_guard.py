"""Which addresses may be connected to: the wall between the open web and everything that is not meant for it.

Names are checked before, addresses at the moment of connecting: every address that a name resolves to is looked at, one bad one
refuses the name, and the connection goes to the very address that was checked, so a name cannot change its mind in between.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import urlsplit

from pipeline.adapters.http.dns import addresses_of

MAX_URL = 2_000

Resolve = Callable[[str, int], Awaitable[list[str]]]
Origin = tuple[str, int]

_PORTS = {"http": 80, "https": 443}
_NAME = re.compile(r"(?=.{1,253}\Z)(?:[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?\.)+[a-z](?:[a-z0-9-]{0,61}[a-z0-9])\.?\Z")
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".intranet", ".lan", ".home", ".corp", ".home.arpa", ".onion", ".test")
_SPACE = re.compile(r"[\x00-\x20\x7f-\x9f\\\s]")

# Own tables: what the standard library calls global has changed between patch releases.
_BAD_V4 = tuple(
    ip_network(net)
    for net in (
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "168.63.129.16/32",  # a cloud's host agent, reachable from its guests alone
    )
)  # fmt: skip
_GLOBAL_V6 = IPv6Network("2000::/3")
# 2001::/23 holds Teredo and other tunnels, 2002::/16 is 6to4: both carry an IPv4 address that this host would not route itself.
_BAD_V6 = tuple(IPv6Network(net) for net in ("2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"))
_NAT64 = IPv6Network("64:ff9b::/96")


class AddressRefused(Exception):
    """The address is not one that may be connected to; the text says why, for a message."""


class AddressGuard:
    """Checks addresses before a connection. ``allowed`` are base URLs of servers that may be anywhere (a local model)."""

    def __init__(self, allowed: Iterable[str] = (), resolve: Resolve | None = None) -> None:
        self._allowed = frozenset(origin_of(base) for base in allowed)
        self._resolve = resolve or addresses_of

    def check_url(self, url: str) -> None:
        """Refuse an address by its spelling alone.

        Raises:
            AddressRefused: scheme, port, user, length or host is not what a page on the public web has.
        """
        host, port = origin_of(url)
        if (host, port) in self._allowed:
            return
        if port not in _PORTS.values():
            raise AddressRefused(f"port {port} is none that the web uses")
        _check_host(host)

    async def addresses(self, host: str, port: int) -> list[str]:
        """Return the addresses to connect to for ``host``, each one checked.

        Raises:
            AddressRefused: one of them at least is not public, or the port is none of the web's.
            OSError: the name cannot be resolved.
        """
        if (host.lower(), port) in self._allowed:
            return [host]
        if port not in _PORTS.values():
            raise AddressRefused(f"port {port} is none that the web uses")
        _check_host(host)
        found = await self._resolve(host.strip("[]"), port)
        for address in found:
            if not is_public(address):
                raise AddressRefused(f"{host} leads to an address that is not public")
        if not found:
            raise AddressRefused(f"{host} has no address")
        return found


def origin_of(url: str) -> Origin:
    """Return host (lower case, IPv6 without brackets) and port of an address.

    Raises:
        AddressRefused: it is no http or https address of at most 2,000 characters, or it names a user, or has no host.
    """
    if len(url) > MAX_URL:
        raise AddressRefused(f"the address is longer than {MAX_URL} characters")
    if _SPACE.search(url):
        raise AddressRefused("the address holds white space, control characters or a backslash")
    try:
        parts = urlsplit(url)
        host, port = (parts.hostname or "").lower(), parts.port
    except ValueError:
        raise AddressRefused("the address cannot be understood") from None
    if parts.scheme not in _PORTS:
        raise AddressRefused(f"only http and https are read, not {parts.scheme[:20] or 'an address without a scheme'}")
    if "@" in parts.netloc:
        raise AddressRefused("the address names a user")
    if not host or "%" in host:
        raise AddressRefused("the address has no proper host")
    return host, _PORTS[parts.scheme] if port is None else port


def _check_host(host: str) -> None:
    """Refuse a host that is a private name, or an address in any but its usual spelling, or one that is not public."""
    if ":" in host or re.fullmatch(r"\d{1,3}(?:\.\d{1,3}){3}", host):
        if not is_public(host.strip("[]")):
            raise AddressRefused(f"{host} is not a public address")
        return
    try:
        ascii_name = host.encode("idna").decode("ascii").lower() if not host.isascii() else host.lower()
    except UnicodeError:
        raise AddressRefused("the host's name is not valid") from None
    bare = "." + ascii_name.rstrip(".")
    if not _NAME.match(ascii_name) or bare.endswith(_PRIVATE_NAMES):
        raise AddressRefused(f"{ascii_name[:100]} is no name of a public host")


def is_public(address: str) -> bool:
    """Return whether ``address`` belongs to the public internet. What is not an address at all does not."""
    try:
        found = ip_address(address)
    except ValueError:
        return False
    if isinstance(found, IPv6Address):
        inner = _inner(found)
        if inner is None:
            return found in _GLOBAL_V6 and not any(found in net for net in _BAD_V6) and not found.is_multicast
        found = inner
    return found.is_global and not any(found in net for net in _BAD_V4)


def _inner(address: IPv6Address) -> IPv4Address | None:
    """Return the IPv4 address that ``address`` stands for, if it does."""
    if address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return IPv4Address(int(address) & 0xFFFF_FFFF) if address in _NAT64 else None
