"""What code refuses of planted sentences, and that it refuses no true one."""

from __future__ import annotations

import pytest

from pipeline.domain.values import Fact, Sentence
from pipeline.research.claims.code_check import bridge_objection, code_objection, is_bridge, objection
from tests.research.claims.planted import FALSE, QUOTES, TRUE

QUERY = "How does a log survive a power cut?"
FACTS = {
    name: Fact(id=name, claim=quote, quote=quote, url=f"https://{name}.example/", digest="d" * 64)
    for name, quote in QUOTES.items()
}
CASES = [(kind, *case) for kind, cases in FALSE.items() for case in cases]


def refused(text: str, cited: tuple[str, ...], basis: str) -> str:
    sentence = Sentence.model_validate({"text": text, "facts": cited, "basis": basis})
    return objection(sentence, [FACTS[name] for name in cited], QUERY, "2026-11-21")


def test_the_planted_sets_are_large_enough() -> None:
    assert len(CASES) >= 60
    assert len(TRUE) >= 30
    assert len(FALSE) == 6


@pytest.mark.parametrize(("kind", "text", "cited", "basis"), [case[:4] for case in CASES if case[4]])
def test_code_refuses_what_contradicts_the_quotes_in_plain_sight(
    kind: str, text: str, cited: tuple[str, ...], basis: str
) -> None:
    assert refused(text, cited, basis), kind


@pytest.mark.parametrize(("text", "cited", "basis"), TRUE)
def test_no_true_sentence_is_cut_by_code(text: str, cited: tuple[str, ...], basis: str) -> None:
    assert refused(text, cited, basis) == ""


def test_code_alone_catches_most_of_the_planted_sentences() -> None:
    caught = [text for _, text, cited, basis, _ in CASES if refused(text, cited, basis)]
    assert len(caught) >= 0.75 * len(CASES)


def test_each_line_of_code_occurs_in_a_quote() -> None:
    facts = [Fact(id="a", claim="", quote="Put this:\n```\n[log]\nsize = 5\n```", url="https://a.example/", digest="d" * 64)]
    assert code_objection("[log]\nsize  =  5\n", facts) == ""
    assert "size = 6" in code_objection("[log]\nsize = 6", facts)


@pytest.mark.parametrize("text", ["Both have limits.", "The reasons differ.", "So the log survives a power cut as follows."])
def test_a_short_link_between_sentences_needs_no_citation(text: str) -> None:
    assert bridge_objection(text, FACTS.values(), QUERY) == ""


@pytest.mark.parametrize(
    "text", ["The moon is made of green cheese.", "It takes 5 minutes.", "Use `fsync`.", "It is what MySQL does.", "word " * 20]
)
def test_a_sentence_that_claims_something_is_no_link(text: str) -> None:
    assert not is_bridge(text) or bridge_objection(text, FACTS.values(), QUERY)


def test_a_row_of_a_table_is_judged_by_its_cells_not_by_the_names_of_its_columns() -> None:
    row = Sentence(text="Product: Ollama; Port: 11434", cells=("Ollama", "11434"), facts=("port",))
    assert objection(row, [FACTS["port"]], QUERY) == ""
    wrong = row.model_copy(update={"text": "Product: Ollama; Port: 11443", "cells": ("Ollama", "11443")})
    assert "11443" in objection(wrong, [FACTS["port"]], QUERY)
