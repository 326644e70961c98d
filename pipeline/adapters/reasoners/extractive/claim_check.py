"""Answers to claim checks: a sentence is supported if it occurs word for word in a quote that it cites."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import ClaimCheck, ClaimCheckQuestion
from pipeline.domain.values import Fact, Sentence, Verdict
from pipeline.text.normalise import holds_quote


def check(question: ClaimCheckQuestion) -> ClaimCheck:
    """Return one verdict per sentence, in order."""
    facts = {fact.id: fact for fact in question.facts}
    return ClaimCheck(verdicts=tuple(_verdict(place, sentence, facts) for place, sentence in enumerate(question.sentences)))


def _verdict(place: int, sentence: Sentence, facts: dict[str, Fact]) -> Verdict:
    cited = [facts[name] for name in sentence.facts if name in facts]
    if not cited:
        return Verdict(sentence=place, supported=False, reason="It cites no fact.")
    if any(holds_quote(fact.quote, sentence.text) for fact in cited):
        return Verdict(sentence=place, supported=True, reason="It occurs word for word in a quote.")
    return Verdict(sentence=place, supported=False, reason="It is in none of the quotes that it cites.")
