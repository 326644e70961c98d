"""The one HTTP client: sends a call, has the reply judged, and does what the policy says about it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from pipeline.adapters.http.address_guard import AddressGuard, AddressRefused
from pipeline.adapters.http.call_and_reply import Again, Call, Failed, Good, Judge, Refused, Reply, Verdict
from pipeline.adapters.http.circuit_breaker import CircuitBreaker
from pipeline.adapters.http.clock import loop_time
from pipeline.adapters.http.retry_policy import Policy, retry_after, wanted_wait
from pipeline.adapters.http.transport import Fault, Transport, exchange, guarded
from pipeline.errors import Malformed, ProviderRefused, ServiceFailed, ServiceUnavailable

Before = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class _Outcome:
    verdict: Verdict
    reply: Reply | None = None
    lost: int = 0


class HttpClient:
    """Sends calls under one failure policy; keeps one circuit a service. Belongs to one event loop.

    ``at_once`` bounds the exchanges under way. ``guard`` decides what may be connected to; ``transport`` replaces the network.
    ``clock`` is monotonic and ``wall`` the time since the epoch, both in seconds.
    """

    def __init__(
        self,
        policy: Policy,
        *,
        at_once: int = 1_000,
        guard: AddressGuard | None = None,
        transport: Transport | None = None,
        clock: Callable[[], float] = loop_time,
        wall: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        random: Random | None = None,
    ) -> None:
        self._policy = policy
        self._slots = asyncio.Semaphore(at_once)
        self._guard = guard or AddressGuard()
        self._transport = transport
        self._clock = clock
        self._wall = wall
        self._sleep = sleep
        self._random = random or Random()  # noqa: S311 - spreads waits, guards nothing
        self._circuits: dict[str, CircuitBreaker] = {}

    async def send(self, call: Call, judge: Judge, before: Before | None = None) -> Reply:
        """Return the first reply that ``judge`` finds good.

        ``judge`` says what a reply means; a ``Malformed`` that it raises counts as ``Again``. ``before`` is called ahead of every
        attempt (a budget sets its worst case aside there); what it raises ends the call. Until a service has answered well once,
        its calls wait for each other.

        Raises:
            ServiceUnavailable: it may pass later: attempts, time or the service's circuit ran out.
            ProviderRefused: key, quota or credit; every later call of this service is refused without being sent.
            ServiceFailed: this call will never pass.
        """
        circuit = self._circuits.setdefault(call.service, CircuitBreaker(self._policy))
        if circuit.untried:
            async with circuit.first:
                if circuit.untried:
                    return await self._sent(call, judge, before, circuit)
        return await self._sent(call, judge, before, circuit)

    async def _sent(self, call: Call, judge: Judge, before: Before | None, circuit: CircuitBreaker) -> Reply:
        deadline = self._clock() + self._policy.call_deadline_s
        lost = 0
        for attempt in count(1):
            await self._admitted(call, circuit, deadline, lost)
            if before is not None:
                await before()
                await self._admitted(call, circuit, deadline, lost)  # meanwhile, another call may have been refused
            async with self._slots:
                self._rest_s(call, circuit, deadline, lost)  # and again, while it waited for its turn
                outcome = await self._attempt(call, judge, circuit, deadline)
            lost += outcome.lost
            if isinstance(outcome.verdict, Good) and outcome.reply is not None:
                return replace(outcome.reply, lost=lost) if lost else outcome.reply
            wait = self._wait_after(outcome, circuit, attempt, call.gap_s)
            if not isinstance(outcome.verdict, Again):
                raise _ended(call, outcome.verdict, lost)
            if wait is None or self._clock() + wait >= deadline:
                raise _unavailable(call, outcome.verdict.why, attempt, lost)
            await self._sleep(wait)
        raise AssertionError("the attempts are counted above")

    def check(self, url: str) -> None:
        """Refuse an address that no call could be sent to, by its spelling alone.

        Raises:
            ServiceFailed: the guard refuses it.
        """
        try:
            self._guard.check_url(url)
        except AddressRefused as error:
            raise ServiceFailed(str(error)) from None

    async def aclose(self) -> None:
        """Close all connections."""
        if self._transport is not None:
            await self._transport.aclose()

    async def _admitted(self, call: Call, circuit: CircuitBreaker, deadline: float, lost: int) -> None:
        """Wait out a rest that the service asked for, or refuse the call because its circuit is open."""
        rest = self._rest_s(call, circuit, deadline, lost)
        if rest > 0:
            await self._sleep(rest)

    def _rest_s(self, call: Call, circuit: CircuitBreaker, deadline: float, lost: int) -> float:
        if circuit.refusal is not None:
            raise _ended(call, circuit.refusal, lost)
        now = self._clock()
        blocked = circuit.blocked_s(now)
        if blocked > 0:
            raise _unavailable(call, f"it is not asked again for {blocked:,.0f} s", 0, lost)
        rest = circuit.rest_until - now
        if now + rest >= deadline:
            raise _unavailable(call, f"it wants to be left alone for {rest:,.0f} s", 0, lost)
        return rest

    async def _attempt(self, call: Call, judge: Judge, circuit: CircuitBreaker, deadline: float) -> _Outcome:
        """Make one exchange and tell the circuit how it went, as far as the reply's verdict alone says."""
        trying = circuit.enter()
        try:
            outcome = await self._outcome(call, judge, deadline)
        except BaseException:
            if trying:
                circuit.abandoned(self._clock())
            raise
        if isinstance(outcome.verdict, Refused):
            circuit.refused(outcome.verdict)
        elif not isinstance(outcome.verdict, Again):
            circuit.answered()
        return outcome

    async def _outcome(self, call: Call, judge: Judge, deadline: float) -> _Outcome:
        try:
            self._guard.check_url(call.target)
            self._transport = self._transport or guarded(self._guard)
            reply = await exchange(self._transport, call, min(call.deadline_s, deadline - self._clock()), self._clock)
        except AddressRefused as error:
            return _Outcome(Failed(str(error)))
        except Fault as fault:
            return _Outcome(fault.verdict, lost=int(fault.sent))
        try:
            return _Outcome(judge(reply), reply)
        except Malformed as error:
            return _Outcome(Again(error.message), reply)

    def _wait_after(self, outcome: _Outcome, circuit: CircuitBreaker, attempt: int, gap_s: float) -> float | None:
        """Tell the circuit of a failed attempt; return the wait before the next, None when there is none."""
        if not isinstance(outcome.verdict, Again):
            return None
        header = outcome.reply.headers.get("retry-after") if outcome.reply is not None else None
        asked = wanted_wait(outcome.verdict.after_s, retry_after(header, self._wall()))
        now = self._clock()
        if asked is None:
            circuit.failed(now)
        else:
            circuit.told_to_wait(asked, now)
        if attempt >= self._policy.attempts or circuit.blocked_s(now) > 0:
            return None
        return max(asked or 0.0, gap_s, self._policy.backoff(attempt, self._random))


def _unavailable(call: Call, why: str, attempts: int, lost: int) -> ServiceUnavailable:
    tried = f" (tried {attempts} times)" if attempts > 1 else ""
    return ServiceUnavailable(
        f"{call.service}: {why}{tried}, at {call.place}",
        hint="it may pass later; `research doctor --online` shows whether the service answers",
        lost=lost,
    )


def _ended(call: Call, verdict: Refused | Failed | Good, lost: int) -> ProviderRefused | ServiceFailed:
    if isinstance(verdict, Refused):
        return ProviderRefused(f"{call.service} refuses us: {verdict.why}", hint=verdict.hint)
    why = verdict.why if isinstance(verdict, Failed) else "the reply was lost"
    return ServiceFailed(f"{call.service}: {why}, at {call.place}", lost=lost)
