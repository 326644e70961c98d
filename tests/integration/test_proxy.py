"""A whole session through somebody else's server: LiteLLM's proxy, before the stand-in model, which follows a schema.

    pip install -e '.[proxy]'

Every request and reply is read, checked and rewritten by the proxy: its parameters, the schema, usage, errors.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from pipeline.domain.events import session_events as e
from pipeline.domain.events.json_codec import decode_all
from pipeline.store.files import FileStore
from tests.standin.server import Standin

pytest.importorskip("litellm.proxy.proxy_cli", reason="no proxy to ask: pip install -e '.[proxy]'")

KEY = "sk-of-this-test"
START_S = 120  # it imports a great deal


@contextmanager
def standin_model() -> Iterator[str]:
    """Serve the honest stand-in from a thread; the value is the base URL of its model."""
    loop, standin = asyncio.new_event_loop(), Standin()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    asyncio.run_coroutine_threadsafe(standin.start(), loop).result(30)
    try:
        yield standin.openai_url
    finally:
        asyncio.run_coroutine_threadsafe(standin.stop(), loop).result(30)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def proxied(folder: Path, url: str, key: str) -> Iterator[str]:
    """Run the proxy before ``url``; the value is its own base URL."""
    route = {"model": "openai/gpt-5.2", "api_base": url, "api_key": key}
    (folder / "proxy.json").write_text(json.dumps({"model_list": [{"model_name": "proxied", "litellm_params": route}]}))
    port = free_port()
    command = [sys.executable, "-c", "from litellm.proxy.proxy_cli import run_server; run_server()"]
    command += ["--config", str(folder / "proxy.json"), "--host", "127.0.0.1", "--port", str(port)]
    quiet = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": KEY}
    with (folder / "proxy.log").open("wb") as log:
        running = subprocess.Popen(command, stdout=log, stderr=log, env={**os.environ, **quiet})
    try:
        wait_for(f"http://127.0.0.1:{port}/v1/models", running, folder / "proxy.log")
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        running.terminate()
        running.wait(30)


def wait_for(url: str, running: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and running.poll() is None:
        try:
            if httpx.get(url, headers={"Authorization": f"Bearer {KEY}"}, timeout=5).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    pytest.fail(f"the proxy did not start: {log.read_text()[-2000:]}")


def workspace(folder: Path, url: str) -> Path:
    (folder / "corpus").mkdir(parents=True)
    for name, hours in {"kilns": 40, "ovens": 40, "stoves": 12}.items():
        (folder / "corpus" / f"{name}.md").write_text(
            f"# {name.title()}\n\nThe heat of a brick kiln stays for {hours} hours after firing, as {name} have shown.\n\n"
            f"A kiln of brick needs 900 degrees to burn lime. Builders of {name} keep the door closed while the kiln cools.\n"
        )
    (folder / "queries.yaml").write_text(
        f'settings:\n  reasoner: {{model: proxied, base_url: "{url}", key: PROXY_KEY}}\n  search: [local]\n'
        "queries:\n  - {query: How long does a brick kiln keep its heat after firing?, mode: fast}\n"
    )
    return folder


def research(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipeline", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, env={**os.environ, "PROXY_KEY": KEY})


def test_a_session_is_complete_through_a_real_proxy(tmp_path: Path) -> None:
    with standin_model() as url, proxied(tmp_path, url, "sk-standin") as base:
        folder = workspace(tmp_path / "workspace", base)
        run = research(folder, "run")
    assert run.returncode == 0, run.stdout + run.stderr
    store = FileStore(folder / "events")
    (name,) = store.session_ids()
    events = list(decode_all(record.data for record in store.load(name)))
    assert any(isinstance(event, e.ResearchCompleted) for event in events)
    assert not any(isinstance(event, e.StepFailed) for event in events)
    (report,) = (folder / "vault" / "reports").rglob("*.md")
    assert "40 hours" in report.read_text()
    assert research(folder, "verify").returncode == 0
