"""The HTTP client: sends a call, has its reply judged, and retries, waits or gives up by the policy and the service's circuit."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from email.utils import parsedate_to_datetime
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Literal

from pipeline.config.services import Route
from pipeline.errors import Malformed, Outage, ProviderRefused, ServiceFailed, ServiceUnavailable
from pipeline.net.calls_and_replies import BUSY, DOWN, Again, Call, Failed, Good, Judge, Refused, Reply, Verdict, loop_time
from pipeline.net.guard import AddressGuard, AddressRefused
from pipeline.net.transport import Fault, GuardedTransport, Transport, exchange


@dataclass(frozen=True, slots=True)
class Policy:
    """The failure policy of one client. Times in seconds; attempts and failures are counts.

    ``attempts`` counts the first one too. The wait before attempt 2 is ``first_wait_s``, doubled each time up to
    ``longest_wait_s``, less a random part of up to half of it. A server's Retry-After is honoured up to ``retry_after_cap_s``;
    above it the service's circuit opens until then, ``longest_open_s`` at most, and the call fails. ``call_deadline_s`` bounds
    all attempts and waits of one call together. ``opens_after`` failed attempts in a row open the circuit for ``cool_down_s``.
    """

    attempts: int = 3
    first_wait_s: float = 0.5
    longest_wait_s: float = 8.0
    retry_after_cap_s: float = 60.0
    call_deadline_s: float = 300.0
    opens_after: int = 5
    cool_down_s: float = 60.0
    longest_open_s: float = 43_200.0

    def backoff(self, attempt: int, random: Random) -> float:
        """Return the wait in seconds after the failed attempt ``attempt`` (the first is 1)."""
        full = min(self.longest_wait_s, self.first_wait_s * 2.0 ** (attempt - 1))
        return full * (1 - random.random() / 2)


# Of models and searches: a session that meets a dead server stays open, so more attempts would gain nothing.
SERVICES = Policy(attempts=2, opens_after=4)


def retry_after(value: str | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for; None if it is absent or invalid.

    ``now`` is the time since the epoch, for a header with a date; a date in the past gives 0. A huge number gives infinity.
    """
    text = (value or "").strip()
    whole, point, part = text.partition(".")
    if text.isascii() and whole.isdecimal() and (part.isdecimal() or not point):
        return float(text)
    try:
        asked = parsedate_to_datetime(text).timestamp() - now
    except (ValueError, TypeError, OverflowError, IndexError):
        return None
    return max(0.0, asked)


@dataclass
class CircuitBreaker:
    """The state of one service. All times are readings of the client's clock, in seconds.

    ``until``: when one call may try an open circuit again. ``rest_until``: the end of a wait that the service asked for.
    ``why``: the reason of the last failure; ``busy``: it was that the service has too much to do.
    ``refusal``: why the service refuses access for good. ``proven``: the service has sent a good reply; until then a call holds
    ``first``, so that a wrong key is tried once, however many calls wait. ``slots`` bounds the exchanges in progress.
    """

    policy: Policy
    slots: asyncio.Semaphore
    state: Literal["closed", "open", "trying", "refused"] = "closed"
    failures: int = 0
    until: float = 0.0
    rest_until: float = 0.0
    why: str = ""
    busy: bool = False
    refusal: Refused | None = None
    proven: bool = False
    first: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def unproven(self) -> bool:
        """Whether the service has sent no good reply yet."""
        return self.state == "closed" and not self.proven

    def blocked_s(self, now: float) -> float:
        """Return the seconds for which no call may pass; 0 if one may now."""
        if self.state == "open":
            return max(0.0, self.until - now)
        return self.policy.cool_down_s if self.state == "trying" else 0.0

    def record_success(self) -> None:
        """Close the circuit after an answer."""
        if self.state != "refused":
            self.state, self.failures, self.proven = "closed", 0, True

    def record_failure(self, now: float) -> None:
        """Count a failed attempt; too many in a row open the circuit."""
        self.failures += 1
        if self.state == "trying" or (self.state == "closed" and self.failures >= self.policy.opens_after):
            self.state, self.until = "open", now + self.policy.cool_down_s

    def record_retry_after(self, seconds: float, now: float) -> None:
        """Apply a wait that the service asked for: a short one delays all its calls, a long one opens the circuit."""
        if self.state == "refused":
            return
        if seconds <= self.policy.retry_after_cap_s:
            self.state, self.failures = "closed", 0
            self.rest_until = max(self.rest_until, now + seconds)
        else:
            self.state, self.until = "open", now + min(seconds, self.policy.longest_open_s)


Before = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict
    reply: Reply | None = None
    lost: int = 0


class HttpClient:
    """Sends calls under one failure policy, with a circuit breaker for each service. Belongs to one event loop.

    ``at_once`` bounds the exchanges in progress, ``at_once_at`` those at single services.
    ``guard`` decides which addresses may be connected to, ``route`` through which proxy; ``transport`` replaces the network in
    tests. ``clock`` is monotonic and ``wall`` the time since the epoch, both in seconds.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        at_once: int = 1_000,
        at_once_at: Mapping[str, int] = MappingProxyType({}),
        guard: AddressGuard | None = None,
        route: Route | None = None,
        transport: Transport | None = None,
        clock: Callable[[], float] = loop_time,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        self._policy = policy
        self._slots = asyncio.Semaphore(at_once)
        self._at_once_at = at_once_at
        self._guard = guard or AddressGuard()
        self._route = route or Route()
        self._transport = transport
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        self._circuits: dict[str, CircuitBreaker] = {}

    async def send(self, call: Call, judge: Judge, before: Before | None = None) -> Reply:
        """Return the first reply with the verdict ``Good``.

        A ``Malformed`` that ``judge`` raises counts as ``Again``. ``before`` is called before each attempt (a budget reserves its
        worst case there); an error from it ends the call. Until a service has sent one good reply, its calls run one at a time.
        The time that a call waits for a free slot is not part of its deadline.

        Raises:
            ServiceUnavailable: attempts or time are used up, or the service's circuit is open; the call may pass later. It has an
                ``outage`` if the service itself is down.
            ProviderRefused: key, quota or credit is missing or used up; later calls of this service are not sent.
            ServiceFailed: this call will never pass.
        """
        if (circuit := self._circuits.get(call.service)) is None:
            slots = asyncio.Semaphore(self._at_once_at.get(call.service, 1_000))
            circuit = self._circuits[call.service] = CircuitBreaker(self._policy, slots)
        if circuit.unproven:
            async with circuit.first:
                if circuit.unproven:
                    return await self._send_with_retries(call, judge, before, circuit)
        return await self._send_with_retries(call, judge, before, circuit)

    async def _send_with_retries(self, call: Call, judge: Judge, before: Before | None, circuit: CircuitBreaker) -> Reply:
        deadline = self._clock() + (self._policy.call_deadline_s if call.total_s is None else call.total_s)
        lost = 0
        for attempt in count(1):
            if (rest := self._required_wait_s(call, circuit, deadline, lost)) > 0:
                await self._sleep(rest)
            queued_at = self._clock()
            async with circuit.slots, self._slots:
                deadline += self._clock() - queued_at
                self._required_wait_s(call, circuit, deadline, lost)  # another call may have been refused meanwhile
                if before is not None:
                    await before()
                    self._required_wait_s(call, circuit, deadline, lost)
                outcome = await self._attempt(call, judge, circuit, deadline)
            lost += outcome.lost
            if isinstance(outcome.verdict, Refused | Failed):
                raise _final_error(call, outcome.verdict, lost)
            if outcome.reply is not None and isinstance(outcome.verdict, Good):
                return replace(outcome.reply, lost=lost) if lost else outcome.reply
            assert isinstance(outcome.verdict, Again)  # noqa: S101 - what is good has a reply
            wait = self._next_wait(outcome, outcome.verdict, circuit, attempt, call.gap_s)
            if wait is None or self._clock() + wait >= deadline:
                down = outcome.verdict.down or (outcome.reply is not None and outcome.reply.status in DOWN)
                raise self._unavailable(call, outcome.verdict.why, circuit, attempt, lost, down=down)
            await self._sleep(wait)
        raise AssertionError("the attempts are counted above")

    def check(self, url: str) -> None:
        """Check an address without connecting to it.

        Raises:
            ServiceFailed: the guard refuses the address.
        """
        try:
            self._guard.check_url(url)
        except AddressRefused as error:
            raise ServiceFailed(str(error)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.aclose()

    def _required_wait_s(self, call: Call, circuit: CircuitBreaker, deadline: float, lost: int) -> float:
        """Return the wait that the service asked for; raise an error if its circuit is open."""
        if circuit.refusal is not None:
            raise _final_error(call, circuit.refusal, lost)
        now = self._clock()
        blocked = circuit.blocked_s(now)
        if blocked > 0:
            raise self._unavailable(call, f"it is paused for {blocked:,.0f} s: {circuit.why}", circuit, 0, lost, down=True)
        rest = circuit.rest_until - now
        if now + rest >= deadline:
            raise self._unavailable(call, f"it asks for a wait of {rest:,.0f} s", circuit, 0, lost, down=True)
        return rest

    async def _attempt(self, call: Call, judge: Judge, circuit: CircuitBreaker, deadline: float) -> _Outcome:
        """Make one exchange and record a success or a refusal in the circuit."""
        if trying := circuit.state == "open":
            circuit.state = "trying"
        try:
            outcome = await self._exchange(call, judge, deadline)
        except BaseException:
            if trying and circuit.state == "trying":  # another call may try
                circuit.state, circuit.until = "open", self._clock()
            raise
        if isinstance(outcome.verdict, Refused):
            circuit.state, circuit.refusal = "refused", outcome.verdict
        elif not isinstance(outcome.verdict, Again):
            circuit.record_success()
        return outcome

    async def _exchange(self, call: Call, judge: Judge, deadline: float) -> _Outcome:
        try:
            self._guard.check_url(call.target)
            self._transport = self._transport or GuardedTransport(self._guard, self._route)
            reply = await exchange(self._transport, call, deadline - self._clock())
        except AddressRefused as error:
            return _Outcome(Failed(str(error)))
        except Fault as fault:
            if fault.sent:
                return _Outcome(fault.verdict, lost=1)
            return _Outcome(replace(fault.verdict, why=f"{fault.verdict.why}{self._route.said(call.target)}"))
        try:
            return _Outcome(judge(reply), reply)
        except Malformed as error:
            return _Outcome(Again(error.message), reply)

    def _next_wait(self, outcome: _Outcome, verdict: Again, circuit: CircuitBreaker, attempt: int, gap_s: float) -> float | None:
        """Record a failed attempt in the circuit; return the seconds before the next, or None if there is none."""
        header = outcome.reply.headers.get("retry-after") if outcome.reply is not None else None
        waits = (verdict.after_s, retry_after(header, self._wall()))
        asked = max((wait for wait in waits if wait is not None and wait >= 0), default=None)  # not a number is neither
        status = outcome.reply.status if outcome.reply is not None else 0
        circuit.why, circuit.busy = verdict.why, asked is not None or status in BUSY
        now = self._clock()
        if asked is None:
            circuit.record_failure(now)
        else:
            circuit.record_retry_after(asked, now)
        if attempt >= self._policy.attempts or circuit.blocked_s(now) > 0:
            return None
        return max(asked or 0.0, gap_s, self._policy.backoff(attempt, self._random))

    def _unavailable(
        self, call: Call, why: str, circuit: CircuitBreaker, attempts: int, lost: int, *, down: bool
    ) -> ServiceUnavailable:
        """Return the error of a call that may pass later.

        It has an outage if the service is ``down``, its circuit is open, or it has not answered at all in this run.
        """
        tried = f" (tried {attempts} times)" if attempts > 1 else ""
        hint = "it may pass later; `research doctor --online` shows whether the service answers"
        error = ServiceUnavailable(f"{call.service}: {why}{tried}, at {call.place}", hint=hint)
        error.lost = lost
        blocked_s, rest_s = circuit.blocked_s(self._clock()), circuit.rest_until - self._clock()
        if down or not circuit.proven or blocked_s > 0:
            error.outage = Outage(call.service, max(0.0, blocked_s, rest_s), circuit.proven, circuit.busy)
        return error


def _final_error(call: Call, verdict: Refused | Failed, lost: int) -> ProviderRefused | ServiceFailed:
    error: ProviderRefused | ServiceFailed
    if isinstance(verdict, Refused):
        error = ProviderRefused(f"{call.service} {verdict.verb}: {verdict.why}", hint=verdict.hint)
    else:
        error = ServiceFailed(f"{call.service}: {verdict.why}, at {call.place}")
    error.lost = lost
    return error
