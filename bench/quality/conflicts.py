"""Which planted contradictions a report names, and which of its contradictions are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from bench.quality.sets import Pair, Side, Subject
from pipeline.state import SessionState
from pipeline.text import holds_quote
from pipeline.values import Fact


@dataclass(frozen=True, slots=True)
class ConflictScore:
    """``found`` of the subject's planted pairs; ``seen``: those of which both sentences were read as facts.

    ``near`` are the near misses that were reported as contradictions, ``other`` all further false alarms.
    """

    subject: Subject
    found: tuple[Pair, ...]
    seen: tuple[Pair, ...]
    near: tuple[Pair, ...]
    other: tuple[tuple[Side, Side], ...]

    @property
    def false_alarms(self) -> int:
        """The number of reported contradictions that were not planted."""
        return len(self.near) + len(self.other)


def side_of(fact: Fact) -> Side:
    """Return a fact as the side of a pair: its document's name without folder and ending, and its quote."""
    return Side(PurePosixPath(fact.url.partition(":")[2]).stem, fact.quote)


def same(stated: Side, quoted: Side) -> bool:
    """Tell whether a quote is that sentence: of the same document, and one holds the other."""
    if stated.document != quoted.document:
        return False
    return holds_quote(quoted.sentence, stated.sentence) or holds_quote(stated.sentence, quoted.sentence)


def is_pair(pair: Pair, first: Side, second: Side) -> bool:
    """Tell whether two quotes are the two sides of ``pair``, in either order."""
    return (same(pair.a, first) and same(pair.b, second)) or (same(pair.a, second) and same(pair.b, first))


def reported(state: SessionState) -> Iterator[tuple[Side, Side]]:
    """Yield the two sides of each contradiction that the report names."""
    for entry in state.report.contradictions if state.report else ():
        if entry.a in state.facts and entry.b in state.facts:
            yield side_of(state.facts[entry.a]), side_of(state.facts[entry.b])


def score_conflicts(
    subject: Subject, subjects: Iterable[Subject], pairs: Iterable[tuple[Side, Side]], facts: Iterable[Side]
) -> ConflictScore:
    """Score what the report on ``subject`` calls contradictions; ``subjects`` are all that share the folder."""
    pairs, facts, subjects = list(pairs), list(facts), list(subjects)
    planted = [pair for entry in subjects for pair in entry.planted]
    alarms = [sides for sides in pairs if not any(is_pair(pair, *sides) for pair in planted)]
    lookalikes = [pair for entry in subjects for pair in entry.near]
    return ConflictScore(
        subject,
        found=tuple(pair for pair in subject.planted if any(is_pair(pair, *sides) for sides in pairs)),
        seen=tuple(pair for pair in subject.planted if all(any(same(s, fact) for fact in facts) for s in (pair.a, pair.b))),
        near=tuple(pair for sides in alarms for pair in lookalikes if is_pair(pair, *sides)),
        other=tuple(sides for sides in alarms if not any(is_pair(pair, *sides) for pair in lookalikes)),
    )
