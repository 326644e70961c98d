"""Whether a sentence follows from the quotes it cites."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline import terms
from pipeline.questions import ClaimCheck, ClaimCheckQuestion
from pipeline.reasoners.extractive.statements import statement
from pipeline.text import holds_quote
from pipeline.values import Fact, Sentence, Verdict

_NEARLY_ALL = 0.85  # share of a sentence's terms that one quote must hold


def check(question: ClaimCheckQuestion) -> ClaimCheck:
    """Return one verdict per sentence, in order."""
    facts = {fact.id: fact for fact in question.facts}
    verdicts = (
        _verdict(place, sentence, [facts[name] for name in sentence.facts if name in facts])
        for place, sentence in enumerate(question.sentences)
    )
    return ClaimCheck(verdicts=tuple(verdicts))


def _verdict(place: int, sentence: Sentence, facts: Sequence[Fact]) -> Verdict:
    if not facts:
        return Verdict(sentence=place, supported=False, reason="It cites no fact.")
    if any(holds_quote(fact.quote, sentence.text) for fact in facts):
        return Verdict(sentence=place, supported=True, reason="It stands word for word in a quote.")
    faults = [_fault(sentence.text, fact.quote) for fact in facts]
    if "" in faults:
        return Verdict(sentence=place, supported=True, reason="A quote holds its words, numbers and polarity.")
    return Verdict(sentence=place, supported=False, reason=faults[0])


def _fault(text: str, quote: str) -> str:
    """Return why ``quote`` does not support ``text``, or ""."""
    wanted, held = terms.term_set(text), terms.term_set(quote)
    missing_numbers = sorted(set(terms.numbers(text)) - set(terms.numbers(quote)))
    if missing_numbers:
        return f"The quote does not hold the number {missing_numbers[0]}."
    if not wanted or len(wanted & held) < _NEARLY_ALL * len(wanted):
        return "The quote does not hold all that the sentence says."
    return (
        "" if statement(text).denies == statement(quote).denies else "The quote affirms what the sentence denies, or denies it."
    )
