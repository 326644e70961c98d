"""One service's circuit: closed → open → trying → closed or open again; refused is for good. No clock, no I/O."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Literal

from pipeline.adapters.http.call_and_reply import Refused
from pipeline.adapters.http.retry_policy import Policy


@dataclass
class CircuitBreaker:
    """What is known of one service. All times are readings of the client's clock, in seconds.

    ``until``: when an open circuit may be tried again, by one call. ``rest_until``: when the service said it wants to be
    asked next. ``refusal``: why it refuses us for good. ``proven``: it has answered well once; until then, who asks it holds
    ``first``, so that a wrong key is tried once, however many calls wait.
    """

    policy: Policy
    state: Literal["closed", "open", "trying", "refused"] = "closed"
    failures: int = 0
    until: float = 0.0
    rest_until: float = 0.0
    refusal: Refused | None = None
    proven: bool = False
    first: asyncio.Lock = field(default_factory=asyncio.Lock)

    @property
    def untried(self) -> bool:
        """Whether it is not known yet if the service answers us at all."""
        return self.state == "closed" and not self.proven

    def blocked_s(self, now: float) -> float:
        """Return for how long no call may pass: 0 when one may now."""
        if self.state == "open":
            return max(0.0, self.until - now)
        return self.policy.cool_down_s if self.state == "trying" else 0.0

    def enter(self) -> bool:
        """Let a call pass that is not blocked; tell whether it is the one that tries an open circuit."""
        if self.state != "open":
            return False
        self.state = "trying"
        return True

    def abandoned(self, now: float) -> None:
        """The call that tried the circuit ended without an answer either way: the next one may try."""
        if self.state == "trying":
            self.state, self.until = "open", now

    def answered(self) -> None:
        """The service is up."""
        if self.state != "refused":
            self.state, self.failures, self.proven = "closed", 0, True

    def failed(self, now: float) -> None:
        """An attempt failed."""
        self.failures += 1
        if self.state == "trying" or (self.state == "closed" and self.failures >= self.policy.opens_after):
            self.state, self.until = "open", now + self.policy.cool_down_s

    def told_to_wait(self, seconds: float, now: float) -> None:
        """The service asked for a wait: a short one is a rest for all its calls, a long one opens the circuit."""
        if self.state == "refused":
            return
        if seconds <= self.policy.retry_after_cap_s:
            self.state, self.failures = "closed", 0
            self.rest_until = max(self.rest_until, now + seconds)
        else:
            self.state, self.until = "open", now + min(seconds, self.policy.longest_open_s)

    def refused(self, refusal: Refused) -> None:
        """The service refuses us for good."""
        self.state, self.refusal = "refused", refusal
