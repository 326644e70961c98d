"""The address of a database: checked, and shown without anything secret."""

from __future__ import annotations

import re
from urllib.parse import parse_qsl, unquote, urlsplit

from pipeline.errors import UsageError

_SCHEMES = ("postgresql", "postgres")
_SECRET = {"password", "sslpassword"}
_PASSWORD_HINT = "leave it out; set PGPASSWORD, or put it into ~/.pgpass or a file that PGPASSWORD_FILE names"  # noqa: S105


def is_address(text: str) -> bool:
    """Return whether ``text`` is meant as the address of a database, and not as a folder."""
    return re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", text) is not None


def checked(text: str) -> str:
    """Return the address.

    Raises:
        UsageError: it is none, or holds a password. The message does not show it.
    """
    try:
        parts = urlsplit(text)
        named = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        has_password = parts.password is not None or bool(named & _SECRET)
    except ValueError:
        raise UsageError("the store's address cannot be read", hint="write postgresql://ROLE@HOST/DATABASE") from None
    if has_password:
        raise UsageError("the store's address holds a password, which others could read", hint=_PASSWORD_HINT)
    if parts.scheme not in _SCHEMES:
        raise UsageError(f"a store of the kind {parts.scheme!r} is unknown", hint="write postgresql://ROLE@HOST/DATABASE")
    return text


def shown(text: str) -> str:
    """Return the address as messages name it: role, host, port and database; never a password or another parameter."""
    try:
        parts = urlsplit(text)
        host = parts.netloc.rpartition("@")[2] or dict(parse_qsl(parts.query)).get("host", "")
        role = f"{unquote(parts.username)}@" if parts.username else ""
    except ValueError:
        return "postgresql://…"
    return f"postgresql://{role}{host}{parts.path}"
