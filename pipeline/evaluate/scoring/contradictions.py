"""Scoring of a report's contradictions against the planted pairs and the decoys of its documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from pipeline.domain.state import SessionState
from pipeline.domain.values import Fact
from pipeline.evaluate.question_set.rows import Decoy, Planted, Side, Subject
from pipeline.evaluate.scoring.outcome import document_of
from pipeline.evaluate.scoring.stored_pages import bare_words

Sides = tuple[Side, Side]


@dataclass(frozen=True, slots=True)
class ConflictScore:
    """The score of one report's contradictions.

    ``found`` are its subject's planted pairs that it reports; ``right`` is how many it reports that are planted for any
    subject; ``near`` are its subject's decoys that it reports; ``other`` are all further false alarms.
    """

    subject: Subject
    found: tuple[Planted, ...]
    right: int
    near: tuple[Decoy, ...]
    other: tuple[Sides, ...]


def side_of(fact: Fact) -> Side:
    """Return a fact as one side of a pair: its document's name without folder and suffix, and its quote."""
    return Side(document=PurePosixPath(document_of(fact.url)).stem or "?", sentence=fact.quote or "?")


def is_same(stated: Side, quoted: Side) -> bool:
    """Return whether a quote is the stated sentence: same document, and one contains the other, punctuation and case aside."""
    if quoted.document not in (stated.document, PurePosixPath(stated.document).stem):
        return False
    one, other = bare_words(stated.sentence), bare_words(quoted.sentence)
    return bool(one.strip() and other.strip()) and (one in other or other in one)


def is_pair(pair: Planted | Decoy, first: Side, second: Side) -> bool:
    """Return whether two quotes are the two sides of ``pair``, in either order."""
    return (is_same(pair.a, first) and is_same(pair.b, second)) or (is_same(pair.a, second) and is_same(pair.b, first))


def reported_pairs(state: SessionState | None) -> Iterator[Sides]:
    """Yield the two sides of each contradiction that the report names."""
    for entry in state.report.contradictions if state and state.report else ():
        if state and entry.a in state.facts and entry.b in state.facts:
            yield side_of(state.facts[entry.a]), side_of(state.facts[entry.b])


def score_conflicts(subject: Subject, subjects: Iterable[Subject], pairs: Iterable[Sides]) -> ConflictScore:
    """Score the contradictions of the report on ``subject``; ``subjects`` are all that share the folder."""
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
