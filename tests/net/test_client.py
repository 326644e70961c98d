"""The policy: what is tried again, what is slept, when a circuit opens. No network: the transport is a table of replies."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable
from email.utils import formatdate
from random import Random

import httpx
import pytest

from pipeline.errors import ProviderRefused, ServiceFailed, ServiceUnavailable
from pipeline.net.calls_and_replies import Again, Call, Failed, Good, Refused, Reply, Verdict, judged_by_status
from pipeline.net.client import HttpClient, Policy
from tests.net.clocks import Clock

CALL = Call("service", "GET", "https://api.example.org/v1/thing", headers={"authorization": "Bearer sk-canary-1"})
NO_JITTER = Policy(first_wait_s=1, longest_wait_s=1)


class Server:
    """Answers with each reply of a list in turn, then with 200 for ever. A reply is a status, a response or an error."""

    def __init__(self, *replies: int | httpx.Response | Exception) -> None:
        self.replies = list(replies)
        self.hits = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.hits += 1
        reply = self.replies.pop(0) if self.replies else 200
        if isinstance(reply, Exception):
            raise reply
        return httpx.Response(reply) if isinstance(reply, int) else reply


def client(server: Callable[[httpx.Request], httpx.Response], clock: Clock, policy: Policy = NO_JITTER) -> HttpClient:
    return HttpClient(
        policy,
        transport=httpx.MockTransport(server),
        clock=clock,
        wall=clock,
        sleep=clock.sleep,
        random=Random(1),
    )


def sent(http: HttpClient, judge: Callable[[Reply], Verdict] = judged_by_status, call: Call = CALL) -> Reply:
    return asyncio.run(http.send(call, judge))


def busy(**headers: str) -> httpx.Response:
    return httpx.Response(429, headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize("passing", [408, 425, 429, 500, 502, 503, 524, 529])
def test_what_can_pass_is_tried_again(passing: int) -> None:
    server, clock = Server(passing, passing), Clock()
    assert sent(client(server, clock)).status == 200
    assert server.hits == 3
    assert len(clock.slept) == 2


def test_the_attempts_run_out() -> None:
    server, clock = Server(*[503] * 9), Clock()
    with pytest.raises(ServiceUnavailable, match="tried 3 times") as caught:
        sent(client(server, clock))
    assert server.hits == 3
    assert caught.value.retryable
    assert caught.value.hint


@pytest.mark.parametrize("status", [301, 400, 404, 410, 422])
def test_what_cannot_pass_is_sent_once(status: int) -> None:
    server, clock = Server(*[status] * 9), Clock()
    with pytest.raises(ServiceFailed, match=str(status)):
        sent(client(server, clock))
    assert (server.hits, clock.slept) == (1, [])


@pytest.mark.parametrize("status", [401, 402, 403])
def test_a_refusal_is_exactly_one_hit_however_often_it_is_asked(status: int) -> None:
    server, clock = Server(*[status] * 9), Clock()
    http = client(server, clock)
    for _ in range(3):
        with pytest.raises(ProviderRefused) as caught:
            sent(http)
        assert caught.value.exit_code == 4
        assert caught.value.hint
        clock.now += 1e6
    assert server.hits == 1


@pytest.mark.parametrize(("status", "hits"), [(401, 1), (200, 5)])
def test_calls_that_begin_together_wait_until_the_first_shows_that_the_service_answers_us(status: int, hits: int) -> None:
    under_way = most = seen = 0

    async def server(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most, seen
        seen, under_way = seen + 1, under_way + 1
        most = max(most, under_way if seen > 1 else 0)
        await asyncio.sleep(0)
        alone = under_way == 1
        under_way -= 1
        assert alone or seen > 1
        return httpx.Response(status)

    async def scenario() -> None:
        http = HttpClient(NO_JITTER, transport=httpx.MockTransport(server))
        await asyncio.gather(*(http.send(CALL, judged_by_status) for _ in range(5)), return_exceptions=True)

    asyncio.run(scenario())
    assert seen == hits
    assert most > 1 or status == 401


@pytest.mark.parametrize("value", ["-5", "abc"])
def test_a_retry_after_that_means_nothing_is_backed_off_from(value: str) -> None:
    server, clock = Server(busy(retry_after=value)), Clock()
    assert sent(client(server, clock)).status == 200
    assert [0.5 <= wait <= 1 for wait in clock.slept] == [True]


def test_a_short_retry_after_is_slept_once_and_in_full() -> None:
    server, clock = Server(busy(retry_after="7")), Clock()
    assert sent(client(server, clock)).status == 200
    assert clock.slept == [7]


def test_a_wait_in_the_body_counts_like_one_in_the_header() -> None:
    server, clock = Server(429), Clock()

    def judge(reply: Reply) -> Verdict:
        return Again("at capacity", after_s=40) if reply.status == 429 else Good()

    assert sent(client(server, clock), judge).status == 200
    assert clock.slept == [40]


@pytest.mark.parametrize("value", ["54000", "61", "9" * 300, formatdate(5_000_000_000, usegmt=True)])
def test_a_retry_after_above_the_cap_is_not_slept_but_opens_the_circuit(value: str) -> None:
    server, clock = Server(busy(retry_after=value)), Clock()
    http = client(server, clock)
    for _ in range(3):
        with pytest.raises(ServiceUnavailable):
            sent(http)
    assert (server.hits, clock.slept) == (1, [])
    clock.now += NO_JITTER.longest_open_s
    assert sent(http).status == 200


def test_a_rest_holds_for_every_call_of_the_service() -> None:
    server, clock = Server(busy(retry_after="9")), Clock()
    http = client(server, clock, Policy(attempts=1))
    with pytest.raises(ServiceUnavailable):
        sent(http)
    assert sent(http).status == 200
    assert clock.slept == [9]


def test_no_wait_goes_past_the_call_s_deadline() -> None:
    server, clock = Server(*[busy(retry_after="50")] * 9), Clock()
    with pytest.raises(ServiceUnavailable):
        sent(client(server, clock, Policy(attempts=9, call_deadline_s=120)))
    assert clock.slept == [50, 50]
    assert server.hits == 3


def test_failures_in_a_row_open_the_circuit_and_one_call_closes_it_again() -> None:
    server, clock = Server(*[500] * 5), Clock()
    http = client(server, clock)
    for _ in range(4):
        with pytest.raises(ServiceUnavailable):
            sent(http)
    assert server.hits == 5
    clock.now += NO_JITTER.cool_down_s - 1
    with pytest.raises(ServiceUnavailable):
        sent(http)
    assert server.hits == 5
    clock.now += 1
    assert [sent(http).status, sent(http).status] == [200, 200]


def test_a_circuit_that_fails_when_tried_opens_at_once() -> None:
    server, clock = Server(*[500] * 6), Clock()
    http = client(server, clock, Policy(attempts=5, first_wait_s=0))
    with pytest.raises(ServiceUnavailable):
        sent(http)
    clock.now += 60
    with pytest.raises(ServiceUnavailable):
        sent(http)
    assert server.hits == 6
    clock.now += 59
    with pytest.raises(ServiceUnavailable):
        sent(http)
    assert server.hits == 6
    clock.now += 1
    assert sent(http).status == 200


def test_an_open_circuit_is_tried_by_one_call_at_a_time_and_freed_when_that_one_is_cancelled() -> None:
    clock = Clock()
    arrived = asyncio.Event()
    hits = 0

    async def slow(request: httpx.Request) -> httpx.Response:
        nonlocal hits
        hits += 1
        if hits == 1:
            return busy(retry_after="61")
        if hits == 2:
            arrived.set()
            await asyncio.Event().wait()
        return httpx.Response(200)

    async def scenario() -> None:
        http = HttpClient(Policy(), transport=httpx.MockTransport(slow), clock=clock, wall=clock, sleep=clock.sleep)
        with pytest.raises(ServiceUnavailable):
            await http.send(CALL, judged_by_status)
        clock.now += 61
        first = asyncio.create_task(http.send(CALL, judged_by_status))
        await arrived.wait()
        with pytest.raises(ServiceUnavailable):
            await http.send(CALL, judged_by_status)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        assert (await http.send(CALL, judged_by_status)).status == 200

    asyncio.run(scenario())
    assert hits == 3


VERDICTS: list[tuple[Verdict, type[Exception]]] = [
    (Again("empty"), ServiceUnavailable),
    (Failed("no such model"), ServiceFailed),
    (Refused("no credit", "buy some"), ProviderRefused),
]


@pytest.mark.parametrize(("verdict", "error"), VERDICTS)
def test_what_a_reply_means_is_for_the_judge_to_say(verdict: Verdict, error: type[Exception]) -> None:
    def judge(reply: Reply) -> Verdict:
        return verdict

    with pytest.raises(error):
        sent(client(Server(), Clock()), judge)


def test_a_malformed_body_is_asked_for_again() -> None:
    server, clock = Server(httpx.Response(200, text="<html>"), httpx.Response(200, text='\n\n{"a": 1}')), Clock()

    def judge(reply: Reply) -> Verdict:
        return Good() if reply.json_object() else Failed("empty")

    assert sent(client(server, clock), judge).json_object() == {"a": 1}
    assert server.hits == 2


@pytest.mark.parametrize(
    ("error", "hits", "lost"),
    [
        (httpx.ConnectError("x"), 3, 0),
        (httpx.ConnectTimeout("x"), 3, 0),
        (httpx.ReadTimeout("x"), 3, 3),
        (httpx.ReadError("x"), 3, 3),
        (httpx.WriteError("x"), 3, 3),
        (httpx.RemoteProtocolError("x"), 3, 3),
        (OSError("x"), 3, 3),
        (TimeoutError("x"), 3, 3),
        (httpx.LocalProtocolError("Illegal header value b'Bearer sk-canary-1'"), 1, 0),
        (UnicodeError("x"), 1, 0),
    ],
)
def test_every_fault_of_the_network_is_translated_once(error: Exception, hits: int, lost: int) -> None:
    server = Server(*[error] * 3)
    with pytest.raises((ServiceUnavailable, ServiceFailed)) as caught:
        sent(client(server, Clock()))
    assert server.hits == hits
    assert caught.value.lost == lost
    assert "sk-canary" not in str(caught.value) + repr(caught.value)


def test_a_certificate_that_is_not_valid_is_not_tried_again() -> None:
    error = httpx.ConnectError("x")
    error.__cause__ = ssl.SSLCertVerificationError("self-signed")
    server = Server(error)
    with pytest.raises(ServiceFailed, match="certificate"):
        sent(client(server, Clock()))
    assert server.hits == 1


def test_a_fault_that_is_not_the_network_s_is_not_hidden() -> None:
    with pytest.raises(ZeroDivisionError):
        sent(client(Server(ZeroDivisionError()), Clock()))


def test_keys_show_in_no_representation_and_no_message() -> None:
    call = Call("service", "POST", "https://api.example.org/x", {"a": "canary"}, {"api_key": "canary"}, {"k": "canary"})
    with pytest.raises(ServiceFailed) as caught:
        sent(client(Server(404), Clock()), call=call)
    assert "canary" not in repr(call) + str(caught.value)


def test_parameters_are_added_to_those_of_the_address() -> None:
    seen: list[str] = []

    def server(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(200)

    sent(client(server, Clock()), call=Call("s", "GET", "https://e.example.org/?a=1", params={"q": "ä b&c"}))
    assert seen == ["https://e.example.org/?a=1&q=%C3%A4+b%26c"]


def test_half_a_character_in_a_body_is_sent_as_a_question_mark() -> None:
    bodies: list[bytes] = []

    def server(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return httpx.Response(200)

    sent(client(server, Clock()), call=Call("s", "POST", "https://e.example.org/", json={"a": "x\ud800y"}))
    assert bodies == [b'{"a": "x?y"}']


def all_at_once(statuses: list[int], calls: int) -> tuple[int, int]:
    """Send calls together through two slots, after one that proves the service; return the hits, and the most at once."""
    under_way = most = hits = 0

    async def server(request: httpx.Request) -> httpx.Response:
        nonlocal under_way, most, hits
        status = statuses[hits] if hits < len(statuses) else 200
        hits, under_way = hits + 1, under_way + 1
        most = max(most, under_way)
        await asyncio.sleep(0)
        under_way -= 1
        return httpx.Response(status)

    async def scenario() -> None:
        http = HttpClient(NO_JITTER, at_once=2, transport=httpx.MockTransport(server))
        await http.send(CALL, judged_by_status)
        await asyncio.gather(*(http.send(CALL, judged_by_status) for _ in range(calls)), return_exceptions=True)

    asyncio.run(scenario())
    return hits, most


def test_no_more_exchanges_are_under_way_than_there_are_slots() -> None:
    assert all_at_once([], calls=6) == (7, 2)


def test_a_call_that_waited_for_its_slot_is_not_sent_after_a_refusal() -> None:
    assert all_at_once([200, 402, 402], calls=6) == (3, 2)
