"""Page addresses for requests: absolute, without fragment, host in ASCII; redirect targets, sites and hosts."""

from __future__ import annotations

from urllib.parse import quote, urljoin, urlsplit, urlunsplit

from pipeline.errors import ReadFailed

_SAFE = "/?:@!$&'()*+,;=-._~%[]"


def canonical(url: str) -> str:
    """Return ``url`` without fragment, with its host in lower-case ASCII and the rest percent-encoded where needed.

    Raises:
        ReadFailed: the address cannot be parsed. (The guard decides whether it may be read.)
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise ReadFailed("the address is not valid") from None
    path = quote(parts.path.encode("utf-8", "replace"), safe=_SAFE) or "/"
    query = quote(parts.query.encode("utf-8", "replace"), safe=_SAFE)
    return urlunsplit((parts.scheme, host.lower(), path, query, ""))


def redirect_target(base: str, location: str) -> str:
    """Return the canonical target of a redirect from ``base`` to ``location``.

    Raises:
        ReadFailed: the target cannot be parsed.
    """
    try:
        return canonical(urljoin(base, location.strip()))
    except ValueError:
        raise ReadFailed("it redirects to an address that is not valid") from None


def site_of(url: str) -> str:
    """Return scheme, host and port: the scope of one robots.txt."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def host_of(url: str) -> str:
    """Return the host, without port."""
    return urlsplit(url).hostname or ""
