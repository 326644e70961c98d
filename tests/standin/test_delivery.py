"""Each verb of delivery, as it looks on a bare socket."""

from __future__ import annotations

import socket
from random import Random

import pytest

from tests.standin.delivery import Delivery
from tests.standin.faults import delivery, parse
from tests.standin.fixtures import standin
from tests.standin.rawclient import get, talk
from tests.standin.server import Standin

__all__ = ["standin"]

PAGE = "/pages/1"


def test_an_untouched_reply_is_whole(standin: Standin) -> None:
    seen = get(standin, PAGE)
    assert (seen.status, seen.end, len(seen.body)) == (200, "closed", int(seen.headers["content-length"]))


def test_one_connection_serves_many_requests(standin: Standin) -> None:
    request = b"GET /pages/%d HTTP/1.1\r\nHost: x\r\n\r\n"
    seen = talk(standin, request % 1 + request % 2 + b"GET /pages/3 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert seen.data.count(b"HTTP/1.1 200 OK") == 3
    assert {hit.connection for hit in standin.log.hits} == {1}


def test_delay_holds_the_reply_back(standin: Standin) -> None:
    standin.fault("pages", "delay:0.3")
    assert get(standin, PAGE).seconds >= 0.3


def test_latency_jitter_stays_within_its_limit_and_varies_with_its_seed() -> None:
    delays = [delivery(parse("latency_jitter:0.2"), Delivery(), Random(seed)).delay_s for seed in range(50)]
    assert len(set(delays)) == 50
    assert all(0 <= delay <= 0.2 for delay in delays)


def test_drip_sends_no_faster_than_told(standin: Standin) -> None:
    standin.fault("robots", "drip:200")
    seen = get(standin, "/robots.txt")
    assert seen.status == 200
    assert seen.seconds >= len(seen.body) / 200 * 0.5


def test_hang_before_headers_sends_nothing_and_stays_open(standin: Standin) -> None:
    standin.fault("pages", "hang_before_headers")
    seen = get(standin, PAGE, patience_s=0.3)
    assert (seen.data, seen.end) == (b"", "open")


def test_hang_mid_body_sends_half_and_stays_open(standin: Standin) -> None:
    standin.fault("pages", "hang_mid_body")
    seen = get(standin, PAGE, patience_s=0.3)
    assert seen.end == "open"
    assert len(seen.body) == int(seen.headers["content-length"]) // 2


def test_cut_at_ends_a_body_of_known_length_early(standin: Standin) -> None:
    standin.fault("pages", "cut_at:18")
    seen = get(standin, PAGE)
    assert (len(seen.body), seen.end) == (18, "closed")
    assert int(seen.headers["content-length"]) > 18


def test_cut_at_ends_a_chunked_body_without_the_last_chunk(standin: Standin) -> None:
    standin.fault("pages", "cut_at:18,chunked")
    seen = get(standin, PAGE)
    assert seen.headers["transfer-encoding"] == "chunked"
    assert seen.body.startswith(b"12\r\n")
    assert not seen.body.endswith(b"0\r\n\r\n")


def test_chunked_alone_is_a_true_reply(standin: Standin) -> None:
    standin.fault("robots", "chunked")
    seen = get(standin, "/robots.txt")
    size, _, rest = seen.body.partition(b"\r\n")
    assert rest == standin.state.options.robots.encode() + b"\r\n0\r\n\r\n"
    assert int(size, 16) == len(standin.state.options.robots)


def test_a_false_length_is_sent_as_told(standin: Standin) -> None:
    standin.fault("robots", "length:5")
    seen = get(standin, "/robots.txt")
    assert seen.headers["content-length"] == "5"
    assert len(seen.body) > 5


def test_endless_goes_on_after_the_body(standin: Standin) -> None:
    standin.fault("robots", "endless")
    request = b"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n"
    received = 0
    with socket.create_connection(("127.0.0.1", standin.state.port), timeout=3) as client:
        client.sendall(request)
        while received < 2_000_000:
            received += len(client.recv(1 << 16))
    assert received >= 2_000_000


def test_header_bomb_makes_the_head_as_large_as_told(standin: Standin) -> None:
    standin.fault("pages", "header_bomb:400000")
    head = get(standin, PAGE).data.partition(b"\r\n\r\n")[0]
    assert len(head) > 400_000


def test_rst_resets_the_connection(standin: Standin) -> None:
    standin.fault("pages", "rst")
    assert get(standin, PAGE).end == "reset"


def test_tls_bad_answers_with_a_tls_alert(standin: Standin) -> None:
    standin.fault("pages", "tls_bad")
    assert get(standin, PAGE).data == b"\x15\x03\x03\x00\x02\x02\x28"


def test_the_tls_port_speaks_no_tls(standin: Standin) -> None:
    hello = b"\x16\x03\x01\x00\x05\x01\x00\x00\x01\x00"
    assert talk(standin, hello, port=standin.tls_port).data.startswith(b"HTTP/1.1 400")


def test_a_tls_hello_on_the_plain_port_meets_an_alert(standin: Standin) -> None:
    assert talk(standin, b"\x16\x03\x01\x00\x05\r\n\r\n").data.startswith(b"\x15\x03\x03")


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2", "127.0.0.4"])
def test_every_host_serves_the_same_port(standin: Standin, host: str) -> None:
    assert get(standin, PAGE, host=host).status == 200
