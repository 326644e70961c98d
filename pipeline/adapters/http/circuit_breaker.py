"""Circuit breaker of one service: closed → open → trying → closed or open; refused is final. Without clock and I/O."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from pipeline.adapters.http.call_and_reply import Refused
from pipeline.adapters.http.retry_policy import Policy
from pipeline.errors import Outage


@dataclass
class CircuitBreaker:
    """The state of one service. All times are readings of the client's clock, in seconds.

    ``until``: when one call may try an open circuit again. ``rest_until``: the end of a wait that the service asked for.
    ``why``: the reason of the last failure; ``busy``: it was that the service has too much to do.
    ``refusal``: why the service refuses access for good. ``proven``: the service has sent a good reply; until then a call holds
    ``first``, so that a wrong key is tried once, however many calls wait. ``slots`` bounds the exchanges in progress.
    """

    policy: Policy
    state: Literal["closed", "open", "trying", "refused"] = "closed"
    failures: int = 0
    until: float = 0.0
    rest_until: float = 0.0
    why: str = ""
    busy: bool = False
    refusal: Refused | None = None
    proven: bool = False
    first: asyncio.Lock = field(default_factory=asyncio.Lock)
    slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1_000))

    @property
    def unproven(self) -> bool:
        """Whether the service has sent no good reply yet."""
        return self.state == "closed" and not self.proven

    def outage(self, service: str, now: float) -> Outage:
        """Return this service's outage."""
        return Outage(service, max(0.0, self.blocked_s(now), self.rest_until - now), self.proven, self.busy)

    def blocked_s(self, now: float) -> float:
        """Return the seconds for which no call may pass; 0 if one may now."""
        if self.state == "open":
            return max(0.0, self.until - now)
        return self.policy.cool_down_s if self.state == "trying" else 0.0

    def admit(self) -> bool:
        """Admit a call that is not blocked; return whether it is the one that tries an open circuit."""
        if self.state != "open":
            return False
        self.state = "trying"
        return True

    def release(self, now: float) -> None:
        """Let another call try the circuit, because the one that tried it was cancelled."""
        if self.state == "trying":
            self.state, self.until = "open", now

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

    def refuse(self, refusal: Refused) -> None:
        """Block the service for good after a refusal."""
        self.state, self.refusal = "refused", refusal
