"""The figures as text: one line a question, totals, ratios."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TypeVar

from bench.quality.conflicts import ConflictScore
from bench.quality.scoring import BroadScore, NarrowScore
from bench.quality.sets import Side

S = TypeVar("S", NarrowScore, BroadScore, ConflictScore)


def narrow_table(scores: Sequence[NarrowScore], chance: float) -> Iterator[str]:
    """Yield the table of narrow questions; a question answered only by chance is rare where ``chance`` is small."""
    yield f"{'narrow: answer in the summary':34} {'split':8} {'own':>5} {'plain':>5} {'words':>9}"
    for score in scores:
        words = f"{score.own_words}/{score.plain_words}"
        yield f"{score.question.id:34} {score.question.split:8} {_mark(score.own):>5} {_mark(score.plain):>5} {words:>9}"
    for split, group in _by_split(scores):
        own, plain = sum(bool(s.own) for s in group), sum(bool(s.plain) for s in group)
        length = f"{_mean([s.own_words for s in group]):.0f} words a summary"
        yield f"narrow {split}: own {own}/{len(group)}, plain {plain}/{len(group)}, {_ratio(own, plain)}, {length}"
    yield f"narrow: an expected answer stands in another question's summary in {chance:.1%} of all cases"


def broad_table(scores: Sequence[BroadScore]) -> Iterator[str]:
    """Yield the table of broad questions."""
    yield f"{'broad: facets in the report':34} {'split':8} {'of':>5} {'own':>5} {'plain':>5} {'words':>9}"
    for score in scores:
        words = f"{score.own_words}/{score.plain_words}"
        counts = f"{len(score.question.facets):>5} {len(score.own):>5} {len(score.plain):>5}"
        yield f"{score.question.id:34} {score.question.split:8} {counts} {words:>9}"
    for split, group in _by_split(scores):
        own, plain, of = (sum(counts) for counts in zip(*map(_facets, group), strict=True))
        mean = _mean([s.own_words for s in group])
        yield f"broad {split}: own {own}/{of}, plain {plain}/{of}, {_ratio(own, plain)}, {mean:.0f} words a report"


def conflict_table(scores: Sequence[ConflictScore]) -> Iterator[str]:
    """Yield the table of planted contradictions. ``seen``: both sentences were found as facts."""
    yield f"{'contradictions':34} {'split':8} {'of':>5} {'found':>5} {'seen':>5} {'near':>5} {'other':>5}"
    for score in scores:
        counts = (len(part) for part in (score.subject.planted, score.found, score.seen, score.near, score.other))
        yield f"{score.subject.id:34} {score.subject.split:8} " + " ".join(f"{count:>5}" for count in counts)
    for split, group in _by_split(scores):
        of, found = sum(len(s.subject.planted) for s in group), sum(len(s.found) for s in group)
        near, alarms = sum(len(s.near) for s in group), sum(s.false_alarms for s in group)
        misses = sum(len(s.subject.near) for s in group)
        yield f"contradictions {split}: found {found}/{of}, false alarms {alarms} (near misses {near}/{misses})"


def details(narrow: Sequence[NarrowScore], broad: Sequence[BroadScore], conflicts: Sequence[ConflictScore]) -> Iterator[str]:
    """Yield what was matched, what is missing, and each false alarm in words."""
    for score in narrow:
        yield f"{score.question.id}: own {score.own!r}, plain {score.plain!r}"
    for entry in broad:
        missing = [facet.name for facet in entry.question.facets if facet.name not in entry.own]
        yield f"{entry.question.id}: missing {'; '.join(missing) or 'nothing'}"
    for conflict in conflicts:
        missed = [pair for pair in conflict.subject.planted if pair not in conflict.found]
        lines = [f"missed ({pair.note}): {_sentences(pair.a, pair.b)}" for pair in missed]
        lines += [f"near miss ({pair.note}): {_sentences(pair.a, pair.b)}" for pair in conflict.near]
        lines += [f"false alarm: {_sentences(a, b)}" for a, b in conflict.other]
        yield from (f"{conflict.subject.id}: {line}" for line in lines)


def _sentences(a: Side, b: Side) -> str:
    return f"{a.document}: {a.sentence} | {b.document}: {b.sentence}"


def _facets(score: BroadScore) -> tuple[int, int, int]:
    return len(score.own), len(score.plain), len(score.question.facets)


def _by_split(scores: Sequence[S]) -> Iterator[tuple[str, list[S]]]:
    ordered = sorted(scores, key=_split_of)
    for split, group in groupby(ordered, key=_split_of):
        yield split, list(group)


def _split_of(score: NarrowScore | BroadScore | ConflictScore) -> str:
    return score.subject.split if isinstance(score, ConflictScore) else score.question.split


def _mark(text: str) -> str:
    return "+" if text else "-"


def _mean(numbers: Sequence[int]) -> float:
    return sum(numbers) / len(numbers) if numbers else 0.0


def _ratio(own: int, plain: int) -> str:
    return f"own/plain {own / plain:.2f}" if plain else "own/plain: plain found none"
