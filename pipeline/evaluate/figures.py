"""The figures of an evaluation: value of one question, aggregation over many, and printed form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Literal

How = Literal["mean", "median", "worst", "sum"]
Form = Literal["share", "number", "usd", "seconds"]

FORMS: Mapping[Form, str] = {"share": "{:.3f}", "number": "{:,.1f}", "usd": "{:.4f}", "seconds": "{:,.1f}"}


@dataclass(frozen=True, slots=True)
class Score:
    """The values of one question by name. ``notes`` describe what was matched and what is missing."""

    id: str
    half: str
    kind: str
    values: Mapping[str, float]
    notes: tuple[str, ...] = ()
    text: str = field(default="", repr=False)


@dataclass(frozen=True, slots=True)
class Figure:
    """One printed figure. Its value for a question is ``values[key]``, divided by ``values[of]`` if ``of`` is given.

    Over many questions it is the ``how`` of their values; with ``of``, the ratio of the two sums. ``better`` is 1 if a higher
    value is better, -1 if a lower one is, 0 if neither.
    """

    group: str
    label: str
    key: str
    of: str = ""
    how: How = "mean"
    form: Form = "share"
    better: int = 1

    def of_one(self, score: Score) -> float | None:
        """Return the value of one question, or None if it has none."""
        value = score.values.get(self.key)
        if value is None or not self.of:
            return value
        whole = score.values.get(self.of, 0.0)
        return value / whole if whole else None

    def over(self, scores: Iterable[Score]) -> tuple[float, int] | None:
        """Return the value over these questions and the number of questions (or, with ``of``, of things counted), or None."""
        having = [score for score in scores if self.key in score.values]
        if self.of:
            whole = sum(score.values.get(self.of, 0.0) for score in having)
            return (sum(score.values[self.key] for score in having) / whole, round(whole)) if whole else None
        values = [score.values[self.key] for score in having]
        return (_over(self.how, values), len(values)) if values else None


def _over(how: How, values: Sequence[float]) -> float:
    match how:
        case "median":
            return median(values)
        case "worst":
            return min(values)
        case "sum":
            return sum(values)
        case "mean":
            return fmean(values)


def _stages(kind: str, title: str) -> tuple[Figure, ...]:
    labels = {"searched": "found by a search", "read": "read", "quoted": "quoted", "cited": "cited"}
    return tuple(Figure(title, label, f"{kind}.doc.{stage}") for stage, label in labels.items())


def _nuggets(words: int) -> tuple[Figure, ...]:
    key = f"broad.at{words}"
    return (
        Figure("broad", f"nuggets in {words} words, mean", key),
        Figure("broad", f"nuggets in {words} words, worst", key, how="worst"),
        Figure("broad", f"vital nuggets in {words} words, mean", f"broad.vital{words}"),
        Figure("broad", f"vital nuggets in {words} words, worst", f"broad.vital{words}", how="worst"),
    )


_REFUSALS = tuple(
    Figure("unanswerable", f"refused, {kind}", f"refused.{kind}", better=better)
    for kind, better in (("off-topic", 1), ("near-topic", 1), ("half", -1))
)

FIGURES: tuple[Figure, ...] = (
    Figure("narrow", "answer in the summary (150 words)", "narrow.at150"),
    Figure("narrow", "answer in the report (1,500 words)", "narrow.at1500"),
    Figure("narrow", "answer anywhere in the report", "narrow.anywhere"),
    Figure("narrow", "words a report, median", "narrow.words", how="median", form="number", better=0),
    Figure("narrow", "baseline: answer in the best passage (150 words)", "baseline.at150", better=0),
    Figure("narrow", "baseline: answer in the best ten (1,500 words)", "baseline.at1500", better=0),
    *_nuggets(150),
    *_nuggets(500),
    *_nuggets(1500),
    Figure("broad", "words a report, median", "broad.words", how="median", form="number", better=0),
    Figure("broad", "baseline: nuggets in the best ten (1,500 words), mean", "baseline.nuggets", better=0),
    Figure("broad", "baseline: vital nuggets in the best ten, mean", "baseline.vital", better=0),
    *_stages("narrow", "documents of narrow questions"),
    *_stages("broad", "documents of broad questions"),
    *_stages("plain", "documents of other questions"),
    *_REFUSALS,
    Figure("unanswerable", "half: a missing word is named", "half.named"),
    Figure("unanswerable", "half: the other half is answered", "half.answered"),
    Figure("unanswerable", "half: both", "half.both"),
    Figure("unanswerable", "answerable questions refused by mistake", "refused.answerable", better=-1),
    Figure("follow-ups", "answered in 120 words, if a stored page holds the answer", "ask.right"),
    Figure("follow-ups", "refused, though a stored page holds the answer", "ask.refused", better=-1),
    Figure("follow-ups", "unanswerable ones refused", "ask.unanswerable"),
    Figure("follow-ups", "follow-ups with a pronoun answered as the full question", "ask.pair"),
    Figure("follow-ups", "words an answer, median", "ask.words", how="median", form="number", better=0),
    Figure("follow-ups", "milliseconds of processor an answer", "ask.ms", form="number", better=-1),
    Figure("contradictions", "planted ones that are reported", "planted.found", of="planted.all"),
    Figure("contradictions", "right among those reported", "planted.right", of="planted.reported"),
    Figure("contradictions", "contradictions reported", "planted.reported", how="sum", form="number", better=0),
    Figure("contradictions", "decoys that are reported", "planted.decoys", of="planted.near", better=-1),
    Figure("contradictions", "false alarms a report, all other questions", "alarms", form="number", better=-1),
    Figure("trust", "quotes found in the stored page", "quotes.standing", of="quotes.all"),
    Figure("trust", "sentences that cite", "sentences.citing", of="sentences.all"),
    Figure("trust", "citations that resolve", "citations.resolving", of="citations.all"),
    Figure("readability", "neighbouring sentences that are neighbours in the source", "read.neighbours", of="read.pairs"),
    Figure("readability", "openers that lean on a sentence not shown", "read.leaning", of="read.openers", better=-1),
    Figure("readability", "leaning openers a report", "read.leaning", form="number", better=-1),
    Figure("readability", "scraps a report", "read.scraps", form="number", better=-1),
    Figure("readability", "body sentences without a word of their section's title", "read.off_title", of="read.body", better=-1),
    Figure("cost", "sessions that failed", "failed", better=-1),
    Figure("cost", "model calls", "calls", how="sum", form="number", better=-1),
    Figure("cost", "tokens", "tokens", how="sum", form="number", better=-1),
    Figure("cost", "USD", "usd", how="sum", form="usd", better=-1),
    Figure("cost", "USD a nugget or answer found", "usd", of="gained", form="usd", better=-1),
    Figure("cost", "seconds a session", "seconds", form="seconds", better=-1),
)
