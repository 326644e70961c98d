"""DNS resolution in a thread of its own, so that a name server that never answers blocks neither other work nor the exit."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses to which the system resolves ``host``, each once, in the system's order.

    The system's call cannot be cancelled, so it runs in a daemon thread: asyncio and Python would wait for other threads.

    Raises:
        OSError: the name cannot be resolved.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def deliver(setter: Callable[[Any], None], what: object) -> None:
        if not answer.done():
            setter(what)

    def resolve() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            result = partial(deliver, answer.set_result, list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            result = partial(deliver, answer.set_exception, error if isinstance(error, OSError) else OSError(str(error)))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(result)

    Thread(target=resolve, name=f"address of {host}", daemon=True).start()
    return await answer
