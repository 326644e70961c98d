"""Model servers on this machine: found, named, and never used unless the settings name them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.config.settings import load_workspace
from pipeline.ops.doctor import local_servers
from pipeline.ops.doctor.local_servers import local_findings

MODELS = {"object": "list", "data": [{"id": "nomic-embed-text"}, {"id": "qwen3:14b"}, {"id": "gemma3"}]}


class Handler(BaseHTTPRequestHandler):
    body = b""

    def do_GET(self) -> None:
        self.send_response(200 if self.path == "/v1/models" else 404)
        self.end_headers()
        self.wfile.write(self.body)

    def log_message(self, *_arguments: Any) -> None: ...


@pytest.fixture
def port(request: pytest.FixtureRequest) -> Iterator[int]:
    handler = type("Answering", (Handler,), {"body": getattr(request, "param", json.dumps(MODELS).encode())})
    server = HTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server.server_port
    server.shutdown()
    server.server_close()


def test_init_and_doctor_print_the_lines_that_use_a_server_and_do_not_use_it(
    port: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_servers.local_findings, "__defaults__", ({"Ollama": port},))
    folder = tmp_path / "w"
    for arguments in (["init", str(folder)], ["-C", str(folder), "doctor"]):
        printed = CliRunner().invoke(cli, arguments).output
        assert "Ollama answers on this machine, with qwen3:14b, gemma3" in printed
        assert f'  reasoner: {{model: "qwen3:14b", base_url: "http://localhost:{port}/v1"}}' in printed
    assert load_workspace(folder).queue.settings.reasoner == "auto"


def test_the_printed_lines_are_settings_that_can_be_read(port: int, tmp_path: Path) -> None:
    (server,) = local_servers.local_servers({"Ollama": port})
    (tmp_path / "queries.yaml").write_text("\n".join([*server.lines, "queries: [a]\n"]))
    reasoner = load_workspace(tmp_path).queue.settings.reasoner
    assert getattr(reasoner, "model", "") == "qwen3:14b"


@pytest.mark.parametrize("port", [b"<html>", b"[]", b'{"data": [1, {"id": 2}, {"id": "embed"}]}', b"\xff"], indirect=True)
def test_what_is_no_model_server_is_not_mentioned(port: int) -> None:
    assert local_findings({"Ollama": port, "nobody": 9}) == []
