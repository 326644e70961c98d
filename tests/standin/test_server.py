"""Faults by route and call, chance by seed, the record, and the server by hand."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Sequence

import pytest

from pipeline.config.queries.document import parse
from tests.standin.__main__ import SEARCHES, directions, settings
from tests.standin.fixtures import hosted, standin
from tests.standin.options import Options
from tests.standin.rawclient import ask, get, talk
from tests.standin.server import Standin

__all__ = ["standin"]


def _statuses(server: Standin, path: str, count: int) -> list[int]:
    return [get(server, path).status for _ in range(count)]


# ---- faults ----------------------------------------------------------------------------------------------------


def test_a_fault_strikes_the_calls_it_names_and_no_other(standin: Standin) -> None:
    standin.fault("pages", "status:503", calls=[2, 4])
    assert _statuses(standin, "/pages/1", 5) == [200, 503, 200, 503, 200]


def test_calls_count_from_when_the_fault_was_set(standin: Standin) -> None:
    _statuses(standin, "/pages/1", 3)
    standin.fault("pages", "status:503", calls=[1])
    assert _statuses(standin, "/pages/1", 2) == [503, 200]


def test_a_fault_keeps_to_its_route_or_its_paths(standin: Standin) -> None:
    standin.fault("/pages/2*", "status:503")
    standin.fault("robots", "status:404")
    assert [get(standin, path).status for path in ("/pages/1", "/pages/2", "/pages/24", "/robots.txt")] == [200, 503, 503, 404]


def test_a_fault_for_everything_strikes_everything_until_cleared(standin: Standin) -> None:
    standin.fault("*", "status:500")
    assert [get(standin, "/pages/1").status, ask(standin).status] == [500, 500]
    standin.clear()
    assert [get(standin, "/pages/1").status, ask(standin).status] == [200, 200]


def test_a_model_can_be_another_for_one_call(standin: Standin) -> None:
    standin.fault("chat", "model:swapped", calls=[2])
    assert [ask(standin).json()["model"] for _ in range(3)] == ["standin/model", "standin/other-model", "standin/model"]


def test_an_unknown_model_is_refused_with_the_known_ones(standin: Standin) -> None:
    with pytest.raises(ValueError, match="honest, malicious"):
        standin.change(model="angry")
    with pytest.raises(ValueError, match="honest, malicious"):
        standin.fault("chat", "model:angry")


# ---- chance ----------------------------------------------------------------------------------------------------


def _mixed(seed: int, order: Sequence[int]) -> dict[int, list[str]]:
    with hosted() as server:
        server.mix(seed, 0.5, ["pages"], ["status:500", "status:502", "status:503"])
        for number in order:
            get(server, f"/pages/{number}")
        return {number: [hit.fault for hit in server.log.of(f"/pages/{number}")] for number in set(order)}


def test_a_mix_repeats_with_its_seed_whatever_the_order_of_requests() -> None:
    order = [*range(1, 13), *range(1, 13)]
    assert _mixed(1, order) == _mixed(1, order[::-1])


def test_another_seed_is_another_mix_and_both_hold_good_and_bad() -> None:
    first, second = (_mixed(seed, range(1, 25)) for seed in (1, 2))
    assert first != second
    assert {"ok", "status:500", "status:502", "status:503"} == {fault for faults in first.values() for fault in faults}


def test_a_mix_forgets_what_differs_between_runs() -> None:
    texts = ("<<material S1 0a1b>>\nSame.\n<<end material S1 0a1b>>", "<<material S1 ffee>>\nSame.\n<<end material S1 ffee>>")
    fates = []
    for text in texts:
        with hosted() as server:
            server.mix(3, 0.5, ["chat"])
            for _ in range(12):
                ask(server, text)
            fates.append([hit.fault for hit in server.log.hits])
    assert fates[0] == fates[1]


def test_a_garbage_model_repeats_with_its_seed_and_differs_by_turn() -> None:
    schema = {"type": "object", "properties": {"reasoning": {"type": "string"}}}
    wanted = {"type": "json_schema", "json_schema": {"name": "thought", "schema": schema}}
    told = []
    for _ in range(2):
        with hosted(Options(model="garbage", seed=5)) as server:
            told.append([ask(server, response_format=wanted).json()["choices"][0]["message"]["content"] for _ in range(2)])
    assert told[0] == told[1]
    assert told[0][0] != told[0][1]


# ---- the record ------------------------------------------------------------------------------------------------


def test_a_hit_is_recorded_with_everything_but_secrets(standin: Standin) -> None:
    ask(standin, "What is it?")
    hit = standin.log.hits[0]
    assert (hit.route, hit.call, hit.status, hit.authorised, hit.host) == ("chat", 1, 200, True, "127.0.0.1")
    assert "authorization" in hit.header_names
    assert len(hit.body_sha256) == 64
    shown = json.loads(standin.log.lines())
    assert shown["charge"] == [standin.log.charged().input_tokens, standin.log.charged().output_tokens, standin.log.charged().usd]
    assert "Bearer" not in standin.log.lines()


def test_a_key_is_noticed_in_any_place(standin: Standin) -> None:
    for target, headers in (("/works?search=x&api_key=k", {}), ("/pages/1", {"X-API-Key": "k"}), ("/pages/1", {"Cookie": "a=b"})):
        get(standin, target, headers)
    get(standin, "/pages/1")
    assert [hit.authorised for hit in standin.log.hits] == [True, True, True, False]


def test_what_was_said_anywhere_can_be_looked_for(standin: Standin) -> None:
    ask(standin, "the canary sings")
    get(standin, "/pages/1?x=canary")
    get(standin, "/pages/1")
    assert [hit.number for hit in standin.log.heard("canary")] == [1, 2]


def test_requests_at_once_and_pauses_are_told_by_host(standin: Standin) -> None:
    for _ in range(3):
        get(standin, "/pages/1")
    assert standin.log.most_at_once("127.0.0.1") == 1
    assert len(standin.log.pauses("127.0.0.1")) == 2
    assert standin.log.most_at_once("elsewhere") == 0


def test_what_is_no_http_leaves_no_hit_and_no_harm(standin: Standin) -> None:
    talk(standin, b"SSH-2.0-client\r\n\r\n")
    talk(standin, b"GET /pages/1 HTTP/1.1\r\nContent-Length: -5\r\n\r\n")
    assert standin.log.hits == []
    assert get(standin, "/pages/1").status == 200


def test_a_chunked_request_is_read_whole(standin: Standin) -> None:
    head = (
        b"POST /search HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer k\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    seen = talk(standin, head + b'a\r\n{"query": \r\n6\r\n"heat"\r\n1\r\n}\r\n0\r\n\r\n')
    assert seen.json()["query"] == "heat"


# ---- life ------------------------------------------------------------------------------------------------------


def test_a_server_in_the_same_loop_serves_and_stops() -> None:
    async def scenario() -> bytes:
        async with Standin() as server:
            reader, writer = await asyncio.open_connection("127.0.0.1", server.state.port)
            writer.write(b"GET /robots.txt HTTP/1.1\r\nHost: x\r\n\r\n")
            line = await reader.readline()
        assert await reader.read(100_000)
        assert await reader.read() == b""
        writer.close()
        return line

    assert asyncio.run(scenario()) == b"HTTP/1.1 200 OK\r\n"


def test_the_directions_name_every_address(standin: Standin) -> None:
    text = directions(standin)
    assert all(url in text for url in (standin.openrouter_url, standin.openai_url, standin.base_url, standin.tls_bad_url))


def test_the_settings_it_prints_are_valid_and_send_everything_here(standin: Standin) -> None:
    queue, faults = parse(f"{settings(standin)}queries: []\n".encode())
    assert faults == ()
    assert queue.settings.search == SEARCHES
    assert getattr(queue.settings.reasoner, "base_url", "") == standin.openrouter_url
    assert {url for _, url in queue.settings.search_urls} == {queue.settings.searxng_url} == {standin.base_url}


def test_by_hand_it_prints_its_addresses_and_serves() -> None:
    command = [sys.executable, "-m", "tests.standin", "--port", "0", "--fault", "pages=status:418"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
    assert "/api/v1" in first


def test_every_address_is_named_once_for_a_client_that_guards_its_connections() -> None:
    with hosted(Options(hosts=("127.0.0.1", "127.0.0.2", "pages.test"))) as server:
        hosts = [address.removesuffix(f":{server.state.port}") for address in server.addresses]
        assert hosts == ["http://127.0.0.1", "http://127.0.0.2", "http://pages.test"]
