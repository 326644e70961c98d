"""Addresses as pages are asked for: absolute, without fragment, the host in ASCII."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from pipeline.errors import ReadFailed

_SAFE = "/?:@!$&'()*+,;=-._~%[]"


def canonical(url: str) -> str:
    """Return ``url`` without fragment, its host in lower-case ASCII, the rest percent-encoded where it must be.

    Raises:
        ReadFailed: it cannot be understood. Whether it may be read is the guard's to say.
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise ReadFailed("the address cannot be understood") from None
    path = quote(parts.path.encode("utf-8", "replace"), safe=_SAFE) or "/"
    query = quote(parts.query.encode("utf-8", "replace"), safe=_SAFE)
    return urlunsplit((parts.scheme, host.lower(), path, query, ""))


def joined(base: str, location: str) -> str:
    """Return where a redirect from ``base`` to ``location`` leads, canonical.

    Raises:
        ReadFailed: it cannot be understood.
    """
    try:
        return canonical(urljoin(base, location.strip()))
    except ValueError:
        raise ReadFailed("it redirects to an address that cannot be understood") from None


def site_of(url: str) -> str:
    """Return scheme, host and port: what one robots.txt speaks for."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def host_of(url: str) -> str:
    """Return the host, without port."""
    return urlsplit(url).hostname or ""
