"""A series of numbers as a drawing: a dot for each date, to scale in time, joined by a line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from textwrap import wrap

from pipeline.text.normalise import one_line
from pipeline.vault.charts import svg
from pipeline.vault.charts.numbers.number_series import Series
from pipeline.vault.charts.svg import Markup
from pipeline.vault.output import formatting

# Narrow, so that the words can still be read where a telephone shows it at 340 pixels.
WIDTH = 480
_LEFT, _RIGHT, _PLOT, _FOOT = 62, 452, 140, 34
_TITLE = 50  # characters in a line of the title
_LETTER, _GAP = 6.6, 12  # pixels: of a letter in the words of a date at most, and between two of them
_MAGNITUDES = ((Decimal(10) ** 9, "billion"), (Decimal(10) ** 6, "million"))


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of the axis, from the lowest to the highest; ``words`` says each."""

    ticks: tuple[Decimal, ...]

    def share(self, value: Decimal) -> float:
        """Return where a value lies, from 0 at the lowest to 1 at the highest."""
        return float((value - self.ticks[0]) / (self.ticks[-1] - self.ticks[0]))


def scale_of(values: Sequence[Decimal]) -> Scale:
    """Return an axis for values that are not all equal: three to six round values; from zero, if that is not far off."""
    low, high = min(values), max(values)
    is_far_from_zero = low > 0 and high > 4 * (high - low)  # the differences would not be seen
    base = low if is_far_from_zero else min(low, Decimal(0))
    top = max(high, Decimal(0)) if low < 0 else high
    step = _round_step((top - base) / 4)
    first, last = (base / step).to_integral_value("ROUND_FLOOR"), (top / step).to_integral_value("ROUND_CEILING")
    return Scale(tuple(step * number for number in range(int(first), int(last) + 1)))


def _round_step(least: Decimal) -> Decimal:
    """Return 1, 2 or 5 times a power of ten that is not below ``least``."""
    power = Decimal(1).scaleb(least.adjusted())
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= least)


def number_words(value: Decimal, unit: str = "") -> str:
    """Return a number as a reader writes it: ``1,200``, ``1.2 million``, ``$5``, ``12 %``, ``40 tonnes``."""
    size, name = next(((size, name) for size, name in _MAGNITUDES if abs(value) >= size), (Decimal(1), ""))
    digits = f"{float(value / size):,.6g}" if abs(value / size) < 1_000 else f"{value / size:,.0f}"
    digits = f"{digits} {name}" if name else digits
    if unit[:1] in tuple("$€£¥"):
        return f"{'-' if value < 0 else ''}{unit[0]}{digits.removeprefix('-')}{unit[1:]}"
    return f"{digits} {unit}" if unit else digits


def day_words(day: str) -> str:
    """Return a date in words: ``2019``, ``May 2019``, ``3 May 2019``."""
    parts = day.split("-")
    if len(parts) == 1:
        return day
    moment = datetime(*map(int, [*parts, "1"][:3]))  # type: ignore[arg-type]
    return f"{moment.day} {moment:%b %Y}" if len(parts) == 3 else f"{moment:%b %Y}"


def number_chart(series: Series) -> str:
    """Return a series as SVG, always the same for the same series."""
    title = wrap(one_line(series.label, 2 * _TITLE), _TITLE)
    top = 24 + 18 * len(title) + 22
    scale = scale_of([point.value for point in series.points])
    parts: list[Markup] = [svg.text(16, 24 + 18 * number, line, "head") for number, line in enumerate(title)]
    parts.append(svg.text(16, top - 22, _subtitle(series), "soft"))
    parts.append(svg.group(_axis(scale, top)))
    parts.append(svg.group(_points(series, scale, top)))
    return svg.document(WIDTH, top + _PLOT + _FOOT, f"{series.label} over time", _description(series), parts)


def _subtitle(series: Series) -> str:
    unit = f"in {series.unit}, " if series.unit else ""
    return f"{unit}{'as read on each day' if series.by_reading else 'as the sources date it'}"


def _axis(scale: Scale, top: float) -> Iterator[Markup]:
    for tick in scale.ticks:
        y = top + _PLOT * (1 - scale.share(tick))
        yield svg.line(_LEFT, y, _RIGHT, y)
        yield svg.text(_LEFT - 8, y + 4, number_words(tick), "soft end")


def _points(series: Series, scale: Scale, top: float) -> Iterator[Markup]:
    """The line, the dots, the dates below as far as they fit, and the last value in words."""
    xs = _places([point.ordinal for point in series.points])
    ys = [top + _PLOT * (1 - scale.share(point.value)) for point in series.points]
    joined = "L".join(f"{svg.number(x)} {svg.number(y)}" for x, y in zip(xs, ys, strict=True))
    yield svg.path(f"M{joined}", "line")
    for x, y, point in zip(xs, ys, series.points, strict=True):
        title = f"{day_words(point.day)}: {number_words(point.value, series.unit)}"
        yield svg.element("circle", {"cx": x, "cy": y, "r": 4, "class": "search"}, svg.element("title", {}, title))
    words = [day_words(point.day) for point in series.points]
    for place in _labelled(xs, words):
        yield svg.text(xs[place], top + _PLOT + 20, words[place], "soft middle")


def _places(ordinals: Sequence[int]) -> list[float]:
    first, last = ordinals[0], ordinals[-1]
    inner = _RIGHT - _LEFT - 2 * 24
    return [_LEFT + 24 + inner * (ordinal - first) / (last - first) for ordinal in ordinals]


def _labelled(xs: Sequence[float], words: Sequence[str]) -> list[int]:
    """The dates that are written: the last, and before it each that has room."""
    found: list[int] = []
    room = _LETTER * max(map(len, words)) + _GAP
    for place in reversed(range(len(xs))):
        if not found or xs[found[-1]] - xs[place] >= room:
            found.append(place)
    return found


def _description(series: Series) -> str:
    """The drawing in words."""
    values = [f"{day_words(point.day)}: {number_words(point.value, series.unit)}" for point in series.points]
    return formatting.joined(values) + "."
