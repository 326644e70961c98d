"""Budgets in USD, tokens and calls that parallel calls cannot exceed.

A call's worst case is reserved before it is sent, and its real cost is charged afterwards. Amounts are whole nano-dollars, so
sums are exact. A budget never waits, so each of its methods is atomic within one event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent

_NANO = 1_000_000_000
_DEARER = 5  # a received token costs about five times as much as a sent one at most providers
_USUAL_SHARE = 0.1  # of the room for a reply, what is used on average

# The engine sets this for each step; it is called with the worst case of each call after reservation and before sending.
announce: ContextVar[Callable[[Cost], Awaitable[None]] | None] = ContextVar("announce", default=None)


class SharedPart(Protocol):
    """The part of a budget that several processes share."""

    async def reserve(self, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call.

        Raises:
            BudgetSpent: it would exceed a cap.
            LogError: nobody can say; the session must stop.
        """
        ...

    def settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost, or None if it was not sent. Never waits, never raises."""
        ...


@dataclass(frozen=True, slots=True, eq=False)
class Reservation:
    """The worst case of one call, reserved in one budget until it is settled or released.

    ``calls`` is 1 for a model call, 0 for another paid call (a search).
    """

    nano_usd: int
    tokens: int
    calls: int = 1

    @property
    def worst(self) -> Cost:
        """The worst case that is reserved."""
        return Cost(usd=self.nano_usd / _NANO, total_tokens=self.tokens)


class Budget:
    """A budget with its caps, reservations and spending, in USD, tokens and calls. A cap of None is no cap.

    ``name`` is ``query`` or ``night``; ``refusal`` is the reason of the last refused call. ``spent`` is what earlier runs used.
    ``shared`` is what other processes spend too: its caps count as well.
    """

    def __init__(
        self,
        cap_usd: float | None = None,
        cap_tokens: int | None = None,
        cap_calls: int | None = None,
        *,
        name: str = "query",
        spent: Cost | None = None,
        shared: SharedPart | None = None,
    ) -> None:
        self.name = name
        self.shared = shared
        self._cap_nano = None if cap_usd is None else nano_usd(cap_usd)
        self._cap_tokens, self._cap_calls = cap_tokens, cap_calls
        self._nano = nano_usd(spent.usd) if spent else 0
        self._tokens = spent.total_tokens if spent else 0
        self._calls = spent.calls if spent else 0
        self._open: set[Reservation] = set()
        self.refusal = ""

    @property
    def usd(self) -> float:
        """US dollars spent, without reservations."""
        return self._nano / _NANO

    @property
    def tokens(self) -> int:
        """Tokens spent, without reservations."""
        return self._tokens

    @property
    def calls(self) -> int:
        """Settled model calls."""
        return self._calls

    def check(self, worst: Cost, calls: int = 1) -> None:
        """Check that a call with that worst case fits under every cap; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it would exceed a cap.
        """
        held_nano = self._nano + sum(entry.nano_usd for entry in self._open)
        held_tokens = self._tokens + sum(entry.tokens for entry in self._open)
        if self._cap_nano is not None and held_nano + nano_usd(worst.usd) > self._cap_nano:
            raise self._spent("usd", f"{self._cap_nano / _NANO:.2f}", f"{self.usd:.4f}")
        if self._cap_tokens is not None and held_tokens + worst.total_tokens > self._cap_tokens:
            raise self._spent("tokens", str(self._cap_tokens), str(self._tokens))
        if self._cap_calls is not None and self._calls + sum(entry.calls for entry in self._open) + calls > self._cap_calls:
            raise self._spent("calls", str(self._cap_calls), str(self._calls))

    def reserve(self, worst: Cost, calls: int = 1) -> Reservation:
        """Reserve the worst case of one call; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it would exceed a cap; nothing is reserved.
        """
        self.check(worst, calls)
        reservation = Reservation(nano_usd(worst.usd), worst.total_tokens, calls)
        self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, actual: Cost) -> None:
        """Charge the real cost of a call, even if it is more than was reserved.

        Raises:
            KeyError: this budget has no such reservation.
        """
        self._open.remove(reservation)
        self._nano += nano_usd(actual.usd)
        self._tokens += actual.total_tokens
        self._calls += reservation.calls

    def release(self, reservation: Reservation) -> None:
        """Cancel the reservation for a call that never reached the server.

        Raises:
            KeyError: this budget has no such reservation.
        """
        self._open.remove(reservation)

    def _spent(self, cap: str, limit: str, spent: str) -> BudgetSpent:
        error = budget_spent(self.name, cap, limit, spent)
        self.refusal = error.message
        return error


def budget_spent(name: str, cap: str, limit: str, spent: str) -> BudgetSpent:
    """Return the refusal of a call by the budget ``name``; ``cap`` is usd, tokens or calls, the figures are in words."""
    unit = "USD" if cap == "usd" else cap
    return BudgetSpent(
        f"the {name}'s budget of {limit} {unit} does not allow another call ({spent} spent)",
        ledger=name,
        cap=cap,
        limit=limit,
        spent=spent,
        hint="the report is written from the facts found so far; raise the cap in queries.yaml for more",
    )


async def announce_call(worst: Cost) -> None:
    """Tell the engine that a call with that worst case is about to be sent; it returns when that is recorded."""
    if (record := announce.get()) is not None:
        await record(worst)


@dataclass(slots=True)
class CallHistory:
    """What the answered calls of one kind of step were announced as, and what they came to: to estimate one without an answer.

    ``calls`` is their number; tokens: ``estimated`` of their prompts before they were sent, ``sent`` and ``received`` as billed.
    ``usd`` is what they cost, ``priced_usd`` what the announced worst cases would make of these tokens.
    """

    calls: int = 0
    estimated: int = 0
    sent: int = 0
    received: int = 0
    usd: float = 0.0
    priced_usd: float = 0.0

    def add(self, worst: Cost, cost: Cost) -> None:
        """Add an answer to calls announced with that worst case each."""
        self.calls += cost.calls
        self.estimated += worst.input_tokens * cost.calls
        self.sent += cost.input_tokens
        self.received += cost.output_tokens
        self.usd += cost.usd
        self.priced_usd += _priced(worst, cost.input_tokens, cost.output_tokens)

    def expected_usd(self, worst: Cost) -> float:
        """Return what a call probably cost, by its own prompt and by the answers to such calls."""
        sent = worst.input_tokens * (self.sent / self.estimated if self.estimated else 1.0)
        received = self.received / self.calls if self.calls else _USUAL_SHARE * worst.output_tokens
        price = self.usd / self.priced_usd if self.priced_usd else 1.0
        return min(worst.usd, price * _priced(worst, sent, received))


def _priced(worst: Cost, sent: float, received: float) -> float:
    """Return the price of that many tokens, at the price of the worst case."""
    whole = worst.input_tokens + _DEARER * worst.output_tokens
    return worst.usd * (sent + _DEARER * received) / whole if whole else worst.usd


@dataclass(frozen=True, slots=True)
class CombinedBudget:
    """Several budgets used as one: each call is charged to all of them or refused by all."""

    budgets: Sequence[Budget]

    async def reserve(self, worst: Cost, calls: int = 1, *, announced: bool = True) -> tuple[Reservation, ...]:
        """Reserve the worst case of one call in every budget; ``calls`` as in ``Reservation``.

        Then announce the call, unless whoever sends it does: one that waits for its turn would seem lost if the process died.

        Raises:
            BudgetSpent: it would exceed a cap of one budget; nothing is reserved in any.
        """
        for budget in self.budgets:
            budget.check(worst, calls)
        reserved = tuple(budget.reserve(worst, calls) for budget in self.budgets)
        await self._reserve_shared(worst, calls, reserved)
        if announced:
            try:
                await announce_call(worst)
            except BaseException:
                self.release(reserved)
                raise
        return reserved

    async def _reserve_shared(self, worst: Cost, calls: int, reserved: Sequence[Reservation]) -> None:
        held: list[SharedPart] = []
        try:
            for shared in [budget.shared for budget in self.budgets if budget.shared is not None]:
                await shared.reserve(worst, calls)
                held.append(shared)
        except BaseException:
            for shared in held:
                shared.settle(worst, calls, None)
            for budget, reservation in zip(self.budgets, reserved, strict=True):
                budget.release(reservation)
            raise

    def settle(self, reservations: Sequence[Reservation], actual: Cost) -> None:
        """Charge the real cost of the call to every budget."""
        for budget, reservation in zip(self.budgets, reservations, strict=True):
            budget.settle(reservation, actual)
            if budget.shared is not None:
                budget.shared.settle(reservation.worst, reservation.calls, actual)

    def release(self, reservations: Sequence[Reservation]) -> None:
        """Cancel the reservations for a call that never reached the server."""
        for budget, reservation in zip(self.budgets, reservations, strict=True):
            budget.release(reservation)
            if budget.shared is not None:
                budget.shared.settle(reservation.worst, reservation.calls, None)


# The budget of whoever searches: a search that is shared by sessions charges its own calls to it.
paying: ContextVar[CombinedBudget] = ContextVar("paying", default=CombinedBudget(()))  # noqa: B039 - it is frozen


def nano_usd(usd: float) -> int:
    """Return an amount in whole nano-dollars."""
    return round(usd * _NANO)
