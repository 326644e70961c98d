"""Requests through a proxy on the loopback, and servers that a private authority vouches for."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trustme

from pipeline.config.keys import Keys
from pipeline.config.queue_schema import Settings
from pipeline.config.services import Route, route_of
from pipeline.errors import ServiceFailed, ServiceUnavailable, StepError, UsageError
from pipeline.net.calls_and_replies import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard
from pipeline.text.redaction import Secret

MODEL = "model.example.org"


async def nowhere(_host: str, _port: int) -> list[str]:
    raise OSError("no name server here")


async def private(_host: str, _port: int) -> list[str]:
    return ["10.1.2.3"]


@asynccontextmanager
async def proxy_before(
    server: ssl.SSLContext | None, *, refusing: bool = False, port: int = 0
) -> AsyncIterator[tuple[str, list[str]]]:
    """Yield the address of a proxy and what it is asked for; behind it, any host answers "hello", or as ``port`` of here does."""
    asked: list[str] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if port:
            there = await asyncio.open_connection("127.0.0.1", port)
            await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer), return_exceptions=True)
            return
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nhello")
        await writer.drain()

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
        writer.close()

    async def proxy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        asked.append(head)
        if refusing:
            writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
            return
        if not head.startswith("CONNECT"):
            await answer(reader, writer)
            return
        there = await asyncio.open_connection("127.0.0.1", behind.sockets[0].getsockname()[1])
        writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        await asyncio.gather(pass_on(reader, there[1]), pass_on(there[0], writer), return_exceptions=True)

    behind = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=server)
    before = await asyncio.start_server(proxy, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{before.sockets[0].getsockname()[1]}", asked
    finally:
        behind.close()
        before.close()


async def sent(url: str, route: Route, guard: AddressGuard) -> bytes:
    http = HttpClient(Policy(attempts=1), guard=guard, route=route)
    try:
        return (await http.send(Call("model", "GET", url, deadline_s=5), judged_by_status)).body
    finally:
        await http.aclose()


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def serving(authority: trustme.CA) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(MODEL).configure_cert(context)
    return context


@pytest.fixture
def ca_file(authority: trustme.CA, tmp_path: Path) -> str:
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    return str(tmp_path / "authority.pem")


@pytest.mark.parametrize("to_pages", [False, True])
def test_a_model_is_asked_through_the_environments_proxy_a_page_through_that_of_the_settings_and_an_authority_is_trusted(
    serving: ssl.SSLContext, ca_file: str, *, to_pages: bool
) -> None:
    async def scenario() -> list[str]:
        async with proxy_before(serving) as (address, asked):
            env = {"HTTPS_PROXY": address.replace("//", "//me:secret@"), "SSL_CERT_FILE": ca_file}
            route = route_of(Settings(proxy=address if to_pages else ""), Keys(env=env), to_pages=to_pages)
            assert await sent(f"https://{MODEL}/v1", route, AddressGuard(resolve=nowhere)) == b"hello"
            return asked

    [head] = asyncio.run(scenario())
    assert head.startswith(f"CONNECT {MODEL}:443 ")
    assert base64.b64encode(b"me:secret").decode() in head


@pytest.mark.parametrize(("host", "trusted"), [(MODEL, False), ("another.example.org", True)])
def test_a_certificate_that_nobody_vouches_for_or_of_another_host_is_refused(
    serving: ssl.SSLContext, ca_file: str, host: str, *, trusted: bool
) -> None:
    async def scenario() -> None:
        async with proxy_before(serving) as (address, _asked):
            route = route_of(Settings(), Keys(env={"ALL_PROXY": address} | ({"SSL_CERT_FILE": ca_file} if trusted else {})))
            await sent(f"https://{host}/v1", route, AddressGuard(resolve=nowhere))

    with pytest.raises(ServiceFailed, match=r"certificate is not valid \(through the proxy 127\.0\.0\.1:\d+, from ALL_PROXY\)"):
        asyncio.run(scenario())


def test_a_page_is_read_through_a_proxy_only_if_the_settings_name_it() -> None:
    async def scenario() -> tuple[list[str], str]:
        async with proxy_before(None) as (address, asked):
            keys = Keys(env={"HTTP_PROXY": address})
            with pytest.raises(ServiceUnavailable) as failed:
                await sent("http://page.example.org/", route_of(Settings(), keys, to_pages=True), AddressGuard(resolve=nowhere))
            assert asked == []
            route = route_of(Settings(proxy=address), keys, to_pages=True)
            assert await sent("http://page.example.org/a", route, AddressGuard(resolve=nowhere)) == b"hello"
            with pytest.raises(ServiceFailed, match="resolves to an address that is not public"):
                await sent("http://inside.example.org/", route, AddressGuard(resolve=private))
            return asked, failed.value.message

    asked, message = asyncio.run(scenario())
    assert [head.split("\r\n")[0] for head in asked] == ["GET http://page.example.org/a HTTP/1.1"]
    assert "without the proxy of HTTP_PROXY: pages use only the setting `proxy:`" in message


def test_a_proxy_that_refuses_is_named() -> None:
    async def scenario() -> None:
        async with proxy_before(None, refusing=True) as (address, _asked):
            await sent(f"https://{MODEL}/", route_of(Settings(proxy=address), Keys()), AddressGuard(resolve=nowhere))

    with pytest.raises(StepError, match=r"the proxy refuses to connect \(through the proxy 127\.0\.0\.1:\d+, from proxy\)"):
        asyncio.run(scenario())


@pytest.mark.parametrize(
    ("no_proxy", "url", "proxied"),
    [
        ("", "https://api.example.org/", True),
        ("", "http://localhost:11434/v1", False),
        ("", "http://127.0.0.1:8080/", False),
        ("", "http://[::1]:8080/", False),
        ("*", "https://api.example.org/", False),
        ("example.org", "https://api.example.org/", False),
        (".example.org, other.org", "https://api.example.org/", False),
        ("ample.org", "https://api.example.org/", True),
        ("example.org:8443", "https://api.example.org:8443/", False),
        ("example.org:8443", "https://api.example.org/", True),
        ("10.0.0.0/8", "http://10.1.2.3:8000/", False),
        ("10.0.0.0/8", "http://11.1.2.3:8000/", True),
    ],
)
def test_no_proxy_names_hosts_domains_addresses_and_networks(no_proxy: str, url: str, *, proxied: bool) -> None:
    keys = Keys(env={"ALL_PROXY": "proxy.example.net:3128", "no_proxy": no_proxy})
    for route in (route_of(Settings(), keys), route_of(Settings(proxy="http://proxy.example.net:3128"), keys, to_pages=True)):
        assert bool(route.proxy_for(url)) is proxied


def test_a_proxy_of_another_kind_is_named_where_a_connection_fails() -> None:
    route = route_of(Settings(), Keys(env={"ALL_PROXY": "socks5://host:1080"}))
    assert route.proxy_for("https://api.example.org/") is None
    assert route.said("https://api.example.org/") == " (without the proxy of ALL_PROXY: only http proxies are supported)"


def test_authorities_that_cannot_be_read_are_one_error(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("no certificate")
    for name in ("none.pem", "empty.pem"):
        with pytest.raises(UsageError, match="SSL_CERT_FILE: no certificates"):
            route_of(Settings(), Keys(env={"SSL_CERT_FILE": str(tmp_path / name)}))


def test_a_proxys_password_is_shown_nowhere() -> None:
    from pipeline.config.services import secrets_of

    keys = Keys(env={"HTTPS_PROXY": "http://me:hunter-two@proxy.example.net:3128"})
    route = route_of(Settings(), keys)
    assert "hunter-two" not in f"{route} {route.said('https://api.example.org/')}"
    assert [secret.reveal() for secret in secrets_of(Settings(), keys) if isinstance(secret, Secret)] == ["hunter-two"]
