"""A server on this machine that notes what it hears, for what the program sends to a monitor, to a phone, or to a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


class Listener:
    """Notes path, parameters and body. It answers ``status`` with ``reply``; 302 leads to ``/elsewhere``; 0 is silence."""

    def __init__(self, reply: bytes = b"") -> None:
        self.heard: list[tuple[str, dict[str, list[str]], Any]] = []
        self.status, self.reply, self.silence = 200, reply, threading.Event()
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body, parts = self.rfile.read(int(self.headers.get("content-length") or 0)), urlsplit(self.path)
                listener.heard.append((parts.path, parse_qs(parts.query), json.loads(body) if body else None))
                if not listener.status:
                    listener.silence.wait(30)
                with suppress(OSError):  # whoever asked may have gone
                    self.send_response(listener.status or 200)
                    self.send_header("location", "/elsewhere?rid=none")
                    self.send_header("content-length", str(len(listener.reply)))
                    self.end_headers()
                    self.wfile.write(listener.reply)

            do_GET = do_POST  # noqa: N815 - the library's name

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"


@contextmanager
def listening(reply: bytes = b"") -> Iterator[Listener]:
    """Yield a server that listens while the context is open."""
    one = Listener(reply)
    threading.Thread(target=one.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield one
    finally:
        one.silence.set()
        one.server.shutdown()
        one.server.server_close()
