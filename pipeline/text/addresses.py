"""Addresses as text: the one spelling of a page's, its host, its site. Whether it may be read, ``net.guard`` says.

Two spellings of a page's address count as one source: only what cannot change the page is normalised; ``http`` stays ``http``,
and ``www.`` stays.
"""

from __future__ import annotations

import os
import re
from urllib.parse import quote, unquote_plus, unquote_to_bytes, urlsplit, urlunsplit

from pipeline.errors import ReadFailed
from pipeline.text.cleaning import one_line

DOCUMENTS = "corpus:"  # how addresses of the user's documents begin
_LONGEST = 2_000
_KEPT = "/?:@!$&'()*+,;=-._~%[]"
_PORTS = {"http": 80, "https": 443}
# A name or an IPv6 address; what is no such is no page of the web.
_HOST = re.compile(r"\[[0-9a-f:.]+\]|[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_UNRESERVED = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
# Parameters by which links are followed; a page is the same without them, and would be another source with them.
_TRACKING = re.compile(
    r"utm_\w+|(?:g|fb|y|d|tw|tt)clid|msclkid|[gw]braid|gclsrc|mc_[ce]id|igshid|_ga|_gl|_hs(?:enc|mi)|hsa_\w+|mkt_tok|ref_src|"
    r"ref_url|srsltid|vero_(?:id|conv)|oly_(?:anon|enc)_id|s_cid|spm|wt_mc|__twitter_impression|cmpid|ncid|at_(?:medium|campaign)",
    re.IGNORECASE,
)
# A paper has one address, whichever of its versions and formats a link leads to.
_ARXIV = re.compile(r"/(?:abs|pdf|html)/((?:\d{4}\.\d{4,5}|[a-z-]+(?:\.[A-Za-z]{2})?/\d{7}))(?:v\d+)?(?:\.pdf)?/?")


def canonical(url: str) -> str:
    """Return the canonical address of a page, without fragment and tracking parameters; "" if ``url`` is no web address.

    One without a scheme (``//upload.wikimedia.org/x``) gets ``https``.
    """
    stripped = url.strip()
    try:
        parts = urlsplit(f"https:{stripped}" if stripped.startswith("//") else stripped)
        host, port = _host(parts.hostname or ""), parts.port
    except ValueError:
        return ""
    if (
        parts.scheme not in _PORTS
        or not host
        or "@" in parts.netloc
        or not all(sign.isprintable() and sign not in " \\" for sign in parts.netloc)
    ):
        return ""
    authority = host if port in (None, _PORTS[parts.scheme]) else f"{host}:{port}"
    kept = [part for part in parts.query.split("&") if part and not _TRACKING.fullmatch(unquote_plus(part.partition("=")[0]))]
    path, query = _path(parts.path), "&".join(map(percent_encoded, kept))
    if host.removeprefix("export.").removeprefix("www.") == "arxiv.org" and (paper := _ARXIV.fullmatch(path)):
        authority, path, query = "arxiv.org", f"/abs/{paper[1]}", ""
    found = f"{parts.scheme}://{authority}{path}{'?' + query if query else ''}"
    return found if len(found) <= _LONGEST else ""


def identity(url: str) -> str:
    """Return a key that is equal for addresses of one page: it ignores scheme, trailing slash and order of parameters."""
    _, _, rest = canonical(url).partition("://")
    path, _, query = rest.partition("?")
    return f"{path.rstrip('/')}?{'&'.join(sorted(query.split('&')))}"


def requested(url: str) -> str:
    """Return ``url`` as it is asked for: without fragment, its host in lower-case ASCII, the rest percent-encoded if needed.

    Raises:
        ReadFailed: the address cannot be parsed. (The guard decides whether it may be read.)
    """
    try:
        parts = urlsplit(url.strip())
        host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode("ascii")
    except (ValueError, UnicodeError):
        raise ReadFailed("the address is not valid") from None
    path = quote(parts.path.encode("utf-8", "replace"), safe=_KEPT) or "/"
    query = quote(parts.query.encode("utf-8", "replace"), safe=_KEPT)
    return urlunsplit((parts.scheme, host.lower(), path, query, ""))


def host_of(url: str) -> str:
    """Return the host of a web address, without port; "" for any other address."""
    return urlsplit(url).hostname or "" if url.startswith(("http://", "https://")) else ""


def site_of(url: str) -> str:
    """Return scheme, host and port: the scope of one robots.txt."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _host(name: str) -> str:
    """Return a host name in lower case and ASCII, or "" if it is invalid."""
    bare = name.lower().rstrip(".")
    if ":" in bare:
        bare = f"[{bare}]"
    elif not bare.isascii():
        bare = bare.encode("idna").decode("ascii")  # UnicodeError is a ValueError
    return bare if _HOST.fullmatch(bare) else ""


def _path(path: str) -> str:
    """Return a path with ``.`` and ``..`` resolved; the empty path becomes ``/``."""
    kept: list[str] = []
    parts = percent_encoded(path).split("/")[1:]
    for part in parts:
        if part == "..":
            kept = kept[:-1]
        elif part != ".":
            kept.append(part)
    if parts and parts[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def path_of(url: str) -> str:
    """Return the path of an address of the user's documents, relative to their folder; it is not checked."""
    return os.fsdecode(unquote_to_bytes(url.removeprefix(DOCUMENTS)))


def readable(url: str) -> str:
    """Return an address as people read it: that of one of the user's documents with the name that its file has, on one line."""
    return DOCUMENTS + one_line(path_of(url), _LONGEST) if url.startswith(DOCUMENTS) else url


def percent_encoded(text: str) -> str:
    """Return ``text`` with normalised percent-encoding: in upper case, and only where it is needed."""
    first, *parts = text.split("%")
    for part in parts:
        code = part[:2]
        if len(code) == 2 and all(sign in "0123456789abcdefABCDEF" for sign in code):
            byte = int(code, 16)
            first += (chr(byte) if byte in _UNRESERVED else f"%{code.upper()}") + part[2:]
        else:
            first += f"%25{part}"
    return quote(first, safe="%/:=&?~!$'()*+,;@-._[]", errors="replace")
