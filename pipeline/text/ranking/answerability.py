"""The gate: is there evidence for what a question is about, and which of its parts has none?

Words must meet in one passage, with its headings: spread over strangers they are no evidence. Per clause of the question two
measures are taken over the passages: *coverage*, the greatest share of the clause's words, by weight and rarity, that one of
them holds; and *evidence*, the greatest sum of weight times rarity that one passage holds, in units of ln(passages), which is
about one rare word. People put questions with many words that no document holds, so low coverage alone says little: both must
be low.

The marks were set on 195 questions that four collections of documentation answer (3% are refused) and 60 that they do not
(of those about something else altogether 96% are refused; of those that only sound at home, four in five are refused or led by
what is missing).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeline.text.ranking.query_terms import Query, Term, understood
from pipeline.text.ranking.scoring import ELSEWHERE, Ranked, covered, rarity
from pipeline.text.ranking.term_statistics import TermStatistics

REFUSED = 0.35  # coverage below which a clause is refused, if there is little evidence too
ENOUGH = 0.98  # evidence, in units of ln(passages)
DOUBTED = 0.45  # coverage below which the report first says that no passage holds all that is asked
_UNKNOWN_UNIT = 1.5  # words that are as much evidence as a rare one, where no index says which are rare
_NAME = 0.9  # from this speciality on a word is taken for a name
_TELLING = 0.4  # a less special word is a way of putting things: that it is missing tells nothing

Outcome = Literal["answered", "partly", "unanswered"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the gate found. ``missing`` are words of the question, as written, that no single passage holds with the rest."""

    outcome: Outcome
    missing: tuple[str, ...]
    coverage: float


def judged(query: Query, passages: Sequence[Ranked], known: TermStatistics) -> Judgement:
    """Judge whether ``passages`` hold what the question is about."""
    held = [frozenset((*passage.body, *passage.heads)) for passage in passages]
    judgements = (_clause(understood(clause, query.language), held, known) for clause in query.clauses)
    clauses = [clause for clause in judgements if clause is not None] or [_Clause(0.0, 0.0, (), ())]
    best = max(clause.coverage for clause in clauses)
    if all(clause.is_stranger for clause in clauses):
        lacking = tuple(dict.fromkeys(word for clause in clauses for word in clause.lacking))
        return Judgement("unanswered", lacking, best)
    missing = tuple(
        dict.fromkeys(word for clause in clauses for word in (clause.lacking if clause.is_stranger else clause.names))
    )
    doubted = any(clause.coverage < DOUBTED for clause in clauses)
    return Judgement("partly" if missing or doubted else "answered", missing, best)


class _Clause(NamedTuple):
    """A clause's coverage and evidence. ``lacking``: words that its best passage lacks; ``names``: those that no good one has."""

    coverage: float
    evidence: float
    lacking: tuple[str, ...]
    names: tuple[str, ...]

    @property
    def is_stranger(self) -> bool:
        """Whether no passage is about it."""
        return self.coverage < REFUSED and self.evidence < ENOUGH


def _clause(query: Query, held: Sequence[frozenset[str]], known: TermStatistics) -> _Clause | None:
    if not query.terms:
        return None
    best = max(held, key=lambda stems: covered(query, known, stems), default=frozenset[str]())
    lacking = sorted(
        (term for term in query.terms if not term.is_in(best)), key=lambda term: -term.weight * rarity(term.stem, known)
    )
    nowhere = [term for term in lacking if is_nowhere(term, known)]
    good = [stems for stems in held if covered(query, known, stems) >= DOUBTED] or [best]
    evidence = max((_evidence(query, stems, known) for stems in held), default=0.0)
    return _Clause(
        covered(query, known, best),
        evidence / (math.log(known.passages + ELSEWHERE) if known.passages else _UNKNOWN_UNIT),
        tuple(term.word for term in nowhere or lacking if term.special >= _TELLING),
        tuple(term.word for term in lacking if _is_lacking(term, good)),
    )


def _evidence(query: Query, stems: frozenset[str], known: TermStatistics) -> float:
    return sum(term.weight * rarity(term.stem, known) for term in query.terms if term.is_in(stems))


def _is_lacking(term: Term, good: Sequence[frozenset[str]]) -> bool:
    """Tell whether a name is in none of the passages that hold most of the rest: they are about something else."""
    return term.special >= _NAME and not any(term.is_in(stems) for stems in good)


def is_nowhere(term: Term, known: TermStatistics) -> bool:
    """Tell whether no passage of the whole index holds a word, nor a compound's parts."""
    if known.counts.get(term.stem):
        return False
    return not term.parts or any(not known.counts.get(part) for part in term.parts)
