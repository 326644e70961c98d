"""Which planted contradictions a report names, and which of its contradictions are none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact
from pipeline.evaluate.question_set.rows import Near, Planted, Side, Subject
from pipeline.evaluate.scoring.outcome import document_of
from pipeline.evaluate.scoring.stored_pages import bare_words

Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class ConflictScore:
    """Of what one report calls contradictions: ``found`` of its subject's planted pairs; ``right``: planted for any subject.

    ``near`` are its subject's decoys that were reported, ``other`` all further false alarms.
    """

    subject: Subject
    found: tuple[Planted, ...]
    right: int
    near: tuple[Near, ...]
    other: tuple[Sides, ...]


def side_of(fact: Fact) -> Side:
    """Return a fact as the side of a pair: its document's name without folder and ending, and its quote."""
    return Side(document=PurePosixPath(document_of(fact.url)).stem or "?", sentence=fact.quote or "?")


def same(stated: Side, quoted: Side) -> bool:
    """Return whether a quote is that sentence: of the same document, and one holds the other, marks and case aside."""
    if quoted.document not in (stated.document, PurePosixPath(stated.document).stem):
        return False
    one, other = bare_words(stated.sentence), bare_words(quoted.sentence)
    return bool(one.strip() and other.strip()) and (one in other or other in one)


def is_pair(pair: Planted | Near, first: Side, second: Side) -> bool:
    """Return whether two quotes are the two sides of ``pair``, in either order."""
    return (same(pair.a, first) and same(pair.b, second)) or (same(pair.a, second) and same(pair.b, first))


def reported(state: SessionState | None) -> Iterator[Sides]:
    """Yield the two sides of each contradiction that the report names."""
    for entry in state.report.contradictions if state and state.report else ():
        if state and entry.a in state.facts and entry.b in state.facts:
            yield side_of(state.facts[entry.a]), side_of(state.facts[entry.b])


def score_conflicts(subject: Subject, subjects: Iterable[Subject], pairs: Iterable[Sides]) -> ConflictScore:
    """Score what the report on ``subject`` calls contradictions; ``subjects`` are all that share the folder."""
    pairs, subjects = list(pairs), list(subjects)
    planted = [pair for entry in subjects for pair in entry.planted]
    alarms = [sides for sides in pairs if not any(is_pair(pair, *sides) for pair in planted)]
    return ConflictScore(
        subject,
        found=tuple(pair for pair in subject.planted if any(is_pair(pair, *sides) for sides in pairs)),
        right=len(pairs) - len(alarms),
        near=tuple(pair for pair in subject.near if any(is_pair(pair, *sides) for sides in alarms)),
        other=tuple(sides for sides in alarms if not any(is_pair(pair, *sides) for pair in subject.near)),
    )
