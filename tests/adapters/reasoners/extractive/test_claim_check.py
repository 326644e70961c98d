"""A quote follows from a fact when it stands in it."""

from __future__ import annotations

from pipeline.adapters.reasoners.extractive.claim_check import check
from pipeline.domain.reasoner_questions import ClaimCheckQuestion
from pipeline.domain.values import Sentence
from tests.adapters.reasoners.extractive.builders import fact

TABLE = fact("| Name | Use |\n| pump | water |\n\nThe pump is loud.")


def supported(text: str, *names: str) -> bool:
    (verdict,) = check(ClaimCheckQuestion(query="q", sentences=(Sentence(text=text, facts=names),), facts=(TABLE,))).verdicts
    assert verdict.reason
    return verdict.supported


def test_what_stands_in_a_cited_quote_is_supported_lines_aside() -> None:
    assert supported(TABLE.quote, TABLE.id)
    assert supported("The pump   is loud.", TABLE.id)


def test_what_stands_in_none_or_cites_nothing_is_not() -> None:
    assert not supported("The pump is quiet.", TABLE.id)
    assert not supported("The pump is loud.")
    assert not supported("The pump is loud.", "stranger")
    assert not supported("", TABLE.id)
