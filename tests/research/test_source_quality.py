"""Which sources may carry the report."""

from __future__ import annotations

from pipeline.domain.state import PageDone
from pipeline.domain.values import Fact, ValidatedFact
from pipeline.research.source_quality import source_quality


def fact(name: str, url: str, relevance: float = 0.8, quote: str = "") -> Fact:
    return Fact(id=name, claim=name, quote=quote or f"The pump {name} runs.", url=url, digest="d", relevance=relevance)


def page(url: str, published: str = "", author: str = "") -> PageDone:
    return PageDone(url, "A page", "d", 100, "2026-11-21T02:15:00.000Z", published=published, author=author)


def test_an_old_unsigned_irrelevant_disputed_source_is_not_admitted_and_the_log_says_why() -> None:
    good, bad = "https://a.example.edu/x", "https://b.example.com/y"
    facts = [fact("1", good), fact("2", good), fact("3", bad, relevance=0.05)]
    validated = [
        ValidatedFact(fact_id="1", standing="corroborated"),
        ValidatedFact(fact_id="2", standing="corroborated"),
        ValidatedFact(fact_id="3", standing="disputed"),
    ]
    pages = {good: page(good, "2026-01-02"), bad: page(bad, "2009")}
    first, second = source_quality(facts, validated, pages)
    assert (first.admitted, second.admitted) == (True, False)
    assert first.score > second.score
    assert any("1 disputed" in reason for reason in second.reasons)
    assert any("from 2009; the newest source is from 2026" in reason for reason in second.reasons)
    assert any("no author" in reason for reason in second.reasons)


def test_a_copy_of_another_source_is_less_independent() -> None:
    facts = [fact("1", "https://a.example/x", quote="The pump runs day and night."), fact("2", "https://b.example/y")]
    copied = [*facts, fact("3", "https://c.example/z", quote="The pump runs day and night.")]
    assert source_quality(copied, [], {})[0].score < source_quality(facts, [], {})[0].score


def test_the_best_source_is_admitted_however_weak_it_is() -> None:
    facts = [fact("1", "https://a.example/x", relevance=0.0)]
    (only,) = source_quality(facts, [ValidatedFact(fact_id="1", standing="disputed")], {})
    assert only.score < 0.4
    assert only.admitted


def test_a_document_of_ones_own_is_never_shut_out_for_being_undated() -> None:
    facts = [fact("1", "corpus:a.md", relevance=0.3), fact("2", "corpus:b.md", relevance=0.9)]
    assert all(quality.admitted for quality in source_quality(facts, [], {}))
