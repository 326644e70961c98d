from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.config.services import Proxy, Route
from pipeline.errors import ServiceFailed, StepError
from pipeline.net.calls_and_replies import Call, judged_by_status
from pipeline.net.client import HttpClient, Policy
from pipeline.net.guard import AddressGuard, AddressRefused, host_and_port, is_public
from pipeline.net.transport import Fault, GuardedTransport, exchange
from tests.net.raw_server import always, raw_server, response

PUBLIC = "93.184.215.14"

# {port} is the port of a listener on 127.0.0.1 that must never hear of any of these.
SPELLINGS = [
    "http://127.0.0.1:{port}/",
    "http://127.0.0.1/",
    "http://localhost:{port}/",
    "http://localhost/",
    "http://LOCALHOST/",
    "http://localhost./",
    "http://a.localhost/",
    "http://0/",
    "http://0.0.0.0/",
    "http://127.1/",
    "http://127.0.1/",
    "http://2130706433/",
    "http://0x7f000001/",
    "http://0x7f.0.0.1/",
    "http://017700000001/",
    "http://0177.0.0.1/",
    "http://127.0.0.01/",
    "http://127.0.0.1./",
    "http://127。0。0。1/",
    "http://１２７.0.0.1/",
    "http://①②⑦.0.0.1/",
    "http://127%2e0%2e0%2e1/",
    "http://[::1]/",
    "http://[::1]:{port}/",
    "http://[::]/",
    "http://[::ffff:127.0.0.1]/",
    "http://[::ffff:7f00:1]/",
    "http://[::ffff:a9fe:a9fe]/",
    "http://[::127.0.0.1]/",
    "http://[64:ff9b::7f00:1]/",
    "http://[64:ff9b::a9fe:a9fe]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2002:7f00:1::]/",
    "http://[2001:0:4136:e378:8000:63bf:80ff:fffe]/",
    "http://[fd00:ec2::254]/",
    "http://[fe80::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[fec0::1]/",
    "http://[ff02::1]/",
    "http://10.0.0.1/",
    "http://172.16.0.1/",
    "http://192.168.1.1/",
    "http://169.254.169.254/latest/meta-data/",
    "http://100.100.100.200/",
    "http://168.63.129.16/",
    "http://198.18.0.1/",
    "http://224.0.0.1/",
    "http://255.255.255.255/",
    "http://metadata.google.internal/",
    "http://router.lan/",
    "http://intranet/",
    "http://good.example.org@127.0.0.1:{port}/",
    "http://good.example.org:80@127.0.0.1:{port}/",
    "http://good.example.org\\@127.0.0.1:{port}/",
    "http://127.0.0.1:{port}\\@good.example.org/",
    "http://127.0.0.1:{port}#@good.example.org/",
    "http://good.example.org:22/",
    "http://good.example.org:{port}/",
    "http:///127.0.0.1:{port}/",
    "http://",
    "http://127.0.0.1 :{port}/",
    "http://good.example.org\n.127.0.0.1/",
    "http://good.example.org/\x00",
    "file:///etc/passwd",
    "ftp://good.example.org/",
    "gopher://127.0.0.1:{port}/_x",
    "javascript:alert(1)",
    "//127.0.0.1:{port}/",
    "127.0.0.1:{port}",
    "http://[/",
    "http://good.example.org:99999/",
    "http://good.example.org/" + "a" * 2_000,
]


@pytest.fixture
def canary() -> Iterator[socket.socket]:
    """A listener on 127.0.0.1 whose backlog shows whether anything connected."""
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    with listener:
        yield listener


def connected(canary: socket.socket) -> int:
    found = 0
    while True:
        try:
            canary.accept()[0].close()
        except BlockingIOError:
            return found
        found += 1


async def _canary_addresses(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_private_address_leads_to_a_connection(spelling: str, canary: socket.socket) -> None:
    url = spelling.replace("{port}", str(canary.getsockname()[1]))
    http = HttpClient(Policy(attempts=1), guard=AddressGuard(resolve=_canary_addresses))
    with pytest.raises(ServiceFailed):
        asyncio.run(http.send(Call("pages", "GET", url, deadline_s=2), judged_by_status))
    assert connected(canary) == 0


ADDRESSES = [spelling for spelling in SPELLINGS if spelling.startswith("http://") and "good.example.org" not in spelling]


@pytest.mark.parametrize("spelling", ADDRESSES)
def test_the_wall_at_the_connection_stands_alone(spelling: str, canary: socket.socket) -> None:
    """The same addresses, as the system's own resolver reads them, without the check of their spelling."""
    url = spelling.replace("{port}", str(canary.getsockname()[1]))
    transport = GuardedTransport(AddressGuard(), Route())
    with pytest.raises((Fault, AddressRefused)):
        asyncio.run(exchange(transport, Call("pages", "GET", url), 2))
    assert connected(canary) == 0


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_spelling_of_a_private_address_is_asked_of_a_proxy(spelling: str, canary: socket.socket) -> None:
    port = canary.getsockname()[1]
    proxy = Proxy("proxy", f"http://127.0.0.1:{port}")
    route = Route({"http": proxy, "https": proxy})
    http = HttpClient(Policy(attempts=1), guard=AddressGuard(resolve=_canary_addresses), route=route)
    with pytest.raises(ServiceFailed):
        asyncio.run(http.send(Call("pages", "GET", spelling.replace("{port}", str(port)), deadline_s=2), judged_by_status))
    assert connected(canary) == 0


def test_a_name_with_one_bad_address_among_good_ones_is_refused() -> None:
    async def resolve(host: str, port: int) -> list[str]:
        return [PUBLIC, "10.1.2.3"]

    with pytest.raises(AddressRefused, match="not public"):
        asyncio.run(AddressGuard(resolve=resolve).addresses("good.example.org", 443))


def test_a_name_that_changes_its_mind_is_connected_to_where_it_was_checked(
    canary: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = iter([[PUBLIC], ["127.0.0.1"], [PUBLIC]])
    dialled: list[str] = []

    async def resolve(host: str, port: int) -> list[str]:
        return next(answers)

    async def connect(self: object, protocol: object, host: str, port: int, **_more: object) -> None:
        dialled.append(host)
        raise OSError("no network here")

    monkeypatch.setattr("asyncio.BaseEventLoop.create_connection", connect)
    for _ in range(3):
        http = HttpClient(Policy(attempts=1), guard=AddressGuard(resolve=resolve))
        with pytest.raises(StepError):
            asyncio.run(http.send(Call("pages", "GET", "http://good.example.org/"), judged_by_status))
    assert dialled == [PUBLIC, PUBLIC]
    assert connected(canary) == 0


def test_a_server_on_the_allow_list_is_reached_and_its_neighbour_port_is_not(canary: socket.socket) -> None:
    async def scenario() -> int:
        async with raw_server(always(response(b"hello"))) as server:
            http = HttpClient(Policy(attempts=1), guard=AddressGuard(allowed=[server.base + "/v1"]))
            reply = await http.send(Call("local", "GET", server.base + "/v1/models"), judged_by_status)
            with pytest.raises(ServiceFailed):
                await http.send(Call("local", "GET", f"http://127.0.0.1:{canary.getsockname()[1]}/"), judged_by_status)
            await http.aclose()
            return reply.status

    assert asyncio.run(scenario()) == 200
    assert connected(canary) == 0


def test_a_proxy_in_the_environment_changes_nothing(canary: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    async def scenario() -> bytes:
        async with raw_server(always(response(b"straight"))) as server:
            http = HttpClient(Policy(attempts=1), guard=AddressGuard(allowed=[server.base]))
            return (await http.send(Call("local", "GET", server.base), judged_by_status)).body

    for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "https_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{canary.getsockname()[1]}")
    assert asyncio.run(scenario()) == b"straight"
    assert connected(canary) == 0


@pytest.mark.parametrize(
    "url",
    [
        "https://docs.python.org/3/library/os.html?highlight=x",
        "http://example.org:80/a",
        "https://example.org:443",
        "http://93.184.215.14/",
        "https://[2606:4700:4700::1111]/",
        "https://bücher.example.org/",
        "https://xn--bcher-kva.example.org/",
        "https://a_b.example.org/",
    ],
)
def test_public_addresses_pass(url: str) -> None:
    AddressGuard().check_url(url)


@given(st.integers(0, 2**32 - 1))
def test_an_ipv4_address_is_as_public_mapped_as_it_is_bare(number: int) -> None:
    import ipaddress

    bare = str(ipaddress.IPv4Address(number))
    assert is_public(bare) == is_public(f"::ffff:{bare}") == is_public(f"64:ff9b::{bare}")


@given(st.text())
def test_any_text_is_refused_or_passes_without_a_crash(url: str) -> None:
    with suppress(AddressRefused):
        AddressGuard().check_url("http://" + url)
        assert host_and_port("http://" + url)[1] in (80, 443)
