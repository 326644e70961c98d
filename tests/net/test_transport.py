"""Faults on a real socket, byte by byte."""

from __future__ import annotations

import asyncio
import gzip
import logging
import tracemalloc

import pytest

from pipeline.errors import ServiceFailed, ServiceUnavailable, StepError
from pipeline.net.calls_and_replies import Call, Reply, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from tests.net.clocks import Clock
from tests.net.raw_server import RawServer, Request, Script, always, raw_server, response

BOMB = gzip.compress(b"\0" * 50_000_000, 1)


def against(script: Script, *, attempts: int = 1, max_bytes: int = 1_000_000, deadline_s: float = 5.0) -> tuple[Reply, RawServer]:
    async def scenario() -> tuple[Reply, RawServer]:
        async with raw_server(script) as server:
            policy = Policy(attempts=attempts)
            http = HttpClient(policy, guard=AddressGuard(allowed=[server.base]), sleep=Clock().sleep)
            call = Call("raw", "GET", server.base + "/x", max_bytes=max_bytes, deadline_s=deadline_s)
            try:
                return await http.send(call, judged_by_status), server
            finally:
                await http.aclose()

    return asyncio.run(scenario())


async def drip(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 100000\r\n\r\n")
    while True:
        writer.write(b".")
        await writer.drain()
        await asyncio.sleep(0.01)


async def drip_headers(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"x: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


async def informing_for_ever(request: Request, writer: asyncio.StreamWriter) -> None:
    while True:
        writer.write(b"HTTP/1.1 103 Early Hints\r\n\r\n")
        await writer.drain()
        await asyncio.sleep(0.001)


async def silent(request: Request, writer: asyncio.StreamWriter) -> None:
    await asyncio.Event().wait()


async def hanging(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
    await writer.drain()
    await asyncio.Event().wait()


async def endless(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"." * 0x10000 + b"\r\n")
        await writer.drain()


async def header_bomb(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 300_000 + b"\r\n\r\n")


async def reset(request: Request, writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nabc")
    await writer.drain()
    writer.transport.abort()


def encoded(body: bytes, coding: str) -> bytes:
    return response(body, content_encoding=coding)


PASSING: list[tuple[str, Script]] = [
    ("a dripping body", drip),
    ("dripping headers", drip_headers),
    ("endless early hints", informing_for_ever),
    ("silence", silent),
    ("a hang in the body", hanging),
    ("a reset", reset),
    ("a header bomb", header_bomb),
    ("nothing", always(b"")),
    ("not HTTP", always(b"SSH-2.0-OpenSSH_9.2\r\n")),
    ("a cut body", always(response(b"abc", content_length="1000"))),
    ("a cut chunked body", always(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhel")),
    ("a faulty chunk", always(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\nhello\r\n0\r\n\r\n")),
    ("two lengths", always(b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab")),
    ("a negative length", always(b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nab")),
    ("a cut packed body", always(encoded(gzip.compress(b"hello" * 100)[:-9], "gzip"))),
    ("a damaged packed body", always(encoded(b"\x1f\x8bnothing of the kind", "gzip"))),
]
FINAL: list[tuple[str, Script]] = [
    ("an endless body", endless),
    ("a bomb", always(encoded(BOMB, "gzip"))),
    ("a double bomb", always(encoded(gzip.compress(BOMB), "gzip, gzip"))),
    ("brotli", always(encoded(b"\x0b\x02\x80hello\x03", "br"))),
    ("an unknown coding", always(encoded(b"hello", "aes128gcm"))),
    ("a large body", always(response(b"." * 1_000_001))),
]


@pytest.mark.parametrize("script", [script for _, script in PASSING], ids=[name for name, _ in PASSING])
def test_a_fault_that_can_pass_ends_in_unavailable(script: Script) -> None:
    with pytest.raises(ServiceUnavailable):
        against(script, deadline_s=0.3)


@pytest.mark.parametrize("script", [script for _, script in FINAL], ids=[name for name, _ in FINAL])
def test_a_fault_that_cannot_pass_ends_in_failed(script: Script) -> None:
    with pytest.raises(ServiceFailed):
        against(script, attempts=3)


@pytest.mark.parametrize("script", [script for name, script in FINAL if "bomb" in name or "endless" in name])
def test_a_bomb_costs_no_more_memory_than_a_few_caps(script: Script) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(StepError):
            against(script)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
    finally:
        tracemalloc.stop()


def test_a_cut_body_is_asked_for_again() -> None:
    async def script(request: Request, writer: asyncio.StreamWriter) -> None:
        writer.write(response(b"whole") if request.number == 2 else response(b"ha", content_length="5"))

    reply, server = against(script, attempts=3)
    assert (reply.body, reply.lost, len(server.seen)) == (b"whole", 1, 2)


@pytest.mark.parametrize(
    ("data", "body"),
    [
        (response(b"plain"), b"plain"),
        (encoded(gzip.compress(b"packed"), "gzip"), b"packed"),
        (encoded(gzip.compress(b"packed"), "GZIP"), b"packed"),
        (encoded(b"plain", "identity"), b"plain"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", b"abcde"),
        (b"HTTP/1.0 200 OK\r\n\r\nto the end", b"to the end"),
        (response(b"", status="204 No Content"), b""),
        (encoded(b"", "gzip"), b""),
    ],
)
def test_proper_bodies_come_whole(data: bytes, body: bytes) -> None:
    assert against(always(data))[0].body == body


def test_header_names_are_lower_case_and_repeated_ones_are_joined() -> None:
    reply, _ = against(always(b"HTTP/1.1 200 OK\r\nX-Rate: 1\r\nX-RATE: 2\r\ncontent-length: 0\r\n\r\n"))
    assert reply.headers["x-rate"] == "1, 2"


def test_a_redirect_is_a_reply_and_is_not_followed_and_no_cookie_is_kept() -> None:
    async def scenario() -> RawServer:
        async with raw_server(always(response(status="302 Found", location="/next", set_cookie="a=b"))) as server:
            http = HttpClient(Policy(attempts=1), guard=AddressGuard(allowed=[server.base]))
            for _ in range(2):
                with pytest.raises(ServiceFailed, match="302"):
                    await http.send(Call("raw", "GET", server.base + "/first"), judged_by_status)
            return server

    server = asyncio.run(scenario())
    assert server.paths() == ["/first", "/first"]
    assert all("cookie" not in request.headers for request in server.seen)


def test_no_address_is_written_to_a_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        against(always(response(b"x")))
    assert "127.0.0.1" not in caplog.text


@pytest.mark.parametrize("value", ["Bearer canary\r\nx: y", "Bearer “canary”", "canary\x00"])
def test_a_key_that_no_header_can_hold_is_a_failure_that_does_not_show_it(value: str) -> None:
    async def scenario() -> str:
        async with raw_server(always(response(b"x"))) as server:
            http = HttpClient(Policy(), guard=AddressGuard(allowed=[server.base]))
            with pytest.raises(ServiceFailed) as caught:
                await http.send(Call("raw", "GET", server.base, {"authorization": value}), judged_by_status)
            assert server.seen == []
            return str(caught.value)

    assert "canary" not in asyncio.run(scenario())
