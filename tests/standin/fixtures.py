"""The stand-in for tests: in a thread with a loop of its own, so that the command line's tests may use it too.

``from tests.standin.fixtures import standin`` in a test module or ``conftest.py`` makes the fixture known;
``hosted(Options(...))`` is the same as a context manager, for options of one's own.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.standin.options import Options
from tests.standin.server import Standin


@contextmanager
def hosted(options: Options | None = None) -> Iterator[Standin]:
    """Run a server in a thread of its own until the block ends."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="standin", daemon=True)
    thread.start()
    server = Standin(options)
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result(10)
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(10)
        loop.close()


@pytest.fixture(name="standin")
def standin() -> Iterator[Standin]:
    """A server with the default options."""
    with hosted() as server:
        yield server
