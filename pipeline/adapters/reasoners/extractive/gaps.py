"""Answers to evaluation and gap questions: a worker's questions that no passage covers, and query parts without evidence."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.adapters.reasoners.extractive.report_passages import stemmed_fact
from pipeline.domain.reasoner_questions import Evaluation, EvaluationQuestion, Gaps, GapsQuestion
from pipeline.domain.values import Fact, Gap
from pipeline.text.normalise import counted
from pipeline.text.ranking.answerability import DOUBTED_COVERAGE, is_unindexed, judgement_of
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.ranking.scoring import statistics_of
from pipeline.text.ranking.term_statistics import TermStatistics
from pipeline.text.stemming import DEFAULT_LANGUAGE, language_of

_SAMPLE = 8  # facts from which the language is detected
_UNINDEXED_IMPORTANCE = 0.4  # of a gap whose words the index does not contain: another search would find nothing
_OPEN_IMPORTANCE = 0.7  # of a gap that another search may fill


def evaluate(question: EvaluationQuestion) -> Evaluation:
    """Return the perspective's questions that no fact covers sufficiently."""
    opened = tuple(text for text in question.perspective.questions if _best_coverage(text, question.facts) < DOUBTED_COVERAGE)
    answered = len(question.perspective.questions) - len(opened)
    return Evaluation(gaps=opened, reason=f"{answered} of {counted(len(question.perspective.questions), 'question')} answered.")


def _best_coverage(text: str, facts: Sequence[Fact]) -> float:
    language = language_of(" ".join(fact.quote for fact in facts[:_SAMPLE])) or DEFAULT_LANGUAGE
    texts = [stemmed_fact(fact, language) for fact in facts]
    return judgement_of(parse_question(text, language), texts, statistics_of(texts)).coverage if texts else 0.0


def find_gaps(question: GapsQuestion) -> Gaps:
    """Return the parts of the query that the facts do not answer; none for a query of one part, which the gate judges."""
    known = question.statistics
    query = parse_question(question.query, known.language)
    texts = [stemmed_fact(fact, query.language) for fact in question.facts]
    indexed = known if known.passages else statistics_of(texts)
    judgements = [(clause, judgement_of(parse_question(clause, query.language), texts, indexed)) for clause in query.clauses]
    gaps = [_gap(clause, question, judgement.missing) for clause, judgement in judgements]
    return Gaps(gaps=tuple(gap for gap in gaps if gap is not None) if len(query.clauses) > 1 else ())


def _gap(clause: str, question: GapsQuestion, missing: tuple[str, ...]) -> Gap | None:
    if not missing:
        return None
    named = ", ".join(f"“{word}”" for word in missing[:4])
    importance = _UNINDEXED_IMPORTANCE if _is_any_unindexed(missing, question.statistics) else _OPEN_IMPORTANCE
    view = next((view.id for view in question.perspectives if clause in view.questions), "")
    return Gap(
        question=f"{clause[:1].upper()}{clause[1:]}?",
        importance=importance,
        reason=f"No source mentions {named}.",
        perspective=view,
    )


def _is_any_unindexed(missing: tuple[str, ...], known: TermStatistics) -> bool:
    terms = (term for word in missing for term in parse_question(word, known.language).terms)
    return bool(known.passages) and any(is_unindexed(term, known) for term in terms)
