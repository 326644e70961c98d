"""The server of the site: this machine alone, plain files alone, and news to those who wait."""

from __future__ import annotations

import http.client
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.site.serve import Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    site = tmp_path / "site"
    (site / "sub").mkdir(parents=True)
    (site / "index.html").write_text("<html><head></head><body>first</body></html>")
    (site / "404.html").write_text("<html><head></head><body>none</body></html>")
    (site / "sub" / "a b.js").write_text("1")
    (site / ".hidden").write_text("hidden")
    (tmp_path / "secret").write_text("secret")
    (site / "link").symlink_to(tmp_path / "secret")
    (site / "folder").symlink_to(tmp_path)
    with started(Server(site, 0)) as made:
        yield made


@contextmanager
def started(server: Server) -> Iterator[Server]:
    server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def reply(server: Server, path: str, method: str = "GET", body: str = "", **headers: str) -> Iterator[http.client.HTTPResponse]:
    connection = http.client.HTTPConnection(server.address.split("/")[2], timeout=10)
    connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
    yield connection.getresponse()
    connection.close()


def ask(server: Server, path: str, method: str = "GET", body: str = "", **headers: str) -> tuple[int, str, str]:
    with reply(server, path, method, body, **headers) as answer:
        return answer.status, answer.headers["content-type"], answer.read().decode()


def test_files_are_served_with_their_types_and_a_page_is_told_to_wait_for_news(server: Server) -> None:
    status, kind, page = ask(server, "/")
    assert (status, kind) == (200, "text/html; charset=utf-8")
    assert '<script src="/-/reload.js?0" defer></script>\n</head>' in page
    assert "EventSource" in ask(server, "/-/reload.js")[2]
    assert ask(server, "/sub/a%20b.js?x#y") == (200, "text/javascript", "1")
    assert ask(server, "/index.html", method="HEAD")[2] == ""


def test_a_browser_that_leaves_early_is_no_error(server: Server, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "site" / "large.js").write_bytes(bytes(50_000_000))
    for path in ("/large.js", "/-/events"):
        with socket.create_connection(("127.0.0.1", int(server.address.rstrip("/").rpartition(":")[2]))) as browser:
            browser.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode())
            browser.recv(100)
            browser.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, (1).to_bytes(8, "little"))
    server.news.tell()
    while any("process_request" in thread.name for thread in threading.enumerate()):
        time.sleep(0.01)
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize(
    "path", ["/nope", "/../secret", "/%2e%2e/secret", "/link", "/folder/secret", "/.hidden", "/sub", "//index.html/", "/a%00b"]
)
def test_anything_else_is_not_found(server: Server, path: str) -> None:
    status, _, text = ask(server, path)
    assert status == 404
    assert "none" in text
    assert "secret" not in text


def test_another_name_for_this_machine_is_refused(server: Server) -> None:
    assert [ask(server, "/", Host=host)[0] for host in ("evil.example", "evil.example:80", "localhost:1234")] == [421, 421, 200]


@pytest.mark.parametrize("already", [True, False])
def test_who_waits_is_told_of_a_new_site_and_who_shows_an_older_state_at_once(server: Server, already: bool) -> None:
    if already:
        server.news.tell()
    with reply(server, "/-/events?0") as answer:
        if not already:
            server.news.tell()
        assert answer.fp.readline() == b"event: made\n"


def test_a_port_in_use_and_an_address_of_another_machine_are_refused_with_advice(server: Server, tmp_path: Path) -> None:
    port = int(server.address.rstrip("/").rpartition(":")[2])
    with pytest.raises(UsageError, match=f"port {port} cannot be used") as caught:
        Server(tmp_path, port)
    assert "--port 0" in caught.value.hint
    for host in ("no-such-host.invalid", "192.0.2.1"):
        with pytest.raises(UsageError, match=f"{host} is no address of this machine"):
            Server(tmp_path, 0, host=host)


def test_why_a_build_failed_is_shown_in_the_page_until_it_succeeds(server: Server) -> None:
    before = server.news.count
    server.show("templates/vault/home.md.j2, line 2: 'fakts' is undefined <b>")
    shown = ask(server, "/")[2]
    assert "line 2: &#x27;fakts&#x27; is undefined &lt;b&gt;" in shown
    assert "first" in shown
    assert ask(server, "/-/problem.css")[:2] == (200, "text/css")
    server.show("")
    assert "fakts" not in ask(server, "/")[2]
    assert server.news.count == before + 2
    server.show("")
    assert server.news.count == before + 2


def _post(server: Server, body: str, kind: str = "application/json") -> int:
    return ask(server, "/-/rate", "POST", body, Content_Type=kind)[0]


def test_a_page_says_what_is_useful_and_no_other_form_of_it_is_taken(tmp_path: Path) -> None:
    given: list[tuple[str, str, str]] = []
    sound = '{"note": "reports/a.md", "block": "q-1", "rating": "wrong"}'
    with started(Server(tmp_path, 0, rate=lambda *about: given.append(about))) as server:
        assert _post(server, sound) == 200
        assert _post(server, sound, "text/plain") == 404
        assert _post(server, sound.replace("wrong", "splendid")) == _post(server, "[]") == 400
    assert given == [("reports/a.md", "q-1", "wrong")]


def test_on_another_address_only_who_has_the_token_is_answered(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("secret")
    with started(Server(tmp_path, 0, host="127.0.0.2")) as server:
        assert ask(server, "/")[0] == ask(server, "/?token=guess")[0] == 403
        with reply(server, server.address.partition("/127")[2].partition("/")[2].join(["/", ""])) as answer:
            assert (answer.status, answer.headers["location"]) == (303, "/")
            cookie = str(answer.headers["set-cookie"]).partition(";")[0]
        assert ask(server, "/", Cookie=cookie)[2] == "secret"
