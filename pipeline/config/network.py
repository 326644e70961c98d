"""The way out to the network: through which proxy an address is asked, and which authorities vouch for servers."""

from __future__ import annotations

import ssl
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network
from urllib.parse import unquote, urlsplit

from pipeline.config.keys import Keys
from pipeline.config.values import Settings
from pipeline.errors import UsageError
from pipeline.text.redaction import Secret

SETTING = "proxy"
_VARIABLES = {"https": ("HTTPS_PROXY", "ALL_PROXY"), "http": ("HTTP_PROXY", "ALL_PROXY")}


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy. ``source`` is the setting or variable that names it; ``address`` may hold a user and a password."""

    source: str
    address: str = field(repr=False)

    @property
    def origin(self) -> str:
        """Its address without user and password."""
        return f"{urlsplit(self.address).scheme}://{self.place}"

    @property
    def place(self) -> str:
        """Its host and port, for messages."""
        return urlsplit(self.address).netloc.rpartition("@")[2]


@dataclass(frozen=True, slots=True)
class Route:
    """The way of one client. ``proxies`` are by scheme; ``unused`` says which proxy of the environment is not used, and why.

    ``direct`` are hosts that are asked without a proxy, as in ``NO_PROXY``. ``ca_file`` holds authorities beside the usual ones.
    """

    proxies: Mapping[str, Proxy] = field(default_factory=dict)
    direct: Sequence[str] = ()
    ca_file: str = ""
    unused: str = ""

    def proxy_for(self, url: str) -> Proxy | None:
        """Return the proxy through which an address is asked, or None: this machine is always asked directly."""
        parts = urlsplit(url)
        host = (parts.hostname or "").lower()
        direct = host == "localhost" or host.endswith(".localhost") or _is_loopback(host)
        if direct or any(_names(entry, host, parts.port) for entry in self.direct):
            return None
        return self.proxies.get(parts.scheme)

    def said(self, url: str) -> str:
        """Return what a message about a failed connection adds: the proxy that was used, or that was not."""
        if proxy := self.proxy_for(url):
            return f" (through the proxy {proxy.place}, from {proxy.source})"
        if self.proxies.get(urlsplit(url).scheme):
            return " (without the proxy: the address is on this machine, or NO_PROXY names it)"
        return f" (without {self.unused})" if self.unused else ""


def services_route(settings: Settings, keys: Keys) -> Route:
    """Return the way to models and search providers: the setting's proxy, else the environment's.

    Raises:
        UsageError: a file of authorities cannot be used.
    """
    ca_file = _readable(settings.ca_file, "ca_file") or _readable(keys.value("SSL_CERT_FILE"), "SSL_CERT_FILE")
    proxies = _from_setting(settings, keys)
    usual, others = _from_environment(keys)
    return Route(proxies or usual, _direct(keys), ca_file, "" if proxies else others)


def pages_route(settings: Settings, keys: Keys) -> Route:
    """Return the way to web pages: through a proxy only if the setting names one, since a proxy chooses its own addresses.

    Raises:
        UsageError: the file of authorities cannot be used.
    """
    proxies, sources = _from_setting(settings, keys), sorted({one.source for one in _from_environment(keys)[0].values()})
    unused = f"the proxy of {' and '.join(sources)}: pages use only the setting `proxy:`" if sources and not proxies else ""
    return Route(proxies, _direct(keys), _readable(settings.ca_file, "ca_file"), unused)


def proxy_secrets(keys: Keys) -> tuple[Secret, ...]:
    """Return the passwords of the environment's proxies."""
    names = dict.fromkeys(name for both in _VARIABLES.values() for name in both)
    found = (urlsplit(_value(keys, name)).password for name in names)
    return tuple(Secret(unquote(password)) for password in found if password)


def _readable(ca_file: str, source: str) -> str:
    try:
        if ca_file:
            ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=ca_file)
    except OSError as error:  # errors of TLS are such too
        raise UsageError(
            f"{source}: no certificates can be read from {ca_file}", hint="name a PEM file of authorities"
        ) from error
    return ca_file


def _from_setting(settings: Settings, keys: Keys) -> dict[str, Proxy]:
    """Return the setting's proxy, with the user and password of the environment's if that is the same one."""
    if not settings.proxy:
        return {}
    proxy = Proxy(SETTING, settings.proxy)
    known = next((one.address for one in _from_environment(keys)[0].values() if one.place == proxy.place), settings.proxy)
    return dict.fromkeys(("http", "https"), Proxy(SETTING, known))


def _from_environment(keys: Keys) -> tuple[dict[str, Proxy], str]:
    """Return the environment's proxies, and what to say of one that is no http proxy: without the network, nothing needs it."""
    found: dict[str, Proxy] = {}
    others = ""
    for scheme, names in _VARIABLES.items():
        source, address = next(((name, value) for name in names if (value := _value(keys, name))), ("", ""))
        if address:
            whole = address if "://" in address else f"http://{address}"
            parts = urlsplit(whole)
            if parts.scheme in _VARIABLES and parts.hostname:
                found[scheme] = Proxy(source, whole)
            else:
                others = f"the proxy of {source}: only http proxies are supported"
    return found, others


def _value(keys: Keys, name: str) -> str:
    return keys.value(name.lower()) or keys.value(name)


def _direct(keys: Keys) -> tuple[str, ...]:
    return tuple(entry.strip().lower() for entry in _value(keys, "NO_PROXY").split(",") if entry.strip())


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _names(entry: str, host: str, port: int | None) -> bool:
    """Return whether an entry of ``NO_PROXY`` names a host: ``*``, a domain with its subdomains, an address or a network."""
    if entry == "*":
        return True
    try:
        return ip_address(host) in ip_network(entry, strict=False)
    except ValueError:
        name, colon, wanted = entry.partition(":")
        bare = name.removeprefix("*").removeprefix(".")
        return (not colon or wanted == str(port)) and bool(bare) and (host == bare or host.endswith(f".{bare}"))
