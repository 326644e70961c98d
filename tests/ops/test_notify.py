"""``notify:`` in the settings: a night's digest goes to a phone, and nothing about it harms the night or tells the address."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in
from tests.ops.listening import Listener, listening

TOPIC = "canary-topic-4f1c99e07ab2"
HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


@pytest.fixture
def service() -> Iterator[Listener]:
    with listening() as one:
        yield one


def _workspace(folder: Path, notify: str) -> Path:
    made = workspace_in(folder / "ws", HARBOUR)
    queue = made / "queries.yaml"
    queue.write_text(f"settings: {{reasoner: extractive, search: [local], notify: {notify}}}\n{queue.read_text()}")
    return made


def test_the_digest_goes_to_a_topic_of_ntfy_and_to_a_webhook(tmp_path: Path, service: Listener) -> None:
    folder = _workspace(tmp_path, f"{{ntfy: '{service.url}/{TOPIC}', webhook: '{service.url}/hook/{TOPIC}'}}")
    assert said(folder, "-q", "run").code == 0
    (path, _, ntfy), (hook, _, message) = service.heard
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
    tmp_path: Path, service: Listener, status: int
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
