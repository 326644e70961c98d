"""What is still unknown: a worker's open questions, and after the analysis the whole research's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pipeline import terms
from pipeline.questions import Evaluation, EvaluationQuestion, Gaps, GapsQuestion
from pipeline.reasoners.extractive import frames, phrases
from pipeline.reasoners.extractive.ranking import ANSWERED, best_answer, rarities
from pipeline.reasoners.extractive.statements import statement
from pipeline.text import one_line
from pipeline.values import Fact, Gap

MOST = 4
CROSS_CHECKS = 2  # facts a worker looks for elsewhere


def evaluate(question: EvaluationQuestion) -> Evaluation:
    """Return the perspective's questions that no fact answers well enough."""
    rare = rarities(question.facts)
    asked = question.perspective.questions
    opened = tuple(text for text in asked if best_answer(text, question.facts, rare) < ANSWERED)
    if question.iteration == 1:
        opened += tuple(_cross_checks(question.facts))
    reason = f"{len(asked) - len(opened)} of {len(asked)} questions are answered by {len(question.facts)} facts."
    return Evaluation(gaps=opened, reason=reason)


def _cross_checks(facts: Sequence[Fact]) -> Iterator[str]:
    """Yield, after a first iteration, whether other sources say the same as the best facts with a figure or a denial."""
    ranked = sorted(facts, key=lambda fact: (-fact.relevance, fact.id))
    telling = [fact for fact in ranked if statement(fact.claim).denies or statement(fact.claim).figures.quantities]
    for fact in telling[:CROSS_CHECKS]:
        yield frames.CONFIRMING.format(claim=one_line(fact.claim, 140).rstrip("."))


def find_gaps(question: GapsQuestion) -> Gaps:
    """Return at most six gaps, most important first, without two that ask nearly the same."""
    rare = rarities(question.facts)
    found = [*_unspoken(question), *_unanswered(question, rare)]
    ranked = sorted(found, key=lambda gap: (-gap.importance, gap.question))
    kept: list[Gap] = []
    for gap in ranked:
        mine = terms.term_set(gap.question)
        if len(kept) < MOST and all(terms.alike(mine, terms.term_set(other.question)) < 0.6 for other in kept):
            kept.append(gap)
    return Gaps(gaps=tuple(kept))


def _unspoken(question: GapsQuestion) -> list[Gap]:
    """Return a gap for the words of the query that no fact speaks of."""
    spoken = frozenset(form for fact in question.facts for form in terms.term_set(f"{fact.claim} {fact.heading}"))
    missing = [
        word
        for word in phrases.salient_words(question.query)
        if not any(form in spoken for form in terms.forms(word)) and terms.needs(question.query)[terms.forms(word)[0]] >= 1.0
    ]
    if not missing:
        return []
    named = " and ".join(missing[:3])
    text = f"What is known about {named} in connection with {phrases.subject(question.query)}?"
    return [Gap(question=text, importance=0.9, reason=f"No fact speaks of {named}.")]


def _unanswered(question: GapsQuestion, rare: Mapping[str, float]) -> list[Gap]:
    found: list[Gap] = []
    for perspective in question.perspectives:
        for place, text in enumerate(perspective.questions):
            if place and text != question.query:
                continue  # what a perspective asks besides its first question is a way of looking, not a thing to know
            best = best_answer(text, question.facts, rare)
            if best < ANSWERED:
                importance = _importance(question.query, perspective.id, place, text) * (1.0 - 0.6 * best)
                reason = _reason(text, best, question.open_questions, question.facts)
                found.append(Gap(question=text, importance=round(importance, 3), reason=reason, perspective=perspective.id))
    return found


def _importance(query: str, perspective: str, place: int, text: str) -> float:
    if text == query:
        return 1.0
    return (0.65 if perspective == "basic-facts" else 0.5) - 0.05 * place


def _reason(text: str, best: float, opened: Sequence[str], facts: Sequence[Fact]) -> str:
    if not facts or best < 0.15:
        return "No source that was read speaks of this."
    return "The facts found touch on this without answering it." if text in opened else "Only weak facts speak of this."
