"""Names to addresses, by a system that may never answer."""

from __future__ import annotations

import asyncio
import socket
import threading
from typing import Any

import pytest

from pipeline.net.guard import addresses_of


def test_a_name_that_nobody_knows_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_args: Any, **_kwargs: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    with pytest.raises(OSError, match="not known"):
        asyncio.run(addresses_of("nobody.example", 80))


def test_a_name_server_that_never_answers_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_kwargs: never.wait(60) and [])

    async def scene() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await addresses_of("slow.example", 80)

    asyncio.run(scene())
    assert [thread for thread in threading.enumerate() if thread.name == "address of slow.example"]
    never.set()
