"""A discrete-event simulation of one night: sessions pass stations one after the other. No clock, no disk; made from seeds.

A *station* has servers and one queue, first come, first served. A *visit* is one stay of a session at a station. What is reported
of a station are its utilisation (busy time ÷ (servers × length of the night); above 1 the night is too short), and how long
visits wait before a server is free.
"""

from __future__ import annotations

import heapq
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

NIGHT_S = 8 * 3_600.0


@dataclass(frozen=True, slots=True)
class Visit:
    """A stay of about ``seconds`` at ``station``; the station "" is a pure delay: nobody waits there."""

    station: str
    seconds: float


@dataclass(slots=True)
class Station:
    """A station with its ``servers``, and what was measured of it. ``waits`` are seconds, one a visit."""

    servers: int
    free: int = 0
    busy_s: float = 0.0
    queue: deque[tuple[float, int]] = field(default_factory=deque)
    waits: list[float] = field(default_factory=list)

    def utilisation(self, night_s: float = NIGHT_S) -> float:
        """Return the busy time as a share of what the servers have in a night."""
        return self.busy_s / (self.servers * night_s)

    def mean_wait(self) -> float:
        """Return the mean wait of a visit, in seconds."""
        return sum(self.waits) / len(self.waits) if self.waits else 0.0

    def late_wait(self, share: float = 0.95) -> float:
        """Return the wait that 95% of the visits do not exceed, in seconds."""
        return sorted(self.waits)[int(share * (len(self.waits) - 1))] if self.waits else 0.0


@dataclass(frozen=True, slots=True)
class Night:
    """What one night came to: its stations, and when the last session was through, in seconds from the start."""

    stations: dict[str, Station]
    end_s: float


def arrivals(sessions: int, seed: int, within_s: float) -> Iterator[float]:
    """Yield when sessions are due: at random within a time; all at the start if that is 0."""
    dice = random.Random(seed)
    yield from sorted(dice.uniform(0.0, within_s) for _ in range(sessions))


def simulate(due: Iterable[float], route: Sequence[Visit], servers: dict[str, int], seed: int = 0) -> Night:
    """Let sessions that are ``due`` at these seconds take the ``route``; return the night.

    The times at stations are drawn from an exponential distribution: some sessions are much longer than others.
    """
    run = _Run(route, {name: Station(count, count) for name, count in servers.items()}, random.Random(seed))
    for session, at in enumerate(due):
        run.schedule(at, session, 0, ended=False)
    end = run.finish()
    return Night(run.stations, end)


class _Run:
    """The events of one simulation: ``(time, order, session, step, ended)``."""

    def __init__(self, route: Sequence[Visit], stations: dict[str, Station], dice: random.Random) -> None:
        self._route, self.stations, self._dice = route, stations, dice
        self._events: list[tuple[float, int, int, int, bool]] = []
        self._order = 0

    def schedule(self, at: float, session: int, step: int, *, ended: bool) -> None:
        self._order += 1
        heapq.heappush(self._events, (at, self._order, session, step, ended))

    def finish(self) -> float:
        at = 0.0
        while self._events:
            at, _, session, step, ended = heapq.heappop(self._events)
            if ended:
                self._leave(at, step)
                step += 1
            if step < len(self._route):
                self._come(at, session, step) if not ended else self.schedule(at, session, step, ended=False)
        return at

    def _come(self, at: float, session: int, step: int) -> None:
        station = self.stations.get(self._route[step].station)
        if station is None:
            self.schedule(at + self._length(step), session, step, ended=True)
        elif station.free:
            self._serve(station, at, at, session, step)
        else:
            station.queue.append((at, session * len(self._route) + step))

    def _serve(self, station: Station, came: float, at: float, session: int, step: int) -> None:
        length = self._length(step)
        station.free -= 1
        station.busy_s += length
        station.waits.append(at - came)
        self.schedule(at + length, session, step, ended=True)

    def _leave(self, at: float, step: int) -> None:
        station = self.stations.get(self._route[step].station)
        if station is None:
            return
        station.free += 1
        if station.queue:
            came, packed = station.queue.popleft()
            self._serve(station, came, at, *divmod(packed, len(self._route)))

    def _length(self, step: int) -> float:
        mean = self._route[step].seconds
        return self._dice.expovariate(1 / mean) if mean else 0.0
