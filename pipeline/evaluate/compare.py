"""Comparison of two configurations on the same questions: paired differences with bootstrap intervals."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from pipeline.evaluate.figures import FIGURES, FORMS, Figure, Score

DRAWS = 2_000
FEWEST = 6  # questions; an interval over fewer says little
_SEED = 2511
_TAIL = 0.025


@dataclass(frozen=True, slots=True)
class Difference:
    """The difference in one figure, over the questions that have it in both configurations.

    ``first`` and ``second`` are means; ``low`` to ``high`` is the 95% interval of their difference, second less first. ``wins``
    and ``losses`` count the questions on which the second is better, or worse.
    """

    figure: Figure
    questions: int
    first: float
    second: float
    low: float
    high: float
    wins: int
    losses: int

    @property
    def sure(self) -> bool:
        """Return whether the interval excludes zero and rests on at least ``FEWEST`` questions."""
        return self.questions >= FEWEST and (self.low > 0 or self.high < 0)


def differences(first: Sequence[Score], second: Sequence[Score]) -> Iterator[Difference]:
    """Yield the difference in each figure that has a better direction and a value in both for some question."""
    others = {score.id: score for score in second}
    pairs = [(score, others[score.id]) for score in first if score.id in others]
    seen: set[tuple[str, str]] = set()
    for figure in FIGURES:
        if figure.better and (figure.key, figure.of) not in seen:
            seen.add((figure.key, figure.of))
            found = [
                (a, b) for one, two in pairs if (a := figure.of_one(one)) is not None and (b := figure.of_one(two)) is not None
            ]
            if found:
                yield _difference(figure, found)


def _difference(figure: Figure, pairs: Sequence[tuple[float, float]]) -> Difference:
    changes = [b - a for a, b in pairs]
    low, high = interval(changes)
    better = [change * figure.better for change in changes]
    return Difference(
        figure,
        len(pairs),
        fmean(a for a, _ in pairs),
        fmean(b for _, b in pairs),
        low,
        high,
        sum(change > 0 for change in better),
        sum(change < 0 for change in better),
    )


def interval(changes: Sequence[float]) -> tuple[float, float]:
    """Return the 95% percentile bootstrap interval of the mean, from 2,000 seeded draws."""
    if not any(changes):
        return 0.0, 0.0
    draw = random.Random(_SEED)  # noqa: S311 - statistics, no secret
    means = sorted(fmean(draw.choices(changes, k=len(changes))) for _ in range(DRAWS))
    cut = int(DRAWS * _TAIL)
    return means[cut], means[-cut - 1]


def difference_lines(found: Sequence[Difference]) -> Iterator[str]:
    """Yield the lines of the table of differences; a star marks those that are ``sure``."""
    yield f"    {'':58} {'this':>10} {'other':>10} {'other less this [95%]':>28} {'better':>7} {'worse':>6}  of"
    for group in dict.fromkeys(entry.figure.group for entry in found):
        yield f"  {group}"
        yield from (_line(entry) for entry in found if entry.figure.group == group)


def _line(entry: Difference) -> str:
    form = FORMS[entry.figure.form]
    first, second = form.format(entry.first), form.format(entry.second)
    change, low, high = (form.format(value) for value in (entry.second - entry.first, entry.low, entry.high))
    span = f"{change} [{low}, {high}]{'*' if entry.sure else ' '}"
    label = entry.figure.label.removesuffix(", mean")
    return f"    {label:58} {first:>10} {second:>10} {span:>28} {entry.wins:>7} {entry.losses:>6}  {entry.questions}"


def differences_as_json(found: Sequence[Difference]) -> list[Mapping[str, object]]:
    """Return the differences as plain values."""
    return [
        {
            "group": entry.figure.group,
            "figure": entry.figure.label,
            "questions": entry.questions,
            "this": round(entry.first, 6),
            "other": round(entry.second, 6),
            "low": round(entry.low, 6),
            "high": round(entry.high, 6),
            "better": entry.wins,
            "worse": entry.losses,
        }
        for entry in found
    ]
