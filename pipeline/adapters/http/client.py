"""The HTTP client: sends a call, has its reply judged, and retries, waits or gives up by the policy."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from random import Random
from types import MappingProxyType

from pipeline.adapters.http.address_guard import AddressGuard, AddressRefused
from pipeline.adapters.http.call_and_reply import BUSY, DOWN, Again, Call, Failed, Good, Judge, Refused, Reply, Verdict
from pipeline.adapters.http.circuit_breaker import CircuitBreaker
from pipeline.adapters.http.clock import loop_time
from pipeline.adapters.http.retry_policy import Policy, longer_wait, retry_after
from pipeline.adapters.http.transport import Fault, GuardedTransport, Transport, exchange
from pipeline.config.network import Route
from pipeline.errors import Malformed, ProviderRefused, ServiceFailed, ServiceUnavailable

Before = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict
    reply: Reply | None = None
    lost: int = 0

    @property
    def is_down(self) -> bool:
        """Whether the service itself is down, by the verdict or by the reply's status."""
        by_verdict = isinstance(self.verdict, Again) and self.verdict.down
        return by_verdict or (self.reply is not None and self.reply.status in DOWN)


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
        circuit = self._circuit(call.service)
        if circuit.unproven:
            async with circuit.first:
                if circuit.unproven:
                    return await self._send_with_retries(call, judge, before, circuit)
        return await self._send_with_retries(call, judge, before, circuit)

    def _circuit(self, service: str) -> CircuitBreaker:
        if service not in self._circuits:
            slots = asyncio.Semaphore(self._at_once_at.get(service, 1_000))
            self._circuits[service] = CircuitBreaker(self._policy, slots=slots)
        return self._circuits[service]

    async def _send_with_retries(self, call: Call, judge: Judge, before: Before | None, circuit: CircuitBreaker) -> Reply:
        deadline = self._clock() + (self._policy.call_deadline_s if call.total_s is None else call.total_s)
        lost = 0
        for attempt in count(1):
            await self._wait_until_allowed(call, circuit, deadline, lost)
            queued_at = self._clock()
            async with circuit.slots, self._slots:
                deadline += self._clock() - queued_at
                self._required_wait_s(call, circuit, deadline, lost)  # another call may have been refused meanwhile
                if before is not None:
                    await before()
                    self._required_wait_s(call, circuit, deadline, lost)
                outcome = await self._attempt(call, judge, circuit, deadline)
            lost += outcome.lost
            if isinstance(outcome.verdict, Good) and outcome.reply is not None:
                return replace(outcome.reply, lost=lost) if lost else outcome.reply
            wait = self._next_wait(outcome, circuit, attempt, call.gap_s)
            if not isinstance(outcome.verdict, Again):
                raise _final_error(call, outcome.verdict, lost)
            if wait is None or self._clock() + wait >= deadline:
                raise self._unavailable(call, outcome.verdict.why, circuit, attempt, lost, down=outcome.is_down)
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

    async def _wait_until_allowed(self, call: Call, circuit: CircuitBreaker, deadline: float, lost: int) -> None:
        """Wait as long as the service asked for; raise an error if its circuit is open."""
        rest = self._required_wait_s(call, circuit, deadline, lost)
        if rest > 0:
            await self._sleep(rest)

    def _required_wait_s(self, call: Call, circuit: CircuitBreaker, deadline: float, lost: int) -> float:
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
        trying = circuit.admit()
        try:
            outcome = await self._exchange(call, judge, deadline)
        except BaseException:
            if trying:
                circuit.release(self._clock())
            raise
        if isinstance(outcome.verdict, Refused):
            circuit.refuse(outcome.verdict)
        elif not isinstance(outcome.verdict, Again):
            circuit.record_success()
        return outcome

    async def _exchange(self, call: Call, judge: Judge, deadline: float) -> _Outcome:
        try:
            self._guard.check_url(call.target)
            self._transport = self._transport or GuardedTransport(self._guard, self._route)
            reply = await exchange(self._transport, call, deadline - self._clock(), self._clock)
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

    def _next_wait(self, outcome: _Outcome, circuit: CircuitBreaker, attempt: int, gap_s: float) -> float | None:
        """Record a failed attempt in the circuit; return the seconds before the next, or None if there is none."""
        if not isinstance(outcome.verdict, Again):
            return None
        header = outcome.reply.headers.get("retry-after") if outcome.reply is not None else None
        asked = longer_wait(outcome.verdict.after_s, retry_after(header, self._wall()))
        status = outcome.reply.status if outcome.reply is not None else 0
        circuit.why, circuit.busy = outcome.verdict.why, asked is not None or status in BUSY
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
        error = ServiceUnavailable(f"{call.service}: {why}{tried}, at {call.place}", hint=hint, lost=lost)
        if down or not circuit.proven or circuit.blocked_s(self._clock()) > 0:
            error.outage = circuit.outage(call.service, self._clock())
        return error


def _final_error(call: Call, verdict: Refused | Failed | Good, lost: int) -> ProviderRefused | ServiceFailed:
    if isinstance(verdict, Refused):
        return ProviderRefused(f"{call.service} {verdict.verb}: {verdict.why}", hint=verdict.hint)
    why = verdict.why if isinstance(verdict, Failed) else "the reply was lost"
    return ServiceFailed(f"{call.service}: {why}, at {call.place}", lost=lost)
