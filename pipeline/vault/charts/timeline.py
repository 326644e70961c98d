"""The timeline of a session: a lane for each worker, a mark for each answer, search, page and find."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.domain.state import Worker
from pipeline.text.normalise import one_line
from pipeline.vault.charts import svg
from pipeline.vault.charts.lanes import MARKS, Lane, lanes_of
from pipeline.vault.charts.svg import Markup
from pipeline.vault.charts.time_axis import TimeAxis, axis_of, frame, merged
from pipeline.vault.notes.note_parts import perspective_name
from pipeline.vault.output import formatting
from pipeline.vault.vault_model import LoadedSession

WIDTH, LEFT, RIGHT = 720, 196, 626
_TOP, _LANE, _FOOT = 58, 30, 62
_LABEL = 27  # characters that fit into the column of names
_HALF = 4.0  # of a mark's width
# The outline of each kind of mark: every kind has a shape of its own, so that they differ without colour.
_SHAPES = {
    "thought": "M0-4L4 0L0 4L-4 0z",
    "search": "M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z",
    "page": "M-3.2-3.2H3.2V3.2H-3.2z",
    "fact": "M0-4L4 3.6H-4z",
    "failed": "M4-2L2-4L0-2L-2-4L-4-2L-2 0L-4 2L-2 4L0 2L2 4L4 2L2 0z",
}


def timeline_chart(loaded: LoadedSession, seconds: Sequence[float]) -> str:
    """Return the timeline as SVG; ``seconds`` are those of each event since the first."""
    axis = axis_of(loaded.events, seconds, LEFT, RIGHT)
    lanes = lanes_of(loaded, seconds, lambda worker: _name(loaded, worker))
    bottom = _TOP + _LANE * max(1, len(lanes))
    shapes = (svg.shape(kind, points) for kind, points in _SHAPES.items() if any(kind in lane.marks for lane in lanes))
    parts = [svg.element("defs", {}, *shapes), *_head(loaded, axis), *frame(axis, _TOP, bottom)]
    for number, lane in enumerate(lanes):
        parts.append(svg.group(_lane(lane, axis, _TOP + _LANE * number), _said(lane)))
    if not lanes:
        parts.append(svg.text((LEFT + RIGHT) / 2, _TOP + _LANE / 2 + 4, "Nothing was asked or read", "soft middle"))
    parts.append(svg.group(_legend(lanes, bottom + _FOOT - 18)))
    return svg.document(WIDTH, bottom + _FOOT, f"Timeline: {loaded.state.query}", _description(loaded, axis, lanes), parts)


def _name(loaded: LoadedSession, worker: Worker) -> str:
    return perspective_name(loaded.state.perspectives[worker.perspective_id])


def _head(loaded: LoadedSession, axis: TimeAxis) -> Iterator[Markup]:
    began = loaded.events[0].at
    yield svg.text(16, 24, "Timeline", "head")
    runs = f" in {len(axis.runs)} stretches" if len(axis.runs) > 1 else ""
    words = f"from {formatting.day(began)}, {formatting.clock(began)} UTC · {formatting.duration(axis.worked)} of work{runs}"
    yield svg.text(16, 43, words, "soft")


def _lane(lane: Lane, axis: TimeAxis, top: float) -> Iterator[Markup]:
    middle = top + _LANE / 2
    yield svg.element("text", {"x": 16, "y": middle + 4}, one_line(lane.name, _LABEL))
    yield from _bars(lane.seconds(), axis, middle)
    for kind in MARKS:
        for x, count in merged((axis.place(second) for second in lane.marks.get(kind, ())), 2 * _HALF - 2):
            yield svg.placed(kind, x, middle, kind, title=_tip(kind, count))
    if lane.result:
        yield svg.text(RIGHT + 12, middle + 4, lane.result, f"{lane.outcome}")


def _bars(seconds: Sequence[float], axis: TimeAxis, middle: float) -> Iterator[Markup]:
    """One bar for each run that the lane has marks in."""
    for run in axis.runs:
        inside = [axis.place(second) for second in seconds if run.start <= second <= run.end]
        if inside:
            yield svg.rectangle(inside[0] - _HALF, middle - 8, inside[-1] - inside[0] + 2 * _HALF, 16, "lane", radius=4)


def _tip(kind: str, count: int) -> str:
    return MARKS[kind] if count == 1 else f"{MARKS[kind]}: {count}"


def _legend(lanes: Sequence[Lane], y: float) -> Iterator[Markup]:
    x = 16.0
    for kind, words in MARKS.items():
        if any(kind in lane.marks for lane in lanes):
            yield svg.placed(kind, x + 4, y, kind)
            yield svg.text(x + 14, y + 4, words, "soft")
            x += 32 + 6.5 * len(words)


def _said(lane: Lane) -> str:
    """A lane in words."""
    counts = (f"{len(found)} × {MARKS[kind]}" for kind, found in lane.marks.items())
    return f"{lane.name}: {', '.join(counts)}"


def _description(loaded: LoadedSession, axis: TimeAxis, lanes: Sequence[Lane]) -> str:
    results = [f"{lane.name} ({lane.result})" for lane in lanes if lane.result]
    pauses = [formatting.duration(length) for *_, length in axis.pauses()]
    parts = [
        f"{formatting.duration(axis.worked)} of work, {formatting.count(len(loaded.events), 'event')}.",
        f"Perspectives: {formatting.joined(results)}." if results else "",
        f"Pauses: {formatting.joined(pauses)}." if pauses else "",
    ]
    return " ".join(part for part in parts if part)
