"""Everything the server saw, and what it charged: the record that tests compare a program's own account with."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from tests.standin.charges import Charge, Totals, sum_of
from tests.standin.wire import Request

KEY_HEADERS = frozenset({"authorization", "x-subscription-token", "x-api-key", "api-key", "cookie", "proxy-authorization"})


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

    @property
    def header_names(self) -> tuple[str, ...]:
        """Names of the request's headers, in lower case and in order."""
        return tuple(name.lower() for name, _ in self.request.headers)

    @property
    def authorised(self) -> bool:
        """Whether a key of any kind came along: a header of one, or an ``api_key`` parameter."""
        return not KEY_HEADERS.isdisjoint(self.header_names) or "api_key" in self.request.query

    @property
    def body_sha256(self) -> str:
        """Digest of the request's body."""
        return hashlib.sha256(self.request.body).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Return what may be shown: no header's value, no body."""
        return {
            **{name: getattr(self, name) for name in ("number", "call", "route", "at", "connection", "host", "path", "fault")},
            **{name: getattr(self, name) for name in ("status", "seen", "header_names", "authorised", "body_sha256")},
            "charge": None if self.charge is None else [self.charge.input_tokens, self.charge.output_tokens, self.charge.usd],
        }


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

    def seen(self) -> Totals:
        """Return what was billed in replies that reached the client whole and readable."""
        return sum_of(hit.charge for hit in tuple(self.hits) if hit.charge and hit.seen)

    def unseen(self) -> Totals:
        """Return what was billed without the client's knowledge: cut, hung or damaged replies."""
        return sum_of(hit.charge for hit in tuple(self.hits) if hit.charge and not hit.seen)

    def heard(self, text: str) -> tuple[Hit, ...]:
        """Return the hits whose request holds ``text`` anywhere: line, headers or body."""
        needle = text.encode()
        return tuple(hit for hit in tuple(self.hits) if needle in hit.request.raw())

    def most_at_once(self, host: str) -> int:
        """Return how many requests to one host were open at the same time at most."""
        spans = [(hit.at, hit.ended or float("inf")) for hit in tuple(self.hits) if hit.host == host]
        return max((sum(start <= at < end for start, end in spans) for at, _ in spans), default=0)

    def pauses(self, host: str) -> tuple[float, ...]:
        """Return the seconds between the starts of successive requests to one host."""
        starts = [hit.at for hit in tuple(self.hits) if hit.host == host]
        return tuple(later - earlier for earlier, later in pairwise(starts))

    def lines(self) -> str:
        """Return the record as one JSON object a line."""
        return "".join(json.dumps(hit.as_dict()) + "\n" for hit in tuple(self.hits))
