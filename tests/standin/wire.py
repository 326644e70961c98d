"""HTTP/1.1 requests off a stream, and replies as values. What a reply does on the wire is ``delivery``'s to decide."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.standin.charges import Charge

LARGEST_HEAD = 1 << 20


@dataclass(frozen=True)
class Request:
    """One request as it came. ``target`` is as on the request line; ``path`` without query, percent-decoded."""

    method: str
    target: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""

    @cached_property
    def path(self) -> str:
        return unquote(urlsplit(self.target).path)

    @cached_property
    def query(self) -> dict[str, str]:
        return dict(parse_qsl(urlsplit(self.target).query, keep_blank_values=True))

    def header(self, name: str, default: str = "") -> str:
        """Return the first header of that name (any case)."""
        return next((value for key, value in self.headers if key.lower() == name.lower()), default)

    def json_object(self) -> dict[str, Any] | None:
        """Return the body as a JSON object, or None when it is none."""
        try:
            found = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    def raw(self) -> bytes:
        """Return everything the client said, for a search in it."""
        heads = "".join(f"{key}: {value}\r\n" for key, value in self.headers)
        return f"{self.method} {self.target}\r\n{heads}\r\n".encode() + self.body


@dataclass(frozen=True)
class Reply:
    """A reply before it is delivered. ``charge`` is what the service bills for it, whether or not the client learns of it."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)
    charge: Charge | None = None

    def with_headers(self, **headers: str) -> Reply:
        """Return this reply with more headers; ``content_type="x"`` sets Content-Type."""
        named = {name.replace("_", "-").title(): value for name, value in headers.items()}
        return replace(self, headers={**self.headers, **named})

    @property
    def encoded(self) -> bool:
        """Whether the body carries a content coding already."""
        return "Content-Encoding" in self.headers


def phrase_of(status: int) -> str:
    """The words that go with a status."""
    return HTTPStatus(status).phrase if status in set(HTTPStatus) else f"Status {status}"


def json_reply(value: Any, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    """A JSON document as the services send it."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Reply(status, body, {"Content-Type": "application/json; charset=utf-8", **(headers or {})})


def text_reply(text: str, status: int = 200, media_type: str = "text/plain", headers: Mapping[str, str] | None = None) -> Reply:
    """A text in UTF-8."""
    return Reply(status, text.encode(), {"Content-Type": f"{media_type}; charset=utf-8", **(headers or {})})


async def read_request(reader: asyncio.StreamReader) -> Request:
    """Read the next request of a connection.

    Raises:
        IncompleteReadError: the client has closed the connection.
    """
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.partition(":") for line in lines if line)
    request = Request(method, target, tuple((name.strip(), value.strip()) for name, _, value in pairs))
    return replace(request, body=await reader.readexactly(int(request.header("Content-Length", "0"))))
