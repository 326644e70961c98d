"""Budgets in USD, tokens and calls that parallel calls cannot exceed.

A call's worst case is reserved before it is sent, and its real cost is charged afterwards. Amounts are whole nano-dollars, so
sums are exact. A budget never waits, so each of its methods is atomic within one event loop.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pipeline.errors import BudgetSpent
from pipeline.text.humanize import counted

if TYPE_CHECKING:
    from pipeline.domain.research_values import Cost  # pydantic takes long to import, and the settings know caps

_NANO = 1_000_000_000
_DEARER = 5  # a received token costs about five times as much as a sent one at most providers
_USUAL_SHARE = 0.1  # of the room for a reply, what is used on average

SET_BY = {"query": "`query_limits` or `budget_usd`", "night": "`limits`", "run": "`--max-cost`"}  # by a budget's name

# The engine sets this for each step; it is called with the worst case of each call after reservation and before sending.
announce: ContextVar[Callable[[Cost], Awaitable[None]] | None] = ContextVar("announce", default=None)


class Caps(NamedTuple):
    """How much may be spent, of each of the three; None is no cap."""

    usd: float | None = None
    tokens: int | None = None
    calls: int | None = None

    def left_after(self, spent: Cost) -> Caps:
        """Return what is left of them, never below 0."""
        return Caps._make(None if cap is None else max(0, cap - used) for cap, used in zip(self, _used(spent), strict=True))

    def reached_by(self, spent: Cost) -> str:
        """Return in words the first that is used up, or "". One of 0 allows what is free."""
        words = (f"{dollars(self.usd or 0)} USD", counted(self.tokens or 0, "token"), counted(self.calls or 0, "call"))
        for cap, used, one in zip(self, _used(spent), words, strict=True):
            if cap is not None and 0 < used >= cap:
                return one
        return ""


def _used(spent: Cost) -> tuple[float, int, int]:
    """Return what a cost uses up of each cap."""
    return spent.usd, spent.total_tokens, spent.calls


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

    worst: Cost
    calls: int = 1


class Budget:
    """A budget with its caps, reservations and spending, in USD, tokens and calls.

    ``usd``, ``tokens`` and ``calls`` are spent or settled; reservations are not among them.
    ``name`` is ``query``, ``night``, ``run`` (what one run alone may spend) or another; ``refusal`` is the reason of the last
    refused call. ``spent`` is what earlier runs used.
    ``shared`` is what other processes spend too: its caps count as well.
    """

    def __init__(
        self,
        caps: Caps = Caps(),  # noqa: B008 - it is frozen
        *,
        name: str = "query",
        spent: Cost | None = None,
        shared: SharedPart | None = None,
    ) -> None:
        self.name, self.shared, self._caps = name, shared, caps
        self._nano = nano_usd(spent.usd) if spent else 0
        self.tokens = spent.total_tokens if spent else 0
        self.calls = spent.calls if spent else 0
        self._open: set[Reservation] = set()
        self.refusal = ""

    @property
    def usd(self) -> float:
        """US dollars spent, without reservations."""
        return self._nano / _NANO

    def check(self, worst: Cost, calls: int = 1) -> None:
        """Check that a call with that worst case fits under every cap; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it would exceed a cap.
        """
        held_nano = self._nano + sum(nano_usd(entry.worst.usd) for entry in self._open)
        held_tokens = self.tokens + sum(entry.worst.total_tokens for entry in self._open)
        usd_cap, token_cap, call_cap = self._caps
        if usd_cap is not None and held_nano + nano_usd(worst.usd) > nano_usd(usd_cap):
            raise self._spent("usd", dollars(usd_cap), f"{self.usd:.4f}", f"{worst.usd:.4f} USD")
        if token_cap is not None and held_tokens + worst.total_tokens > token_cap:
            raise self._spent("tokens", str(token_cap), str(self.tokens), counted(worst.total_tokens, "token"))
        if call_cap is not None and self.calls + sum(entry.calls for entry in self._open) + calls > call_cap:
            raise self._spent("calls", str(call_cap), str(self.calls), counted(calls, "call"))

    def reserve(self, worst: Cost, calls: int = 1) -> Reservation:
        """Reserve the worst case of one call; ``calls`` as in ``Reservation``.

        Raises:
            BudgetSpent: it would exceed a cap; nothing is reserved.
        """
        self.check(worst, calls)
        reservation = Reservation(worst, calls)
        self._open.add(reservation)
        return reservation

    def settle(self, reservation: Reservation, actual: Cost | None) -> None:
        """Charge the real cost of a call, even if it is more than was reserved; None: it never reached the server.

        Raises:
            KeyError: this budget has no such reservation.
        """
        self._open.remove(reservation)
        if actual is not None:
            self._nano += nano_usd(actual.usd)
            self.tokens += actual.total_tokens
            self.calls += reservation.calls

    def _spent(self, cap: str, limit: str, spent: str, needed: str) -> BudgetSpent:
        """Return the refusal of a call by ``cap``: usd, tokens or calls; the figures are in words."""
        whose = "night" if self.name == "run" and cap != "usd" else self.name
        own = f" ({SET_BY[whose]})" if whose in SET_BY else ""
        unit = "USD" if cap == "usd" else cap
        self.refusal = (
            f"the {whose}'s budget of {limit} {unit}{own} does not allow another call, which may take {needed} ({spent} spent)"
        )
        hint = "the report is written from the facts found so far; raise the cap in queries.yaml for more"
        return BudgetSpent(self.refusal, ledger=self.name, cap=cap, limit=limit, spent=spent, hint=hint)


def dollars(usd: float) -> str:
    """Return an amount with two digits after the point, or as many as it has."""
    return f"{usd:.2f}" if usd == round(usd, 2) else f"{usd:.9g}"


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
        held: list[SharedPart] = []
        try:
            for shared in [budget.shared for budget in self.budgets if budget.shared is not None]:
                await shared.reserve(worst, calls)
                held.append(shared)
            if announced:
                await announce_call(worst)
        except BaseException:
            for shared in held:
                shared.settle(worst, calls, None)
            for budget, reservation in zip(self.budgets, reserved, strict=True):
                budget.settle(reservation, None)
            raise
        return reserved

    def settle(self, reservations: Sequence[Reservation], actual: Cost | None) -> None:
        """Charge the real cost of the call to every budget; None: it never reached the server."""
        for budget, reservation in zip(self.budgets, reservations, strict=True):
            budget.settle(reservation, actual)
            if budget.shared is not None:
                budget.shared.settle(reservation.worst, reservation.calls, actual)


# The budget of whoever searches: a search that is shared by sessions charges its own calls to it.
paying: ContextVar[CombinedBudget] = ContextVar("paying", default=CombinedBudget(()))  # noqa: B039 - it is frozen


def nano_usd(usd: float) -> int:
    """Return an amount in whole nano-dollars."""
    return round(usd * _NANO)
