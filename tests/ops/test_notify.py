"""``notify:`` in the settings: a night's digest goes to a phone, and nothing about it harms the night or tells the address."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from tests.commanding import said, workspace_in

TOPIC = "canary-topic-4f1c99e07ab2"
HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


class Service:
    """Keeps what is posted to it and answers with ``status``."""

    def __init__(self) -> None:
        self.heard: list[tuple[str, Any]] = []
        self.status = 200
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                service.heard.append((self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))
                self.send_response(service.status)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()


@pytest.fixture
def service() -> Iterator[Service]:
    one = Service()
    yield one
    one.server.shutdown()
    one.server.server_close()


def _workspace(folder: Path, notify: str) -> Path:
    made = workspace_in(folder / "ws", HARBOUR)
    queue = made / "queries.yaml"
    queue.write_text(f"settings: {{reasoner: extractive, search: [local], notify: {notify}}}\n{queue.read_text()}")
    return made


def test_the_digest_goes_to_a_topic_of_ntfy_and_to_a_webhook(tmp_path: Path, service: Service) -> None:
    folder = _workspace(tmp_path, f"{{ntfy: '{service.url}/{TOPIC}', webhook: '{service.url}/hook/{TOPIC}'}}")
    assert said(folder, "-q", "run").code == 0
    (path, ntfy), (hook, message) = service.heard
    assert (path, hook) == ("/", f"/hook/{TOPIC}")
    assert ntfy["topic"] == TOPIC
    assert ntfy["title"].startswith("Night of ")
    assert "How deep is the harbour?" in ntfy["message"]
    assert message["text"] == message["content"]
    assert message["text"].startswith(ntfy["title"])
    said(folder, "-q", "run")
    assert len(service.heard) == 2, "a run with nothing to do says nothing"


@pytest.mark.parametrize("status", [403, 0])
def test_a_digest_that_is_not_delivered_is_said_once_without_its_address_and_fails_no_night(
    tmp_path: Path, service: Service, status: int
) -> None:
    service.status = status
    address = f"{service.url}/{TOPIC}" if status else f"http://127.0.0.1:9/{TOPIC}"
    folder = _workspace(tmp_path, f"{{webhook: '{address}'}}")
    run = said(folder, "run")
    assert run.code == 0
    assert run.err.count("the digest was not delivered by webhook (127.0.0.1)") == 1
    logged = "".join(
        path.read_text(errors="replace") for path in (folder / "events").rglob("*") if path.suffix in (".log", ".jsonl")
    )
    assert "the digest was not delivered by webhook" in logged
    assert TOPIC not in run.out + run.err + logged
