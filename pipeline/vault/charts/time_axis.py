"""A session's time along one line: working time to scale, the pauses between its runs as narrow breaks.

A session may last three seconds or three hours, and may lie still for days between two runs. To scale, the pauses would leave
nothing of the work to be seen; so each is as wide as the next, and its length is written in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.domain.events import session_events as e
from pipeline.text.times import moment_of
from pipeline.vault.charts import svg
from pipeline.vault.charts.svg import Markup
from pipeline.vault.output import formatting

PAUSE_WIDTH = 30.0
# Below this a break would only clutter: a run that was taken up again at once.
_SHORTEST_PAUSE = 5.0
_STEPS = (
    *(digit * power for power in (0.001, 0.01, 0.1) for digit in (1, 2, 5)), 1, 2, 5, 10, 15, 30,
    *(60 * minutes for minutes in (1, 2, 5, 10, 15, 30)), *(3_600 * hours for hours in (1, 2, 3, 6, 12)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Run:
    """One stretch of work: its start and end in seconds since the session's first event, and where it lies in pixels."""

    start: float
    end: float
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class TimeAxis:
    """Where each moment lies. ``worked`` is the whole working time in seconds."""

    runs: tuple[Run, ...]
    worked: float

    def place(self, second: float) -> float:
        """Return the pixel of a moment, given in seconds since the session's first event."""
        run = self.runs[0]
        for later in self.runs[1:]:
            run = later if later.start <= second else run
        length = run.end - run.start
        share = min(1.0, max(0.0, (second - run.start) / length)) if length else 0.0
        return run.left + share * (run.right - run.left)

    def pauses(self) -> Iterator[tuple[float, float, float]]:
        """Yield left, right and length in seconds of each break."""
        for before, after in zip(self.runs, self.runs[1:], strict=False):
            yield before.right, after.left, after.start - before.end

    def ticks(self, most: int = 6) -> Iterator[tuple[float, str]]:
        """Yield place and words of round amounts of working time."""
        step = next((step for step in _STEPS if self.worked / step <= most), 86_400 * (1 + self.worked // (86_400 * most)))
        done = 0.0
        number = 0
        for run in self.runs:
            while number * step <= done + (run.end - run.start) + 1e-9:
                yield self.place(run.start + number * step - done), elapsed(number * step)
                number += 1
            done += run.end - run.start


def seconds_of(history: Sequence[e.EventBase]) -> tuple[float, ...]:
    """Return each event's seconds since the first; a clock that was set back counts as stopped."""
    first = moment_of(history[0].at)
    latest, found = 0.0, []
    for event in history:
        latest = max(latest, (moment_of(event.at) - first).total_seconds())
        found.append(latest)
    return tuple(found)


def axis_of(history: Sequence[e.EventBase], seconds: Sequence[float], left: float, right: float) -> TimeAxis:
    """Return the axis of a session's events, which happened at those ``seconds``, between two pixels."""
    spans = tuple(_spans(history, seconds))
    worked = sum(end - start for start, end in spans)
    # A very often resumed session keeps at least two fifths of its width for the work.
    pause = min(PAUSE_WIDTH, 0.6 * (right - left) / max(1, len(spans) - 1))
    width = right - left - pause * (len(spans) - 1)
    runs, place = [], left
    for start, end in spans:
        length = width * ((end - start) / worked if worked else 1 / len(spans))
        runs.append(Run(start, end, place, place + length))
        place += length + pause
    return TimeAxis(tuple(runs), worked)


def _spans(history: Sequence[e.EventBase], seconds: Sequence[float]) -> Iterator[tuple[float, float]]:
    start = end = seconds[0]
    for event, second in zip(history, seconds, strict=True):
        if isinstance(event, e.RunStarted) and second - end >= _SHORTEST_PAUSE:
            yield start, end
            start = second
        end = second
    yield start, end


def elapsed(seconds: float) -> str:
    """Return working time as an axis says it: ``0``, ``50 ms``, ``1.5 s``, ``10 min``, ``1 h 30 min``."""
    if not seconds:
        return "0"
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return formatting.duration(seconds)


def frame(axis: TimeAxis, top: float, bottom: float) -> Iterator[Markup]:
    """Yield the grid of an axis: a line and its words for each tick, a band for each pause."""
    for left, right, length in axis.pauses():
        yield svg.rectangle(left, top, right - left, bottom - top, "pause", title=f"a pause of {formatting.duration(length)}")
        yield svg.element("text", _upright((left + right) / 2 + 4, top + 34), formatting.duration(length))
    last = float("-inf")
    for x, words in axis.ticks():
        yield svg.line(x, top, x, bottom)
        if x - last >= 44:
            yield svg.text(x, bottom + 16, words, "soft middle")
            last = x


def _upright(x: float, y: float) -> dict[str, svg.Value]:
    place = f"rotate(-90 {svg.number(x)} {svg.number(y)})"
    return {"x": x, "y": y, "transform": place, "class": "soft middle"}


def merged(places: Iterable[float], width: float) -> Iterator[tuple[float, int]]:
    """Yield places in order, those closer than ``width`` pixels as one, each with the number of places it represents."""
    first, count = 0.0, 0
    for place in sorted(places):
        if count and place - first < width:
            count += 1
            continue
        if count:
            yield first, count
        first, count = place, 1
    if count:
        yield first, count
