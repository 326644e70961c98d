"""The figures of an evaluation, computed from the sessions' logs: no model judges. Held-out questions appear in totals only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median
from typing import Any

from bench.evaluate.baseline import Baseline
from bench.evaluate.questions import HALVES, Nugget, Question, match_in
from bench.evaluate.sessions import STAGES, Outcome

SUMMARY_WORDS, MIDDLE_WORDS, REPORT_WORDS = 150, 500, 1_500
Values = dict[str, float]

# By group: what is printed, the value of each question that it adds up, and how.
FIGURES: tuple[tuple[str, str, str, str], ...] = (
    ("narrow", "answer in a chosen passage", "narrow.chosen", "mean"),
    ("narrow", "answer in the report (1,500 words)", "narrow.1500", "mean"),
    ("narrow", "answer in the first 150 words", "narrow.150", "mean"),
    ("narrow", "words a report, median", "narrow.words", "median"),
    ("narrow", "baseline: answer in the best ten windows (1,500 words)", "narrow.ten", "mean"),
    ("narrow", "baseline: answer in the best window (150 words)", "narrow.one", "mean"),
    *(
        ("broad", f"{which} in {words:,} words", f"{key}.{words}", "mean")
        for which, key in (("nuggets", "broad"), ("vital nuggets", "vital"))
        for words in (SUMMARY_WORDS, MIDDLE_WORDS, REPORT_WORDS)
    ),
    ("broad", "words a report, median", "broad.words", "median"),
    ("broad", "baseline: nuggets in the best ten windows (1,500 words)", "broad.ten", "mean"),
    *(
        (f"documents of {kind} questions", stage, f"{kind}.{stage}", "mean")
        for kind in ("narrow", "broad", "plain")
        for stage in STAGES
    ),
    *(("refused", kind, f"refused.{kind}", "mean") for kind in ("off-topic", "near-topic", "half", "answerable")),
    ("half", "a missing word is named", "half.named", "mean"),
    ("half", "the other half is answered", "half.answered", "mean"),
    ("cost", "sessions that failed", "failed", "sum"),
    ("cost", "model calls", "calls", "sum"),
    ("cost", "tokens", "tokens", "sum"),
    ("cost", "USD", "usd", "sum"),
)
_OVER: Mapping[str, Callable[[Sequence[float]], float]] = {"mean": fmean, "median": median, "sum": sum}


@dataclass(frozen=True, slots=True)
class Score:
    """The values of one question by name. ``notes`` describe what was matched and what is missing."""

    question: Question
    values: Values
    notes: tuple[str, ...]
    text: str = field(default="", repr=False)


def score(question: Question, outcome: Outcome, baseline: Baseline | None, digests: Mapping[str, str]) -> Score:
    """Return the values of one question. Documents of the same digest count as one."""
    windows = baseline.best(question.query) if baseline and (question.answers or question.nuggets) else []
    values: Values = {
        "failed": outcome.ending == "failed",
        "calls": outcome.calls,
        "tokens": outcome.tokens,
        "usd": outcome.usd,
        f"refused.{question.unanswerable.kind if question.unanswerable else 'answerable'}": outcome.ending == "refused",
    }
    notes = [] if outcome.ending == "report" else [f"{outcome.ending}: {outcome.reason}"]
    if question.answers:
        aliases = [alias for answer in question.answers for alias in answer.aliases]
        places = {
            "150": _first(outcome.text, SUMMARY_WORDS),
            "1500": _first(outcome.text, REPORT_WORDS),
            "chosen": outcome.chosen,
        }
        values |= {f"narrow.{name}": bool(match_in(text, aliases)) for name, text in places.items()}
        values["narrow.one"] = any(match_in(text, aliases) for text in windows[:1])
        values["narrow.ten"] = any(match_in(text, aliases) for text in windows)
        where = next((name for name in places if values[f"narrow.{name}"]), "")
        notes.append(f"answer ({where}): {match_in(places[where], aliases)!r}" if where else f"missing: {' | '.join(aliases)}")
    if question.nuggets:
        for words in (SUMMARY_WORDS, MIDDLE_WORDS, REPORT_WORDS):
            held = _held(question.nuggets, [_first(outcome.text, words)])
            values[f"broad.{words}"] = len(held) / len(question.nuggets)
            if vital := [nugget for nugget in question.nuggets if nugget.vital]:
                values[f"vital.{words}"] = sum(nugget in held for nugget in vital) / len(vital)
        values["broad.ten"] = len(_held(question.nuggets, windows)) / len(question.nuggets)
        missing = [f"{nugget.nugget}{' (vital)' if nugget.vital else ''}" for nugget in question.nuggets if nugget not in held]
        notes.append(f"nuggets {len(held)}/{len(question.nuggets)}; missing: {'; '.join(missing)}")
    if outcome.text and question.kind in ("narrow", "broad"):
        values[f"{question.kind}.words"] = len(outcome.text.split())
    if question.docs:
        wanted = {digests.get(doc, doc) for doc in question.docs}
        for stage in STAGES:
            lost = wanted - {digests.get(doc, doc) for doc in outcome.reached.get(stage, ())}
            values[f"{question.kind}.{stage}"] = 1 - len(lost) / len(wanted)
            if lost:
                notes.append(f"not {stage}: {', '.join(doc for doc in question.docs if digests.get(doc, doc) in lost)}")
    if question.unanswerable and question.kind == "half":
        part = question.unanswerable.answerable_part
        values["half.named"] = bool(match_in(outcome.notices, question.unanswerable.missing))
        values["half.answered"] = bool(part and match_in(_first(outcome.text, REPORT_WORDS), part.aliases))
    return Score(question, {name: float(value) for name, value in values.items()}, tuple(notes), outcome.text)


def _first(text: str, words: int) -> str:
    return " ".join(text.split()[:words])


def _held(nuggets: Iterable[Nugget], texts: Sequence[str]) -> list[Nugget]:
    return [nugget for nugget in nuggets if any(match_in(text, nugget.any) for text in texts)]


def totals(scores: Iterable[Score]) -> list[dict[str, Any]]:
    """Return each figure that some question has, with its value and the number of those questions."""
    values = [score.values for score in scores]
    found = [(*figure, [of_one[figure[2]] for of_one in values if figure[2] in of_one]) for figure in FIGURES]
    return [
        {"group": group, "figure": label, "value": round(float(_OVER[how](each)), 4), "of": len(each)}
        for group, label, _key, how, each in found
        if each
    ]


def as_json(scores: Sequence[Score]) -> dict[str, Any]:
    """Return the totals of each half, and the values of the questions that are not held out."""
    halves = {half: [score for score in scores if score.question.half == half] for half in HALVES}
    return {
        "totals": {half: totals(of_half) for half, of_half in halves.items() if of_half},
        "questions": [
            {"id": one.question.id, "kind": one.question.kind, "values": one.values, "notes": one.notes, "text": one.text}
            for one in halves["dev"]
        ],
    }


def lines(figures: Mapping[str, Any], earlier: Mapping[str, Any]) -> Iterator[str]:
    """Yield the table of the totals, beside those of an ``earlier`` evaluation, and the questions that changed."""
    for half, rows in figures["totals"].items():
        before = {(row["group"], row["figure"]): row["value"] for row in earlier.get("totals", {}).get(half, ())}
        yield f"{half:66} {'before':>9} {'now':>9}" if before else f"{half:66}"
        for row in rows:
            was = before.get((row["group"], row["figure"]))
            column = ("         -" if was is None else f" {was:9.3f}") if before else ""
            yield f"  {row['group'] + ': ' + row['figure']:64}{column} {row['value']:9.3f}  of {row['of']}"
    old = {one["id"]: one["values"] for one in earlier.get("questions", ())}
    for one in figures["questions"]:
        for name, value in one["values"].items():
            was = old.get(one["id"], {}).get(name, value)
            if value != was and not name.endswith(("words", "calls", "tokens", "usd")):
                yield f"{one['id']}: {name} {was:.3f} -> {value:.3f}"


def details(scores: Iterable[Score]) -> Iterator[str]:
    """Yield for each question that is not held out what was matched or is missing, and how its report begins."""
    for one in scores:
        if one.question.half == "dev":
            yield f"--- {one.question.id} ({one.question.kind}): {one.question.query}"
            yield from (f"    {note}" for note in one.notes)
            yield f"    text: {_first(one.text, SUMMARY_WORDS)}"
