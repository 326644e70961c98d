"""Reading pages from a loopback server that behaves in every way a site can."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pipeline.documents.extract import extract
from pipeline.documents.extractor import Extractor
from pipeline.errors import ReadFailed
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.net.pages import PageCache, ReadingLimits, WebFetch
from pipeline.ports import Page
from tests.net.clocks import Clock
from tests.net.raw_server import RawServer, Request, Script, raw_server, response

TEXT = "A sentence of the page that can be quoted verbatim. " * 4
HTML = f"<!doctype html><title>The page</title><p>{TEXT}</p>".encode()
NO_ROBOTS = response(status="404 Not Found")

Routes = dict[str, bytes | Callable[[Request], bytes]]


def site(routes: Routes) -> Script:
    """Return a script that answers by path; robots.txt is missing unless it is a route; other paths are 404."""

    async def script(request: Request, writer: asyncio.StreamWriter) -> None:
        answer = routes.get(request.target, NO_ROBOTS)
        writer.write(answer(request) if callable(answer) else answer)

    return script


class Here(Extractor):
    """Extracts without a process: these tests are about what comes before. Others start real ones."""

    async def document(self, data: bytes, content_type: str, url: str) -> Page:
        return extract(data, content_type=content_type, url=url)


class Reading:
    """A reader of pages against one server, with a clock that only sleeping moves."""

    def __init__(self, server: RawServer, cache: PageCache | None = None, limits: ReadingLimits | None = None) -> None:
        self.server = server
        self.clock = Clock()
        policy = Policy(attempts=2, call_deadline_s=60)
        self.http = HttpClient(
            policy, guard=AddressGuard(allowed=[server.base]), clock=self.clock, wall=self.clock, sleep=self.clock.sleep
        )
        self.fetch = WebFetch(
            self.http,
            Here(),
            contact="https://example.org/bot",
            cache=cache,
            limits=limits or ReadingLimits(exchange_s=2.0),
            clock=self.clock,
            sleep=self.clock.sleep,
        )

    async def page(self, path: str = "/page") -> Page:
        return await self.fetch.read(self.server.base + path)

    async def fails(self, path: str = "/page") -> str:
        with pytest.raises(ReadFailed) as caught:
            await self.page(path)
        return caught.value.message


def against(
    script: Script,
    scenario: Callable[[Reading], Awaitable[None]],
    cache: PageCache | None = None,
    limits: ReadingLimits | None = None,
) -> RawServer:
    async def run() -> RawServer:
        async with raw_server(script) as server:
            reading = Reading(server, cache, limits)
            try:
                await scenario(reading)
            finally:
                await reading.http.aclose()
            return server

    return asyncio.run(run())


def page(body: bytes = HTML, **headers: str) -> bytes:
    return response(body, content_type=headers.pop("content_type", "text/html"), **headers)


def redirect(location: str, status: str = "302 Found") -> bytes:
    return response(status=status, location=location)


def test_a_page_is_read_after_its_robots_and_nothing_but_the_page_is_asked_for() -> None:
    async def scenario(reading: Reading) -> None:
        found = await reading.page("/page#part")
        assert (found.url, found.title) == (reading.server.base + "/page", "The page")
        assert TEXT.strip() in found.text

    server = against(site({"/page": page()}), scenario)
    assert server.paths() == ["/robots.txt", "/page"]


def test_requests_say_who_asks_and_bring_no_cookie_no_referrer_and_no_credentials() -> None:
    async def scenario(reading: Reading) -> None:
        await reading.page()
        await reading.page("/other")

    server = against(site({"/page": page(set_cookie="a=b"), "/other": page()}), scenario)
    for request in server.seen:
        assert request.headers["user-agent"].startswith("night-research/")
        assert "+https://example.org/bot" in request.headers["user-agent"]
        assert not {"cookie", "referer", "authorization"} & request.headers.keys()


@pytest.mark.parametrize(
    ("robots", "reads"),
    [
        (NO_ROBOTS, True),
        (response(status="401 Unauthorized"), True),
        (response(status="403 Forbidden"), True),
        (response(b"User-agent: *\nDisallow: /other\n"), True),
        (response(b"User-agent: *\nDisallow: /\n"), False),
        (response(b"User-agent: night-research\nDisallow: /page\n"), False),
        (response(gzip.compress(b"User-agent: *\nDisallow: /page\n"), content_encoding="gzip"), False),
        (response(b"\xef\xbb\xbfUser-agent: *\nDisallow: /page\n"), False),
        (response(b"<html>not a robots.txt</html>"), True),
        (response(status="500 Internal Server Error"), False),
        (response(status="503 Service Unavailable"), False),
        (response(status="429 Too Many Requests"), False),
        (response(b"User-agent: *\nDisallow: /other\n" + b"# more\n" * 400_000 + b"Disallow: /page\n"), True),
        (response(b"User-agent: *\nDisallow: /page\n" + b"# more\n" * 400_000), False),
        (response(gzip.compress(b"User-agent: *\nDisallow: /page\n" + b"#" * 9_000_000, 1), content_encoding="gzip"), False),
        (b"", False),
        (response(b"User-agent: *", content_length="99"), False),
        (redirect("/rules"), False),
        (redirect("/robots.txt"), True),
        (redirect("http://127.0.0.1:9/robots.txt"), False),
    ],
)
def test_robots_decide_what_is_read(robots: bytes, reads: bool) -> None:
    async def scenario(reading: Reading) -> None:
        if reads:
            await reading.page()
        else:
            assert "robots.txt" in await reading.fails()

    rules = response(b"User-agent: *\nDisallow: /page")
    server = against(site({"/robots.txt": robots, "/rules": rules, "/page": page()}), scenario)
    assert ("/page" in server.paths()) is reads


def test_robots_are_asked_for_once_a_day() -> None:
    async def scenario(reading: Reading) -> None:
        await reading.page()
        await reading.page()
        reading.clock.now += 86_500
        await reading.page()

    server = against(site({"/page": page()}), scenario)
    assert server.paths() == ["/robots.txt", "/page", "/page", "/robots.txt", "/page"]


def test_requests_to_a_host_are_a_second_apart_or_as_far_as_its_robots_ask() -> None:
    async def scenario(reading: Reading) -> None:
        for _ in range(3):
            await reading.page()
        assert reading.clock.slept == [4.0, 4.0, 4.0]

    against(site({"/robots.txt": response(b"User-agent: *\nCrawl-delay: 4"), "/page": page()}), scenario)


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
def test_a_redirect_is_followed_and_the_page_has_its_last_address(status: str) -> None:
    async def scenario(reading: Reading) -> None:
        assert (await reading.page()).url == reading.server.base + "/there"

    against(site({"/page": redirect("there#part", status), "/there": page()}), scenario)


def test_a_page_s_own_refresh_is_followed() -> None:
    stub = b'<html><head><meta http-equiv="refresh" content="0; url=/there"></head></html>'

    async def scenario(reading: Reading) -> None:
        assert (await reading.page()).url == reading.server.base + "/there"

    against(site({"/page": page(stub), "/there": page()}), scenario)


def test_the_target_of_a_redirect_is_asked_of_its_robots_too() -> None:
    async def scenario(reading: Reading) -> None:
        assert "robots.txt" in await reading.fails()

    robots = response(b"User-agent: *\nDisallow: /private")
    server = against(site({"/robots.txt": robots, "/page": redirect("/private"), "/private": page()}), scenario)
    assert "/private" not in server.paths()


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("/page", "more than 5 times"),
        ("", "without naming"),
        ("file:///etc/passwd", "file"),
        ("javascript:alert(1)", "javascript"),
        ("http://127.0.0.1/", "not a public address"),
        ("http://169.254.169.254/latest/meta-data/", "not a public address"),
        ("http://[::ffff:127.0.0.1]/", "not a public address"),
        ("http://localhost/", "not the name of a public host"),
        ("http://0x7f000001/", "not the name of a public host"),
        ("//2130706433/", "not the name of a public host"),
        ("http://user:pass@example.org/", "contains a user name"),
        ("http://[/", "is not valid"),
        ("https://example.org:8443/", "port 8443"),
    ],
)
def test_a_redirect_to_where_nothing_is_read_is_a_typed_failure(location: str, why: str) -> None:
    async def scenario(reading: Reading) -> None:
        message = await reading.fails()
        assert why in message
        assert "robots" not in message

    against(site({"/page": redirect(location)}), scenario)


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (response(status="404 Not Found"), "no such page"),
        (response(status="410 Gone"), "gone"),
        (response(status="401 Unauthorized"), "log-in"),
        (response(status="403 Forbidden"), "the server refuses access"),
        (response(status="451 Blocked"), "legal"),
        (response(status="418 Teapot"), "418"),
        (response(status="204 No Content"), "204"),
        (response(status="304 Not Modified"), ""),
        (response(status="503 Unavailable"), "503"),
        (page(b""), "empty"),
        (page(b"\x89PNG\r\n\x1a\n"), "image"),
        (page(b"<html><script src=/cdn-cgi/challenge-platform/h/b.js></script><p>Checking your browser</p>"), "captcha"),
        (page(b"<html><form>Please log in<input type=password></form>"), "log-in"),
        (page(b"<html><div id=root></div>" + b"<script src=x></script>" * 50), "empty shell"),
        (page(gzip.compress(b"x" * 40_000_000, 1), content_encoding="gzip"), "larger"),
        (page(gzip.compress(gzip.compress(HTML)), content_encoding="gzip, gzip"), "compressed more than once"),
        (page(gzip.compress(gzip.compress(HTML)), content_encoding="gzip"), "not a page of text"),
        (page(b"\x0b\x02\x80hello\x03", content_encoding="br"), "not asked for"),
        (page(b"." * 16_000_000), "larger than 15 MB"),
        (page(HTML, content_length="99999"), "cut"),
    ],
)
def test_what_is_no_page_says_why(answer: bytes, why: str) -> None:
    async def scenario(reading: Reading) -> None:
        assert why in await reading.fails()

    against(site({"/page": answer}), scenario)


def test_a_busy_site_is_asked_again_after_the_time_it_names() -> None:
    def busy_once(request: Request) -> bytes:
        return response(status="429 Busy", retry_after="9") if request.number == 2 else page()

    async def scenario(reading: Reading) -> None:
        await reading.page()
        assert 9.0 in reading.clock.slept

    against(site({"/page": busy_once}), scenario)


def test_a_page_that_has_not_changed_is_not_sent_again(tmp_path: Path) -> None:
    def conditional(request: Request) -> bytes:
        known = request.headers.get("if-none-match") == '"1"' and request.headers.get("if-modified-since") == "then"
        return response(status="304 Not Modified") if known else page(etag='"1"', last_modified="then")

    async def scenario(reading: Reading) -> None:
        assert await reading.page() == await reading.page()

    server = against(site({"/page": conditional}), scenario, cache=PageCache(tmp_path))
    assert [request.headers.get("if-none-match") for request in server.seen] == [None, None, '"1"']


def test_what_a_page_says_of_its_use_is_told_and_kept(tmp_path: Path) -> None:
    body = HTML.replace(b"<title>", b"<meta name='robots' content='noindex, noai, noimageai'><title>")
    headers = {"etag": '"1"', "tdm_reservation": "1", "x_robots_tag": "noai"}

    def conditional(request: Request) -> bytes:
        return response(status="304 Not Modified") if "if-none-match" in request.headers else page(body, **headers)

    async def scenario(reading: Reading) -> None:
        for _ in range(2):
            assert (await reading.page()).notices == ("noai", "tdm-reservation", "noimageai")

    against(site({"/page": conditional}), scenario, cache=PageCache(tmp_path))


def test_a_page_that_has_changed_is_read_anew(tmp_path: Path) -> None:
    def changing(request: Request) -> bytes:
        return page(HTML.replace(b"The page", b"Version %d" % request.number), etag=f'"{request.number}"')

    async def scenario(reading: Reading) -> None:
        assert [(await reading.page()).title for _ in range(2)] == ["Version 2", "Version 3"]

    against(site({"/page": changing}), scenario, cache=PageCache(tmp_path))
