"""``Server``: serves the site, reloads open pages after each build, and takes what a person calls useful or wrong.

Usually only the loopback address is bound, and only a request that names it is answered: a page elsewhere cannot read the site by
giving its own name this address. On another address each request needs a token, which the address that is printed holds. Nothing
but plain files below the site's folder is served.
"""

from __future__ import annotations

import errno
import json
import mimetypes
import os
import secrets
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from html import escape
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pipeline.errors import ResearchError, UsageError
from pipeline.system.files import read_bytes

HOST = "127.0.0.1"
_HERE = Path(__file__).parent
_EVENTS, _SCRIPT, _RATE = "/-/events", "/-/reload.js", "/-/rate"
_MOST_BYTES = 4_000  # of what a page sends
_LINK = '<script src="/-/reload.js?{}" defer></script>\n</head>'
_STYLE = "/-/problem.css"
_PROBLEM = '<link rel="stylesheet" href="/-/problem.css"><div class="build-problem" role="alert"><pre>{}</pre></div>'
_ALIVE_S = 15
_TYPES = {
    ".js": "text/javascript",
    ".html": "text/html; charset=utf-8",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".webmanifest": "application/manifest+json",
}


class BuildNotice:
    """The number of builds so far, and a way to wait for the next one."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.count = 0

    def tell(self) -> None:
        """Count one more build."""
        with self._changed:
            self.count += 1
            self._changed.notify_all()

    def wait(self, seen: int, timeout_s: float) -> int:
        """Wait until the count differs from ``seen``, or the time is over; return it."""
        with self._changed:
            self._changed.wait_for(lambda: self.count != seen, timeout_s)
            return self.count


class Server:
    """Serves the folder ``site`` from a thread. ``port`` 0 takes a free one; ``address`` contains it.

    ``host`` is the address to bind. ``rate`` is called with a note's path, the id of a quote's block, and ``useful``,
    ``wrong`` or "".
    """

    def __init__(self, site: Path, port: int, host: str = HOST, rate: Callable[[str, str, str], None] | None = None) -> None:
        self.news = BuildNotice()
        try:
            self._http = _Http((host, port), _Handler)
        except OSError as error:
            if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
                hint = "name an address of this machine, or 0.0.0.0 for all it has"
                raise UsageError(f"{host} is no address of this machine: {error.strerror}", hint=hint) from error
            hint = "name another: research serve --port 0 takes any that is free"
            raise UsageError(f"port {port} cannot be used: {error.strerror}", hint=hint) from error
        self._http.site, self._http.news, self._http.rate = site, self.news, rate
        self._http.token = "" if host == HOST else secrets.token_urlsafe(18)
        query = f"?token={self._http.token}" if self._http.token else ""
        self.address = f"http://{host}:{self._http.server_address[1]}/{query}"

    def start(self) -> None:
        """Start to answer requests."""
        threading.Thread(target=self._http.serve_forever, name="site", daemon=True).start()

    def show(self, problem: str) -> None:
        """Show in every open page why the last build failed; "" when it did not."""
        if problem or self._http.problem:
            self._http.problem = problem
            self.news.tell()

    def stop(self) -> None:
        """Stop answering requests."""
        self._http.shutdown()
        self._http.server_close()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    site: Path
    news: BuildNotice
    problem: str = ""
    token: str = ""
    rate: Callable[[str, str, str], None] | None = None


class _Handler(BaseHTTPRequestHandler):
    server: _Http
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        """Answer requests until the client is gone, which it may be at any time."""
        with suppress(ConnectionError):
            super().handle()

    def do_GET(self) -> None:
        """Answer with a file, the script that reloads pages, or its stream of events."""
        path, shown = unquote(urlsplit(self.path).path), urlsplit(self.path).query
        if not self._may_pass(shown):
            return
        if path == _EVENTS:
            self._tell_news(int(shown) if shown.isdecimal() and len(shown) < 10 else self.server.news.count)
        elif path == _SCRIPT:
            self._send(HTTPStatus.OK, _TYPES[".js"], read_bytes(_HERE / "serve.js"))
        elif path == _STYLE:
            self._send(HTTPStatus.OK, "text/css", read_bytes(_HERE / "serve.css"))
        else:
            self._send_file(path)

    def do_POST(self) -> None:
        """Take a rating. Only a page of this site can send one: another cannot send JSON here without being asked first."""
        size = self.headers.get("content-length", "")
        kind, rate = self.headers.get("content-type", ""), self.server.rate
        if not self._may_pass(""):
            return
        if self.path != _RATE or rate is None or kind != "application/json" or not size.isdecimal() or int(size) > _MOST_BYTES:
            self._send(HTTPStatus.NOT_FOUND, "text/plain", b"nothing takes this\n")
            return
        try:
            given = json.loads(self.rfile.read(int(size)))
            note, block, rating = (str(given[name]) for name in ("note", "block", "rating"))
            if rating not in {"useful", "wrong", ""}:
                raise ValueError(rating)
            rate(note, block, rating)
        except (ValueError, KeyError, TypeError, ResearchError) as error:
            self._send(HTTPStatus.BAD_REQUEST, "text/plain", f"not recorded: {error}\n".encode())
            return
        self._send(HTTPStatus.OK, "text/plain", b"recorded\n")

    def do_HEAD(self) -> None:
        """Answer without the file."""
        self.do_GET()

    def log_message(self, format: str, *args: Any) -> None:
        """Do not log requests; they come from this machine only."""

    def _may_pass(self, query: str) -> bool:
        """Tell whether a request is answered; if not, it has been told why. The token comes once, then a cookie has it."""
        token, host = self.server.token, self.headers.get("host", "")
        if not token and (host.rpartition(":")[0] or host) not in {HOST, "localhost"}:
            self._send(HTTPStatus.MISDIRECTED_REQUEST, "text/plain", b"this server answers to 127.0.0.1 and localhost only\n")
            return False
        if not token or f"research={token}" in self.headers.get("cookie", ""):
            return True
        if query == f"token={token}":
            self.send_response(HTTPStatus.SEE_OTHER)
            self.send_header("Set-Cookie", f"research={token}; HttpOnly; SameSite=Strict; Path=/; Max-Age=31536000")
            self.send_header("Location", urlsplit(self.path).path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return False
        self._send(HTTPStatus.FORBIDDEN, "text/plain", b"open the address that research serve printed, with its token\n")
        return False

    def _send_file(self, path: str) -> None:
        name = path.lstrip("/") + ("index.html" if path.endswith("/") else "")
        data = _plain_file(self.server.site, name)
        status = HTTPStatus.OK
        if data is None:
            name, status = "404.html", HTTPStatus.NOT_FOUND
            data = _plain_file(self.server.site, name) or b"there is no site yet; research build makes it\n"
        suffix = os.path.splitext(name)[1].lower()  # noqa: PTH122 - a part of an address
        kind = _TYPES.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        if suffix == ".html":  # with the script that waits for the next build, and the problem of the last
            data = data.replace(b"</head>", _LINK.format(self.server.news.count).encode(), 1)
            if self.server.problem:
                at = data.find(b">", data.find(b"<body")) + 1
                data = data[:at] + _PROBLEM.format(escape(self.server.problem)).encode() + data[at:]
        self._send(status, kind, data)

    def _send(self, status: HTTPStatus, kind: str, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _tell_news(self, seen: int) -> None:
        """Send one line after each build and a keep-alive in between, until the client is gone."""
        self.close_connection = True
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        with suppress(OSError):  # the page was closed, or its device left the network
            while True:
                count = self.server.news.wait(seen, _ALIVE_S)
                self.wfile.write(b"event: made\ndata: \n\n" if count != seen else b": still here\n\n")
                self.wfile.flush()
                seen = count


def _plain_file(site: Path, name: str) -> bytes | None:
    """Return a file below the site's folder, None for anything else: links, folders, hidden names, ways out."""
    parts = name.split("/")
    if any(not part or (part.startswith(".") and not part.startswith("._")) or "\0" in part for part in parts):  # `._` is a tag's
        return None
    place = site.joinpath(*parts)
    try:
        is_plain = place.parent.resolve() == site.resolve().joinpath(*parts[:-1])  # no folder on the way is a link
        return read_bytes(place, follow=False) if is_plain else None
    except OSError:
        return None
