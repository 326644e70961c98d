"""Answers to claim checks: a sentence is supported if it occurs word for word in a quote that it cites."""

from __future__ import annotations

from pipeline.domain.reasoner_questions import ClaimCheck, ClaimCheckQuestion
from pipeline.domain.values import Fact, Sentence, Verdict
from pipeline.text.normalise import holds_quote
from pipeline.text.ranking.query_terms import content_stems


def check(question: ClaimCheckQuestion) -> ClaimCheck:
    """Return one verdict per sentence, in order, then one per heading. A claim is overstated unless its quote contains it."""
    facts = {fact.id: fact for fact in question.facts}
    verdicts = [_verdict(place, sentence, facts) for place, sentence in enumerate(question.sentences)]
    verdicts += [_heading_verdict(place, text, facts) for place, text in enumerate(question.headings, start=len(verdicts))]
    overstated = tuple(name for name in question.claims if not holds_quote(facts[name].quote, facts[name].claim))
    return ClaimCheck(verdicts=tuple(verdicts), overstated=overstated)


def _verdict(place: int, sentence: Sentence, facts: dict[str, Fact]) -> Verdict:
    cited = [facts[name] for name in sentence.facts if name in facts]
    if not cited:
        return Verdict(sentence=place, supported=False, reason="It cites no fact.")
    if any(holds_quote(fact.quote, sentence.text) for fact in cited):
        return Verdict(sentence=place, supported=True, reason="It occurs word for word in a quote.")
    return Verdict(sentence=place, supported=False, reason="It is in none of the quotes that it cites.")


def _heading_verdict(place: int, text: str, facts: dict[str, Fact]) -> Verdict:
    missing = content_stems(text) - content_stems(" ".join(fact.quote for fact in facts.values()))
    return Verdict(sentence=place, supported=not missing, reason="The quotes lack some of its words." if missing else "")
