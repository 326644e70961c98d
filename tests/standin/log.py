"""Everything the server saw, and what it charged: the record that tests compare a program's own account with."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.standin.charges import Charge
from tests.standin.prompt import plain
from tests.standin.wire import Request


@dataclass(slots=True)
class Hit:
    """One request and what became of it.

    ``at`` and ``ended`` are seconds since the server started.
    """

    route: str
    at: float
    request: Request = field(repr=False)
    fault: str = "ok"
    status: int = 0
    charge: Charge | None = None
    ended: float = 0.0

    @property
    def prompt(self) -> str:
        """The last message to a model, without the random parts of its delimiters."""
        return plain((self.request.json_object() or {})["messages"][-1]["content"])

    @property
    def path(self) -> str:
        """The path asked for."""
        return self.request.path


class Log:
    """All hits in order of arrival."""

    def __init__(self) -> None:
        self.hits: list[Hit] = []

    def enter(self, route: str, request: Request, at: float) -> Hit:
        """Record a request as it arrives."""
        hit = Hit(route, at, request)
        self.hits.append(hit)
        return hit

    def of(self, route: str) -> tuple[Hit, ...]:
        """Return the hits of one route (``chat``, ``brave`` …) or of one path (``/pages/3``)."""
        return tuple(hit for hit in tuple(self.hits) if route in (hit.route, hit.path))

    def charged(self) -> Charge:
        """Return everything billed, also what the client could not learn of."""
        found = [hit.charge for hit in tuple(self.hits) if hit.charge]
        return Charge(sum(one.input_tokens for one in found), sum(one.output_tokens for one in found), len(found))

    def heard(self, text: str) -> tuple[Hit, ...]:
        """Return the hits whose request holds ``text`` anywhere: line, headers or body."""
        needle = text.encode()
        return tuple(hit for hit in tuple(self.hits) if needle in hit.request.raw())
