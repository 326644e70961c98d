"""A whole run whose model and search are reached through a proxy, behind certificates of a private authority."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import trustme

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.store.files import FileStore
from tests.integration.stage import queue_text
from tests.standin.server import Standin

MODEL, SEARCH = "model.example.org", "search.example.org"


class Proxy:
    """Opens connections to two hosts, with certificates of its own, and passes them on to the stand-in in plain text."""

    def __init__(self, authority: trustme.CA, standin: Standin) -> None:
        self.asked: list[str] = []
        self._standin = standin
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(MODEL, SEARCH).configure_cert(self._context)

    async def start(self) -> str:
        opened = await asyncio.start_server(self._plain, "127.0.0.1", 0, ssl=self._context)
        self._behind = opened.sockets[0].getsockname()[1]
        server = await asyncio.start_server(self._connect, "127.0.0.1", 0)
        return f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"

    async def _plain(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._joined(reader, writer, self._standin.state.port)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.asked.append((await reader.readuntil(b"\r\n\r\n")).decode().split()[1])
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await self._joined(reader, writer, self._behind)

    async def _joined(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        there = await asyncio.open_connection("127.0.0.1", port)
        await asyncio.gather(_pass_on(reader, there[1]), _pass_on(there[0], writer), return_exceptions=True)


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65_536):
        writer.write(data)
        await writer.drain()
    writer.close()


@contextmanager
def proxied(authority: trustme.CA) -> Iterator[tuple[Standin, Proxy, str]]:
    loop, standin = asyncio.new_event_loop(), Standin()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(standin.start(), loop).result(30)
    proxy = Proxy(authority, standin)
    try:
        yield standin, proxy, asyncio.run_coroutine_threadsafe(proxy.start(), loop).result(30)
    finally:
        asyncio.run_coroutine_threadsafe(standin.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def test_a_run_reaches_its_model_and_its_search_through_the_proxy_and_its_pages_without(tmp_path: Path) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    folder = tmp_path / "workspace"
    (folder / "events").mkdir(parents=True)
    with proxied(authority) as (standin, proxy, address):
        queue = queue_text(standin).replace(standin.openrouter_url, f"https://{MODEL}/api/v1")
        brave = f'brave: "{standin.base_url}"'
        assert brave in queue
        (folder / "queries.yaml").write_text(
            queue.replace(brave, f'brave: "https://{SEARCH}"').replace("id: pumps", "id: pumps, mode: fast")
        )
        quiet = {name: value for name, value in os.environ.items() if not name.endswith(("_API_KEY", "_PROXY", "_proxy"))}
        env = quiet | {"HTTPS_PROXY": address, "OPENROUTER_API_KEY": "sk-standin", "BRAVE_API_KEY": "key"}
        command = [sys.executable, "-m", "pipeline", "-C", str(folder), "run"]
        distrusted = subprocess.run(command, capture_output=True, text=True, timeout=200, env=env)
        assert distrusted.returncode != 0
        assert "certificate is not valid (through the proxy" in distrusted.stdout + distrusted.stderr
        trusting = env | {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
        run = subprocess.run([*command, "pumps"], capture_output=True, text=True, timeout=200, env=trusting)
    assert run.returncode == 0, run.stdout + run.stderr
    assert {one.partition(":")[0] for one in proxy.asked} == {MODEL, SEARCH}
    store = FileStore(folder / "events")
    events = [event for name in store.ids("session") for event in decode_all(record.data for record in store.load(name))]
    assert any(isinstance(event, e.ResearchCompleted) for event in events)
    assert any(isinstance(event, e.PageRead) for event in events)
    assert list((folder / "vault" / "reports").rglob("*.md"))
