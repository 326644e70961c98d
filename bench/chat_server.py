"""A server on this machine that speaks chat completions and passes each request to a function."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from pipeline.text.cleaning import tokens

LEAST_PREFIX = 1_024  # tokens: a cache serves no shorter prefix
MODEL = "bench/model"

Body = Mapping[str, Any]
Answer = Callable[[Body], str]


class Prefixes:
    """The prompts seen so far, to find how much of a new one a cache could serve."""

    def __init__(self) -> None:
        self._seen: list[str] = []

    def tokens_shared(self, prompt: str) -> int:
        """Return the tokens of the longest prefix that an earlier prompt had too, 0 if it is too short; remember the prompt."""
        longest = max((_common(prompt, earlier) for earlier in self._seen), default=0)
        self._seen.append(prompt)
        shared = tokens(prompt[:longest])
        return shared if shared >= LEAST_PREFIX else 0


def _common(one: str, other: str) -> int:
    """Return the length of the common prefix, in characters."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[low:middle] == other[low:middle] else (low, middle - 1)
    return low


def prompt_of(body: Body) -> str:
    """Return the messages of a request as one text."""
    return "\n".join(f"{message['role']}: {message['content']}" for message in body["messages"])


def schema_of(body: Body) -> Mapping[str, Any]:
    """Return the name and the schema of the reply that a request asks for; {} if it has none."""
    wanted: Mapping[str, Any] = (body.get("response_format") or {}).get("json_schema") or {}
    return wanted


def completion(body: Body, text: str, cached: int) -> dict[str, Any]:
    """Return the completion that says ``text``; ``cached`` tokens of its prompt are billed as served by a cache."""
    sent, received = tokens(prompt_of(body)), tokens(text)
    usage = {"prompt_tokens": sent, "completion_tokens": received, "total_tokens": sent + received}
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
    return {
        "id": "bench",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", MODEL),
        "choices": [choice],
        "usage": {**usage, "prompt_tokens_details": {"cached_tokens": cached}},
    }


@contextmanager
def serving(answer: Answer, port: int = 0) -> Iterator[str]:
    """Serve on the loopback address while the ``with`` block runs; the value is the base URL to write into ``queries.yaml``."""
    server = ThreadingHTTPServer(("127.0.0.1", port), _handler(answer, Prefixes(), threading.Lock()))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


def _handler(answer: Answer, prefixes: Prefixes, lock: threading.Lock) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._send({"object": "list", "data": [{"id": MODEL, "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if "messages" not in body:  # a question about the model's context, in the form of another server
                self.send_error(404)
                return
            with lock:
                cached = prefixes.tokens_shared(prompt_of(body))
            self._send(completion(body, answer(body), cached))

        def _send(self, value: Mapping[str, Any]) -> None:
            data = json.dumps(value, ensure_ascii=False).encode()
            try:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            except OSError:  # the client waited no longer; it will ask again
                self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing for each request."""

    return Handler
