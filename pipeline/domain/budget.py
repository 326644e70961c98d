"""Budgets that concurrency cannot overshoot: a call's worst case is set aside before it is sent, its real cost settled after.

Amounts are kept in whole nano-dollars, so sums are exact. A ledger never waits: within one event loop each of its methods is
atomic.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent

_NANO = 1_000_000_000

# Set by whoever runs a step: hears of each call, at its worst case, after it was found to fit and before it is sent.
announce: ContextVar[Callable[[Cost], Awaitable[None]] | None] = ContextVar("announce", default=None)


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """What one call may cost at most, set aside in one ledger until it is settled or released.

    ``calls`` is 1 for a call of a model, 0 for what is paid for and none (a search).
    """

    nano_usd: int
    tokens: int
    calls: int = 1


class Budget:
    """What may be spent, what is set aside, and what was spent: in USD, tokens and calls. A cap of None is no cap.

    ``name`` says whose budget it is (``query``, ``night``), ``refusal`` why it last refused a call. ``spent`` is
    what earlier runs already used.
    """

    def __init__(
        self,
        cap_usd: float | None = None,
        cap_tokens: int | None = None,
        cap_calls: int | None = None,
        *,
        name: str = "query",
        spent: Cost | None = None,
    ) -> None:
        self.name = name
        self._cap_nano = None if cap_usd is None else _nano(cap_usd)
        self._cap_tokens, self._cap_calls = cap_tokens, cap_calls
        self._nano = _nano(spent.usd) if spent else 0
        self._tokens = spent.total_tokens if spent else 0
        self._calls = spent.calls if spent else 0
        self._open: set[Reservation] = set()
        self.refusal = ""

    @property
    def usd(self) -> float:
        """US dollars spent, without what is set aside."""
        return self._nano / _NANO

    @property
    def tokens(self) -> int:
        """Tokens spent, without what is set aside."""
        return self._tokens

    @property
    def calls(self) -> int:
        """Calls made and settled."""
        return self._calls

    def check(self, worst: Cost, calls: int = 1) -> None:
        """Tell whether a call of that worst case may be sent now; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it does not fit under one of the caps.
        """
        held_nano = self._nano + sum(entry.nano_usd for entry in self._open)
        held_tokens = self._tokens + sum(entry.tokens for entry in self._open)
        if self._cap_nano is not None and held_nano + _nano(worst.usd) > self._cap_nano:
            raise self._spent("usd", f"{self._cap_nano / _NANO:.2f}", f"{self.usd:.4f}")
        if self._cap_tokens is not None and held_tokens + worst.total_tokens > self._cap_tokens:
            raise self._spent("tokens", str(self._cap_tokens), str(self._tokens))
        if self._cap_calls is not None and self._calls + sum(entry.calls for entry in self._open) + calls > self._cap_calls:
            raise self._spent("calls", str(self._cap_calls), str(self._calls))

    def reserve(self, worst: Cost, calls: int = 1) -> Reservation:
        """Set the worst case of one call aside; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it does not fit under one of the caps; nothing is set aside.
        """
        self.check(worst, calls)
        reservation = Reservation(_nano(worst.usd), worst.total_tokens, calls)
        self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, actual: Cost) -> None:
        """Charge what the call really cost, also when that is more than was set aside.

        Raises:
            KeyError: the reservation is not open here.
        """
        self._open.remove(reservation)
        self._nano += _nano(actual.usd)
        self._tokens += actual.total_tokens
        self._calls += reservation.calls

    def release(self, reservation: Reservation) -> None:
        """Give back what was set aside for a call that never reached the server.

        Raises:
            KeyError: the reservation is not open here.
        """
        self._open.remove(reservation)

    def _spent(self, cap: str, limit: str, spent: str) -> BudgetSpent:
        unit = "USD" if cap == "usd" else cap
        self.refusal = f"the {self.name}'s budget of {limit} {unit} does not allow another call ({spent} spent)"
        return BudgetSpent(
            self.refusal,
            ledger=self.name,
            cap=cap,
            limit=limit,
            spent=spent,
            hint="the report is written from what there is; raise the cap in queries.yaml for more",
        )


@dataclass(frozen=True, slots=True)
class CombinedBudget:
    """The ledgers that a call is charged to, as one: all of them or none."""

    ledgers: Sequence[Budget]

    async def reserve(self, worst: Cost, calls: int = 1) -> tuple[Reservation, ...]:
        """Set the worst case of one call aside in every ledger, and announce the call; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it does not fit in one of them; nothing is set aside in any.
        """
        for ledger in self.ledgers:
            ledger.check(worst, calls)
        reserved = tuple(ledger.reserve(worst, calls) for ledger in self.ledgers)
        if (tell := announce.get()) is not None:
            try:
                await tell(worst)
            except BaseException:
                self.release(reserved)
                raise
        return reserved

    def settle(self, reservations: Sequence[Reservation], actual: Cost) -> None:
        """Charge what the call really cost in every ledger."""
        for ledger, reservation in zip(self.ledgers, reservations, strict=True):
            ledger.settle(reservation, actual)

    def release(self, reservations: Sequence[Reservation]) -> None:
        """Give back what was set aside for a call that never reached the server."""
        for ledger, reservation in zip(self.ledgers, reservations, strict=True):
            ledger.release(reservation)


def _nano(usd: float) -> int:
    return round(usd * _NANO)
