"""A session's totals over time: dollars and tokens if there are any, else facts and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from pipeline.domain.events import session_events as e
from pipeline.domain.values import Cost
from pipeline.vault.charts import svg
from pipeline.vault.charts.svg import Markup
from pipeline.vault.charts.time_axis import TimeAxis, axis_of, frame
from pipeline.vault.output import formatting
from pipeline.vault.vault_model import LoadedSession

WIDTH, LEFT, RIGHT = 720, 84, 640
_TOP, _PANEL, _GAP, _FOOT = 54, 104, 66, 34
Amount = Callable[[e.EventBase], float]


@dataclass(frozen=True, slots=True)
class Curve:
    """A sum that grows: its name, how an amount of it reads, and (second, sum so far) wherever it changes."""

    name: str
    words: Callable[[float], str]
    points: tuple[tuple[float, float], ...]

    @property
    def total(self) -> float:
        """The sum at the end."""
        return self.points[-1][1] if self.points else 0.0


def cost_chart(loaded: LoadedSession, seconds: Sequence[float]) -> str:
    """Return the sums of a session over its time as SVG, never without a curve; ``seconds`` are those of each event."""
    axis = axis_of(loaded.events, seconds, LEFT, RIGHT)
    curves = curves_of(loaded.events, seconds)
    height = _TOP + len(curves) * _PANEL + (len(curves) - 1) * _GAP + _FOOT
    parts: list[Markup] = []
    for number, curve in enumerate(curves):
        parts.append(svg.group(_panel(curve, axis, _TOP + number * (_PANEL + _GAP)), curve.name))
    names = formatting.joined([curve.name.lower() for curve in curves])
    return svg.document(WIDTH, height, f"{names.capitalize()} over time: {loaded.state.query}", _description(curves, axis), parts)


def curves_of(history: Sequence[e.EventBase], seconds: Sequence[float]) -> tuple[Curve, ...]:
    """Return one or two curves: what was spent; where nothing was, what was found; where neither, what was recorded."""
    for curves in (_spent, _found):
        if found := tuple(curve for curve in curves(history, seconds) if curve.total > 0):
            return found
    return (_curve("Events recorded", _whole, history, seconds, lambda _event: 1),)


def _spent(history: Sequence[e.EventBase], seconds: Sequence[float]) -> Iterator[Curve]:
    yield _curve("Cost", _dollars, history, seconds, _charged(lambda cost: cost.charged_usd))
    yield _curve("Tokens", _whole, history, seconds, _charged(lambda cost: cost.total_tokens))


def _found(history: Sequence[e.EventBase], seconds: Sequence[float]) -> Iterator[Curve]:
    yield _curve("Facts found", _whole, history, seconds, _new_facts())
    yield _curve("Pages read", _whole, history, seconds, _page)


def _curve(
    name: str, words: Callable[[float], str], history: Iterable[e.EventBase], seconds: Iterable[float], amount: Amount
) -> Curve:
    total, points = 0.0, []
    for event, second in zip(history, seconds, strict=True):
        if (more := amount(event)) > 0:
            total += more
            points.append((second, total))
    return Curve(name, words, tuple(points))


def _charged(part: Callable[[Cost], float]) -> Amount:
    """Count what answers cost."""
    return lambda event: part(event.cost) if isinstance(event, e.Answered) else 0


def _page(event: e.EventBase) -> float:
    return isinstance(event, e.PageRead)


def _new_facts() -> Amount:
    """Count each fact once, whoever finds it."""
    known: set[str] = set()

    def amount(event: e.EventBase) -> float:
        before = len(known)
        if isinstance(event, e.FactsObserved | e.GapLookedUp):
            known.update(fact.id for fact in event.facts)
        return len(known) - before

    return amount


def _dollars(amount: float) -> str:
    return formatting.money(amount)


def _whole(amount: float) -> str:
    return f"{amount:,.0f}"


def _panel(curve: Curve, axis: TimeAxis, top: float) -> Iterator[Markup]:
    bottom = top + _PANEL
    most = _round_above(curve.total)
    yield svg.text(16, top - 26, curve.name, "head")
    yield svg.text(16 + 9 * len(curve.name) + 12, top - 26, f"{curve.words(curve.total)} in all", "soft")
    yield from frame(axis, top, bottom)
    for share in (0.0, 0.5, 1.0):
        y = bottom - share * _PANEL
        yield svg.line(LEFT, y, RIGHT, y)
        yield svg.text(LEFT - 8, y + 4, _scale_words(curve, share * most), "soft end")
    places = tuple(_places(curve, axis, bottom, _PANEL / most))
    steps = _steps(places, bottom)
    yield svg.path(f"M{LEFT} {svg.number(bottom)}{steps}H{RIGHT}V{svg.number(bottom)}z", "area")
    yield svg.path(f"M{LEFT} {svg.number(bottom)}{steps}H{RIGHT}", "line")


def _scale_words(curve: Curve, amount: float) -> str:
    """A round amount at the scale; half a fact is not said."""
    if curve.words is _dollars:
        return f"${amount:.2f}" if round(amount, 2) == round(amount, 6) else "$" + svg.number(amount, 6)
    return "" if amount != int(amount) else curve.words(amount)


def _places(curve: Curve, axis: TimeAxis, bottom: float, unit: float) -> Iterator[tuple[str, str]]:
    """Yield the corners of a curve in pixels, one at most for each pixel across."""
    found: dict[float, float] = {}
    for second, total in curve.points:
        found[round(axis.place(second))] = total
    for x, total in found.items():
        yield svg.number(x), svg.number(bottom - total * unit)


def _steps(places: Iterable[tuple[str, str]], bottom: float) -> str:
    """A stair: level until something is added."""
    return f"V{svg.number(bottom)}" + "".join(f"H{x}V{y}" for x, y in places)


def _round_above(amount: float) -> float:
    """Return 1, 2 or 5 times a power of ten that is not below ``amount``."""
    power = 1e-9
    while True:
        for digit in (1, 2, 5):
            if digit * power >= amount * (1 - 1e-9):
                return digit * power
        power *= 10


def _description(curves: Sequence[Curve], axis: TimeAxis) -> str:
    sums = formatting.joined([f"{curve.name.lower()}: {curve.words(curve.total)}" for curve in curves])
    return f"In {formatting.duration(axis.worked)} of work, {sums}."
