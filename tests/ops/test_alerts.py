"""What a monitor and a phone hear of a night, and that nothing about it can harm the night or tell the address."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import UsageError
from pipeline.ops import console_output as consoles
from pipeline.ops.console_output import LOG_FILE, Console
from pipeline.ops.pings_and_digests import MonitorPing, read_address, secrets_in
from pipeline.ops.unattended import unattended_run
from pipeline.text.redaction import Redaction, Secret
from tests.commanding import said, workspace_in
from tests.ops.listening import Listener, listening

CHECK = "0b1c7d3e-5f60-4a7e-9d59-canary0ping0"


@pytest.fixture
def service() -> Iterator[Listener]:
    with listening() as one:
        yield one


@pytest.fixture
def monitor(service: Listener) -> Listener:
    service.url = f"{service.url}/{CHECK}"
    return service


def pinged(monitor: Listener, **kwargs: Any) -> None:
    ping = MonitorPing(Secret(monitor.url), **kwargs)
    ping.send_start()
    ping.send_end(3, {"summary": "2 reports"})


def test_a_monitor_hears_of_the_start_then_of_the_exit_code_with_one_run_id_and_a_body(monitor: Listener) -> None:
    pinged(monitor)
    (start, first, nothing), (end, second, body) = monitor.heard
    assert (start, end) == (f"/{CHECK}/start", f"/{CHECK}/3")
    assert first["rid"] == second["rid"]
    assert (nothing, body) == (None, {"summary": "2 reports"})


def test_an_address_with_parameters_and_a_slash_keeps_them(monitor: Listener) -> None:
    MonitorPing(Secret(f"{monitor.url}/?create=1")).send_end(0, {})
    assert monitor.heard[0][0] == f"/{CHECK}/0"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_a_monitor_that_refuses_is_logged_without_its_address_and_a_redirect_is_not_followed(
    monitor: Listener, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    monitor.status = status
    with caplog.at_level(logging.WARNING):
        pinged(monitor)
    assert all("elsewhere" not in path for path, _, _ in monitor.heard)
    redacted = Redaction(secrets_in(Secret(monitor.url))).text(caplog.text)
    assert "was not delivered" in redacted
    assert CHECK not in redacted


def test_a_monitor_that_never_answers_and_one_that_is_not_there_are_given_up(monitor: Listener) -> None:
    monitor.status = 0
    pinged(monitor, deadline_s=0.2)
    assert monitor.heard
    MonitorPing(Secret("http://127.0.0.1:9/nobody"), deadline_s=0.2).send_end(0, {})


def test_a_fault_of_the_program_leaves_its_traceback_and_is_told_to_the_monitor(tmp_path: Path, monitor: Listener) -> None:
    (tmp_path / "queries.yaml").write_text("queries: []\n")
    (tmp_path / "ping").write_text(monitor.url)
    console = Console(tmp_path, quiet=False, verbose=False, as_json=False, color=False)
    with pytest.raises(ZeroDivisionError), unattended_run(console, "research run", tmp_path / "ping"):
        _ = 1 / 0
    consoles._masks.clear()
    assert "ZeroDivisionError: division by zero" in (tmp_path / LOG_FILE).read_text("utf-8")
    assert monitor.heard[-1][0].endswith("/1")
    assert monitor.heard[-1][2]["summary"] == "unexpected ZeroDivisionError"


@pytest.mark.parametrize("content", [b"", b"ftp://hc.example/x", b"two words", b"\xff\xfe", None])
def test_a_file_without_an_address_is_named_and_what_it_holds_is_not_told(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "ping"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(UsageError, match="ping-url-file") as caught:
        read_address(path)
    assert "two words" not in str(caught.value)


def test_no_part_of_the_address_that_tells_it_gets_through() -> None:
    url = f"https://hc.example/{CHECK}/night?token=abcdefghijklmnop1"
    redaction = Redaction(secrets_in(Secret(url)))
    for text in (url, f"at hc.example/{CHECK}/start", "token=abcdefghijklmnop1"):
        assert CHECK not in redaction.text(text)
        assert "abcdefghijklmnop1" not in redaction.text(text)
    assert redaction.text("a night at hc.example") == "a night at hc.example"


# ---- the digest of a night, posted ----


TOPIC = "canary-topic-4f1c99e07ab2"
HARBOUR = "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n"


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
