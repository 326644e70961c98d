"""Answerability: whether passages contain what a question is about, and which of its words are missing.

The words must occur together in one passage, headings included; unrelated passages that hold one word each are no evidence. Two
values are computed for each clause of the question. *Coverage* is the largest share of the clause's words, by weight and rarity,
that one passage contains. *Evidence* is the largest sum of weight times rarity that one passage contains, in units of
ln(passages), which is about one rare word. People ask with many words that no document contains, so a clause is refused only if
both values are low; or if its coverage is moderate and no document contains a name in it, because then it is about that name.

The thresholds were set on 195 questions that four collections of documentation answer and 60 that they do not answer. Checked on
123 and 36 over seven collections, none of the answerable questions is refused and all 17 on another subject are; of the 19 on a
similar subject, 13 are refused and 6 are reported with the missing words.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from pipeline.text.ranking.named_subject import names_alone, passing_names
from pipeline.text.ranking.query_terms import ParsedQuestion, Term, parse_question
from pipeline.text.ranking.scoring import ASSUMED_PASSAGES, StemmedText, coverage, rarity, term_weights
from pipeline.text.ranking.term_statistics import TermStatistics

REFUSED_COVERAGE = 0.35  # a clause is refused below this coverage if its evidence is low too
ENOUGH_EVIDENCE = 0.98  # in units of ln(passages)
DOUBTED_COVERAGE = 0.45  # below it the report begins by saying that no passage covers the whole question
_NEARLY = 0.75  # share of the best coverage at which a passage covers the question nearly as well
_UNKNOWN_UNIT = 1.5  # the unit of evidence in words, where no index knows which words are rare
_NAME_SPECIFICITY = 0.9  # a word at least as specific counts as a name
_ABOUT_IT = 3  # passages under a heading or title with a name that show that a document is about it
_NAMED_SPECIFICITY = 0.4  # a less specific word is not reported as missing

Outcome = Literal["answered", "partly", "unanswered"]


@dataclass(frozen=True, slots=True)
class Judgement:
    """Whether passages answer a question.

    ``missing`` are words of the question, as written, that no passage contains together with the rest. ``coverage`` is that of
    the best clause, 0 to 1. ``passing`` are names in the question that the passages mention only in passing.
    """

    outcome: Outcome
    missing: tuple[str, ...]
    coverage: float
    passing: tuple[str, ...] = ()


def judgement_of(query: ParsedQuestion, passages: Sequence[StemmedText], known: TermStatistics) -> Judgement:
    """Return whether ``passages`` contain what the question is about; ``known`` are the term statistics of the whole index.

    Without an index, it is not known which words are rare, and no name is taken to be mentioned in passing.
    """
    held = [frozenset((*passage.body, *passage.heads)) for passage in passages]
    headings = [frozenset(passage.heads) for passage in passages]
    judgements = (_clause_evidence(parse_question(clause, query.language), held, headings, known) for clause in query.clauses)
    clauses = [clause for clause in judgements if clause is not None] or [_ClauseEvidence(0.0, 0.0, (), ())]
    best = max(clause.coverage for clause in clauses)
    if all(clause.is_unanswered for clause in clauses):
        lacking = tuple(dict.fromkeys(word for clause in clauses for word in clause.lacking))
        return Judgement("unanswered", lacking, best)
    missing = tuple(
        dict.fromkeys(word for clause in clauses for word in (clause.lacking if clause.is_unanswered else clause.names))
    )
    doubted = any(clause.coverage < DOUBTED_COVERAGE for clause in clauses)
    passing = tuple(word for word in passing_names(query, passages, known) if word not in missing) if known.passages else ()
    if known.passages and not missing and not passing:
        missing = names_alone(query, passages, known)
    return Judgement("partly" if missing or passing or doubted else "answered", missing, best, passing)


class _ClauseEvidence(NamedTuple):
    """A clause's coverage and evidence.

    ``lacking`` are the words that its best passage lacks; ``names`` are the names that no well covering passage contains.
    ``unknown_name``: one of its names is nowhere in the index.
    """

    coverage: float
    evidence: float
    lacking: tuple[str, ...]
    names: tuple[str, ...]
    unknown_name: bool = False

    @property
    def is_unanswered(self) -> bool:
        """Whether no passage is about the clause."""
        if self.unknown_name and self.coverage < DOUBTED_COVERAGE:
            return True
        return self.coverage < REFUSED_COVERAGE and self.evidence < ENOUGH_EVIDENCE


def _clause_evidence(
    query: ParsedQuestion, held: Sequence[frozenset[str]], headings: Sequence[frozenset[str]], known: TermStatistics
) -> _ClauseEvidence | None:
    if not query.terms:
        return None
    weights = term_weights(query, known)
    best = max(held, key=lambda stems: coverage(weights, stems), default=frozenset[str]())
    lacking = sorted(
        (term for term in query.terms if not term.is_in(best)), key=lambda term: -term.weight * rarity(term.stem, known)
    )
    nowhere = [term for term in lacking if is_unindexed(term, known)]
    enough = min(DOUBTED_COVERAGE, _NEARLY * coverage(weights, best))
    good = [stems for stems in held if coverage(weights, stems) >= enough]
    evidence = max((_passage_evidence(query, stems, known) for stems in held), default=0.0)
    return _ClauseEvidence(
        coverage(weights, best),
        evidence / (math.log(known.passages + ASSUMED_PASSAGES) if known.passages else _UNKNOWN_UNIT),
        tuple(term.word for term in nowhere or lacking if term.specificity >= _NAMED_SPECIFICITY),
        tuple(t.word for t in lacking if _is_missed_name(t, good, headings)),
        any(_is_unknown_name(term, held, known) for term in nowhere),
    )


def _is_missed_name(term: Term, good: Sequence[frozenset[str]], headings: Sequence[frozenset[str]]) -> bool:
    """Return whether the word is a name that no well covering passage contains, and that no document or section is about.

    Below its own title or heading, a text seldom repeats its name.
    """
    if term.specificity < _NAME_SPECIFICITY or any(term.is_in(stems) for stems in good):
        return False
    return sum(term.is_in(stems) for stems in headings) < _ABOUT_IT


def _is_unknown_name(term: Term, held: Sequence[frozenset[str]], known: TermStatistics) -> bool:
    """Return whether the word is a name that is in no passage; there must be an index that it is not in either."""
    return bool(known.passages) and term.specificity >= _NAME_SPECIFICITY and not any(term.is_in(stems) for stems in held)


def _passage_evidence(query: ParsedQuestion, stems: frozenset[str], known: TermStatistics) -> float:
    return sum(term.weight * rarity(term.stem, known) for term in query.terms if term.is_in(stems))


def is_unindexed(term: Term, known: TermStatistics) -> bool:
    """Return whether no passage of the index contains the word, nor all parts of a compound."""
    if known.counts.get(term.stem):
        return False
    return not term.parts or any(not known.counts.get(part) for part in term.parts)
