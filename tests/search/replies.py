"""Replies as providers send them, through a transport that follows a script instead of the network."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import httpx

from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.search.providers import Provider, WebSearch
from tests.net.clocks import Clock

Scripted = httpx.Response | Exception


def reply(body: Any = None, status: int = 200, headers: Mapping[str, str] | None = None) -> httpx.Response:
    """A reply with ``body`` as JSON, or as it is when it is text or bytes."""
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    return httpx.Response(status, headers=dict(headers or {}), stream=httpx.ByteStream(_bytes(content)))


def _bytes(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content


class Script(httpx.AsyncBaseTransport):
    """Gives out replies in order, the last one for ever; keeps the requests. A function makes a reply when it is asked."""

    def __init__(self, *replies: Scripted | Callable[[], httpx.Response]) -> None:
        self._replies = list(replies)
        self.requests: list[httpx.Request] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        step = self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]
        found = step() if callable(step) else step
        if isinstance(found, Exception):
            raise found
        return found


class Bench:
    """A provider behind the port, on a scripted network and a clock that only sleeping moves."""

    def __init__(self, provider: Provider, *replies: Scripted | Callable[[], httpx.Response], gap_s: float = 0.0) -> None:
        self.clock = Clock()
        self.script = Script(*replies)
        http = HttpClient(
            Policy(), guard=AddressGuard(), transport=self.script, clock=self.clock, sleep=self.clock.sleep, random=Random(1)
        )
        provider.gap_s = gap_s or provider.gap_s
        headers = {"user-agent": "night-research/test"}
        self.search = WebSearch(provider, http, headers, clock=self.clock, sleep=self.clock.sleep)

    @property
    def hits(self) -> int:
        """How many requests were sent."""
        return len(self.script.requests)

    @property
    def asked(self) -> httpx.Request:
        """The first request."""
        return self.script.requests[0]
