"""A server on this machine that notes what it hears, for what the program sends to a monitor, to a phone, or to a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = Callable[[str, Any], tuple[int, bytes]]


class Listener:
    """Notes path, parameters, body and headers. It answers ``status`` with ``reply``, or what ``answer`` makes of path and body.

    302 leads to ``/elsewhere``; 0 is silence.
    """

    def __init__(self, reply: bytes = b"", answer: Answer | None = None) -> None:
        self.heard: list[tuple[str, dict[str, list[str]], Any]] = []
        self.headers: list[dict[str, str]] = []
        self.status, self.reply, self.silence = 200, reply, threading.Event()
        listener = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                data, parts = self.rfile.read(int(self.headers.get("content-length") or 0)), urlsplit(self.path)
                body = json.loads(data) if data else None
                listener.heard.append((parts.path, parse_qs(parts.query), body))
                listener.headers.append(dict(self.headers))
                status, reply = answer(parts.path, body) if answer else (listener.status, listener.reply)
                if not status:
                    listener.silence.wait(30)
                with suppress(OSError):  # whoever asked may have gone
                    self.send_response(status or 200)
                    self.send_header("location", "/elsewhere?rid=none")
                    self.send_header("content-length", str(len(reply)))
                    self.end_headers()
                    self.wfile.write(reply)

            do_GET = do_POST  # noqa: N815 - the library's name

            def log_message(self, format: str, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"http://127.0.0.1:{self.port}"


@contextmanager
def listening(reply: bytes = b"", answer: Answer | None = None) -> Iterator[Listener]:
    """Yield a server that listens while the context is open."""
    one = Listener(reply, answer)
    threading.Thread(target=one.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield one
    finally:
        one.silence.set()
        one.server.shutdown()
        one.server.server_close()
