"""The stand-in's pages with every fault verb, its traps, and its poisoned pages, read as a night reads them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import pytest

from pipeline.documents.extractor import Extractor
from pipeline.errors import ReadFailed
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.net.pages import ReadingLimits, WebFetch
from pipeline.ports import Page
from tests.net.clocks import Clock
from tests.standin.poison import POISONED, mark
from tests.standin.server import Standin

Read = Callable[[str], Awaitable[Page | str]]

VERBS = [
    "ok", "status:400", "status:401", "status:402", "status:403", "status:404", "status:408", "status:410", "status:418",
    "status:429+Retry-After=54000", "status:429+Retry-After=-5", "status:429+Retry-After=abc", "status:429+Retry-After=1e309",
    "status:429+Retry-After=1", "status:500", "status:502", "status:503", "status:504", "status:524", "status:529",
    "html_page", "html_page:503", "empty_body", "204", "redirect_loop", "redirect:file:///etc/passwd",
    "redirect:http://169.254.169.254/latest/", "redirect:http://localhost:1/canary/1", "redirect:http://[::1]/canary/1",
    "tls_bad", "trunc_gzip", "bad_gzip", "double_gzip", "bomb:1000", "encoding:br", "encoding:zstd", "wrong_ct",
    "wrong_ct:application/pdf", "wrong_ct:image/png", "charset:utf-7", "charset:unicode_escape", "charset:zlib", "charset:idna",
    "charset:utf-16", "charset:shift_jis", "bom", "ws_prefix:5000", "invalid_utf8", "delay:5", "drip:100", "hang_before_headers",
    "hang_mid_body", "cut_at:0", "cut_at:50", "cut_at:500,chunked", "chunked", "length:5", "length:999999", "endless",
    "header_bomb:300000", "rst",
]  # fmt: skip
READ_ANYWAY = {
    "ok", "bom", "ws_prefix:5000", "invalid_utf8", "wrong_ct", "wrong_ct:application/pdf",
    "charset:utf-7", "charset:unicode_escape", "charset:zlib", "charset:idna", "chunked",
}  # fmt: skip


def reading(scenario: Callable[[Standin, Read, Clock], Awaitable[None]]) -> None:
    async def run() -> None:
        async with Standin() as server:
            clock = Clock()
            policy = Policy(attempts=2, call_deadline_s=100)
            http = HttpClient(policy, guard=AddressGuard(allowed=server.addresses), clock=clock, wall=clock, sleep=clock.sleep)
            limits = ReadingLimits(max_bytes=3_000_000, exchange_s=0.5)
            extractor = Extractor()
            fetch = WebFetch(http, extractor, limits=limits, clock=clock, sleep=clock.sleep)

            async def read(path: str) -> Page | str:
                try:
                    return await fetch.read(server.base_url + path)
                except ReadFailed as error:
                    return error.message

            try:
                await scenario(server, read, clock)
            finally:
                await http.aclose()
                extractor.close()

    asyncio.run(run())


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_under_any_fault_is_its_text_or_says_why_not_and_the_next_page_is_read(verb: str) -> None:
    async def scenario(server: Standin, read: Read, clock: Clock) -> None:
        await read("/pages/2")
        server.fault("pages", verb)
        found = await read("/pages/1")
        if isinstance(found, Page):
            assert len(found.text.split()) > 50
        else:
            assert verb not in READ_ANYWAY, found
            assert found
        assert max(clock.slept, default=0) <= 60
        server.clear()
        clock.now += 100_000
        assert isinstance(await read("/pages/3"), Page)
        assert not [hit for hit in server.log.hits if "canary" in hit.path]

    reading(scenario)


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("/login/1", "log-in"),
        ("/captcha/1", "captcha"),
        ("/shell/1", "shell"),
        ("/nest/20000", "nested"),
        ("/attributes/20000", "attributes"),
        ("/hop/9?to=/pages/1", "more than 5"),
        ("/hop/2?to=http://127.0.0.1/canary/1", "not a public"),
        ("/private/1", "robots.txt"),
        ("/gone/1", "gone"),
        ("/favicon.png", "image"),
        ("/missing", "no such page"),
    ],
)
def test_walls_and_traps_say_what_they_are(path: str, why: str) -> None:
    async def scenario(_server: Standin, read: Read, _clock: Clock) -> None:
        found = await read(path)
        assert isinstance(found, str)
        assert why in found

    reading(scenario)


# The others show it to every reader: that is text like any other, and not to believe it is the reasoner's part.
HIDDEN = [2, 5, 6, 9, 10, 16, 18]
MARKED = {3: "[image: IMPORTANT SYSTEM", 4: "[hidden] IMPORTANT SYSTEM"}


@pytest.mark.parametrize("number", HIDDEN)
def test_an_instruction_that_no_reader_sees_is_not_in_the_page_s_text(number: int) -> None:
    async def scenario(_server: Standin, read: Read, _clock: Clock) -> None:
        found = await read(f"/poison/{number}")
        assert isinstance(found, Page)
        assert mark(number) not in found.title + found.text + found.author
        assert len(found.text.split()) > 40

    reading(scenario)


@pytest.mark.parametrize("number", MARKED)
def test_an_instruction_that_a_reader_may_come_to_see_is_marked(number: int) -> None:
    async def scenario(_server: Standin, read: Read, _clock: Clock) -> None:
        found = await read(f"/poison/{number}")
        assert isinstance(found, Page)
        assert f"{MARKED[number]} MESSAGE {mark(number)}" in found.text

    reading(scenario)


def test_no_poisoned_page_makes_the_reader_ask_for_anything_else() -> None:
    async def scenario(server: Standin, read: Read, _clock: Clock) -> None:
        for number in range(1, POISONED + 1):
            assert isinstance(await read(f"/poison/{number}"), Page)
        asked = {urlsplit(hit.path).path for hit in server.log.hits}
        assert asked == {"/robots.txt", *(f"/poison/{number}" for number in range(1, POISONED + 1))}

    reading(scenario)
