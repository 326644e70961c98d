"""Names to addresses. A name server that never answers holds up nobody: neither other work nor the end of the program."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import Any


async def addresses_of(host: str, port: int) -> list[str]:
    """Return the addresses that the system knows for ``host``, each once, in its order.

    The system's call cannot be given up, so it is made in a thread of its own that nobody waits for at the end. A loop would
    wait for one of its threads, and so would Python.

    Raises:
        OSError: the name cannot be resolved.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def tell(say: Callable[[Any], None], what: object) -> None:
        if not answer.done():
            say(what)

    def look() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            said = partial(tell, answer.set_result, list(dict.fromkeys(str(entry[4][0]) for entry in found)))
        except (OSError, UnicodeError) as error:
            said = partial(tell, answer.set_exception, error if isinstance(error, OSError) else OSError(str(error)))
        with suppress(RuntimeError):  # the loop has ended meanwhile
            loop.call_soon_threadsafe(said)

    Thread(target=look, name=f"address of {host}", daemon=True).start()
    return await answer
