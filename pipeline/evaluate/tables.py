"""Tables of figures as text and as JSON. Held-out questions appear only in totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from pipeline.evaluate.evaluation import Result
from pipeline.evaluate.figures import FIGURES, FORMS, Figure, Score
from pipeline.evaluate.question_set.question_set import HALVES
from pipeline.text.normalise import counted, one_line

_WIDTH = 62


def totals_lines(scores: Sequence[Score]) -> Iterator[str]:
    """Yield the lines of the totals, one table for each half."""
    for half in HALVES:
        of_half = [score for score in scores if score.half == half]
        if of_half:
            yield f"{half}: {counted(len(of_half), 'question')} ({', '.join(_kinds(of_half))})"
            yield from _groups(of_half)


def _kinds(scores: Iterable[Score]) -> Iterator[str]:
    for kind, group in groupby(sorted(scores, key=lambda score: score.kind), key=lambda score: score.kind):
        yield f"{len(list(group))} {kind}"


def _groups(scores: Sequence[Score]) -> Iterator[str]:
    for group, figures in groupby(FIGURES, key=lambda figure: figure.group):
        lines = [line for figure in figures if (line := _line(figure, scores))]
        if lines:
            yield f"  {group}"
            yield from lines


def _line(figure: Figure, scores: Sequence[Score]) -> str:
    total = figure.over(scores)
    return f"    {figure.label:{_WIDTH}} {shown(figure, total[0]):>12}  of {total[1]}" if total else ""


def shown(figure: Figure, value: float) -> str:
    """Return a figure's value in its printed form."""
    return FORMS[figure.form].format(value)


def run_lines(result: Result) -> Iterator[str]:
    """Yield the lines about a run's wall-clock and CPU time."""
    number = max(1, len(result.outcomes))
    sessions = counted(len(result.outcomes), "session")
    yield f"{sessions} in {result.seconds:.1f} s, index included ({result.seconds / number:.2f} s each)"
    yield f"{result.processor_seconds:.1f} processor seconds ({result.processor_seconds / number:.2f} s each)"


def failure_lines(result: Result) -> Iterator[str]:
    """Yield the number of failed sessions, and the reasons of those in the dev half."""
    failed = [score for score in result.scores if score.values["failed"]]
    if failed:
        reasons = Counter(
            result.outcomes[score.id].reason for score in failed if score.half == "dev" and score.id in result.outcomes
        )
        yield f"{len(failed)} of {counted(len(result.scores), 'session')} failed; they count as answering nothing"
        yield from (f"  {count} x {one_line(reason)}" for reason, count in reasons.most_common(5))


def detail_lines(scores: Iterable[Score], queries: dict[str, str]) -> Iterator[str]:
    """Yield for each question of the dev half its notes on matches and gaps, and the first words of its report."""
    for score in scores:
        if score.half == "dev":
            yield f"--- {score.id} ({score.kind}): {queries[score.id]}"
            yield from (f"    {note}" for note in score.notes)
            yield f"    text: {' '.join(score.text.split()[:150])}"


def as_json(result: Result) -> dict[str, Any]:
    """Return totals by half, and the values of each question of the dev half."""
    halves = {half: [score for score in result.scores if score.half == half] for half in HALVES}
    return {
        "seconds": round(result.seconds, 3),
        "processor_seconds": round(result.processor_seconds, 3),
        "totals": {half: _totals(scores) for half, scores in halves.items() if scores},
        "questions": [
            {"id": score.id, "kind": score.kind, "values": dict(score.values), "notes": list(score.notes), "text": score.text}
            for score in halves["dev"]
        ],
    }


def _totals(scores: Sequence[Score]) -> list[dict[str, Any]]:
    found = ((figure, figure.over(scores)) for figure in FIGURES)
    return [
        {"group": figure.group, "figure": figure.label, "value": round(total[0], 6), "of": total[1]}
        for figure, total in found
        if total
    ]
