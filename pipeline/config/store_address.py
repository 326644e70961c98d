"""Where the event log is kept: in files, or in the database at an address. An address is never shown with anything secret."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote, urlsplit

_SCHEMES = ("postgresql", "postgres")
_SECRET = {"password", "sslpassword"}
_PASSWORD_HINT = "leave it out; set PGPASSWORD, or put it into ~/.pgpass or a file that PGPASSWORD_FILE names"  # noqa: S105


FILES = "files"  # the word for the log in the workspace's own folder
VARIABLE = "RESEARCH_STORE"  # it says more than the setting
PASSWORD = "PGPASSWORD"  # noqa: S105 - the variable's name
_WANTED = "write store: postgresql://ROLE@HOST/DATABASE, or store: files"


def is_address(text: str) -> bool:
    """Return whether ``text`` is meant as the address of a database, and not as a folder."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def fault_of(text: str) -> tuple[str, str]:
    """Return what is wrong with an address, and what to write instead; both "" if it can be used. A password is not repeated."""
    try:
        parts = urlsplit(text)
        named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    except ValueError:
        return "the store's address cannot be read", _WANTED
    if parts.password is not None or named & _SECRET:
        return "the store's address holds a password, which others could read", _PASSWORD_HINT
    if parts.scheme not in _SCHEMES:
        return "this is no address of a store", _WANTED
    return "", ""


def shown(text: str) -> str:
    """Return the address as messages name it: role, host, port and database; never a password or another parameter."""
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "")
        role = f"{unquote(parts.username)}@" if parts.username else ""
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{role}{host}{parts.path}"
