"""Everything the server saw, and what it charged: the record that tests compare a program's own account with."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.standin.charges import Charge, Totals, sum_of
from tests.standin.wire import Request


@dataclass(slots=True)
class Hit:
    """One request and what became of it.

    ``number`` counts all hits from 1, ``call`` those of its route from 1; ``at`` and ``ended`` are seconds since the server
    started; ``seen`` says whether the charge stood readable in a reply that was delivered whole.
    """

    number: int
    call: int
    route: str
    at: float
    connection: int
    request: Request = field(repr=False)
    fault: str = "ok"
    status: int = 0
    charge: Charge | None = None
    seen: bool = False
    ended: float = 0.0

    @property
    def host(self) -> str:
        """The Host header, without the port."""
        return self.request.header("Host").rsplit(":", 1)[0]

    @property
    def path(self) -> str:
        """The path asked for."""
        return self.request.path


class Log:
    """All hits in order of arrival."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.spent_nano_usd = 0
        self._calls: dict[str, int] = {}

    def enter(self, route: str, request: Request, at: float, connection: int) -> Hit:
        """Record a request as it arrives."""
        self._calls[route] = self._calls.get(route, 0) + 1
        hit = Hit(len(self.hits) + 1, self._calls[route], route, at, connection, request)
        self.hits.append(hit)
        return hit

    def charge(self, hit: Hit, charge: Charge | None) -> None:
        """Bill a hit."""
        hit.charge = charge
        self.spent_nano_usd += charge.nano_usd if charge else 0

    def of(self, route: str) -> tuple[Hit, ...]:
        """Return the hits of one route (``chat``, ``brave`` …) or of one path (``/pages/3``)."""
        return tuple(hit for hit in tuple(self.hits) if route in (hit.route, hit.path))

    def charged(self) -> Totals:
        """Return everything billed, also what the client could not learn of."""
        return sum_of(hit.charge for hit in tuple(self.hits) if hit.charge)

    def heard(self, text: str) -> tuple[Hit, ...]:
        """Return the hits whose request holds ``text`` anywhere: line, headers or body."""
        needle = text.encode()
        return tuple(hit for hit in tuple(self.hits) if needle in hit.request.raw())
