"""What code refuses of planted sentences, and that it refuses no true one."""

from __future__ import annotations

import pytest

from pipeline.domain.values import Fact, Paragraph, Sentence
from pipeline.research.claims.code_check import code_objection, heading_objection, objection, uncited_objection, warning
from pipeline.research.claims.text import valid_sentence
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


def test_code_alone_catches_the_planted_figures_and_units() -> None:
    figures = [case for case in CASES if case[0] in ("wrong number", "wrong unit", "invented derivation")]
    caught = [text for _, text, cited, basis, _ in figures if refused(text, cited, basis)]
    assert len(caught) >= 0.8 * len(figures)


def test_each_line_of_code_occurs_in_a_quote() -> None:
    facts = [Fact(id="a", claim="", quote="Put this:\n```\n[log]\nsize = 5\n```", url="https://a.example/", digest="d" * 64)]
    assert code_objection("[log]\nsize  =  5\n", facts) == ""
    assert "size = 6" in code_objection("[log]\nsize = 6", facts)


def test_a_row_of_a_table_is_judged_by_its_cells_not_by_the_names_of_its_columns() -> None:
    row = Sentence(text="Product: Ollama; Port: 11434", cells=("Ollama", "11434"), facts=("port",))
    assert objection(row, [FACTS["port"]], QUERY) == ""
    wrong = row.model_copy(update={"text": "Product: Ollama; Port: 11443", "cells": ("Ollama", "11443")})
    assert "11443" in objection(wrong, [FACTS["port"]], QUERY)


def test_a_figure_may_be_computed_from_two_figures_of_one_quote() -> None:
    assert refused("The paid plan allows 17 projects more.", ("plan",), "derived") == ""
    assert refused("The paid plan allows 18 projects more.", ("plan",), "derived")
    sentence = Sentence(text="The paid plan allows 17 projects more.", facts=("plan",), basis="derived")
    assert valid_sentence(sentence, Paragraph(sentences=()), FACTS) == sentence


def test_a_computed_figure_under_the_wrong_basis_is_refused_with_the_way_out() -> None:
    assert "basis" in refused("The paid plan allows 17 projects more.", ("plan",), "quoted")
    assert "basis" not in refused("The paid plan allows 18 projects more.", ("plan",), "quoted")


@pytest.mark.parametrize(
    ("text", "quote"),
    [
        ("The command must return zero only if it succeeds.", "The command should return zero if and only if it succeeds."),
        ("Without a list, all columns are replicated.", "If no list is given, all columns are replicated."),
        ("A list together with a schema is not supported.", "A list is not supported when a schema is given together."),
        ("Preferably write it with a numeric offset.", "The preferred style is to write it with a numeric offset."),
        ("Pages are packed to 90%.", "The fillfactor is a percentage. Pages are packed to 90."),
    ],
)
def test_another_form_of_a_condition_or_an_advice_is_left_to_the_reasoner(text: str, quote: str) -> None:
    fact = Fact(id="a", claim="", quote=quote, url="https://a.example/", digest="d" * 64)
    assert objection(Sentence(text=text, facts=("a",)), [fact], QUERY) == ""


def test_an_example_may_have_figures_of_its_own_but_no_wrong_arithmetic() -> None:
    text = "For example, a log of 50 GB on 4096-byte pages needs `log_size = 50GB`."
    fact = Fact(
        id="a", claim="", quote="The log_size is a number of pages of 4096 bytes.", url="https://a.example/", digest="d" * 64
    )
    sentence = Sentence(text=text, facts=("a",), basis="derived")
    assert objection(sentence, [fact], QUERY) == ""
    assert objection(sentence.model_copy(update={"basis": "quoted"}), [fact], QUERY)
    assert "not right" in objection(sentence.model_copy(update={"text": "For example, 7 * 8 = 54."}), [fact], QUERY)
    assert "other_size" in objection(sentence.model_copy(update={"text": "For example, `other_size = 5`."}), [fact], QUERY)


def _said(quote: str, claim: str = "") -> Fact:
    return Fact(id="f1", claim=claim, quote=quote, url="https://example.org/", digest="0" * 64)


PUMPS = [_said("Heat pumps lose capacity below 15 degrees of frost.")]


@pytest.mark.parametrize(
    "text",
    [
        "The moon is made of green cheese. See [[]] and [E999].",
        "Pumps fail.",
        "Pumps fail. What to do",
        "See [S1]",
        "See [it](x)",
        "12 pumps",
    ],
)
def test_a_heading_that_is_a_statement_of_its_own_does_not_stand(text: str) -> None:
    assert heading_objection(text, PUMPS, "How do heat pumps work?", title=False) != ""


@pytest.mark.parametrize(
    "text",
    [
        "Where it ends",
        "Heat pumps v. gas: what frost changes",
        "Check whether it is worth its price",
        "Using `dict[str]`",
        "Heat in St. Petersburg",
        "Node.js vs. React",
        "Worth it? What frost changes",
        "Lists such as [a] and [b]",
    ],
)
def test_a_heading_in_its_own_words_stands(text: str) -> None:
    assert heading_objection(text, PUMPS, "How do heat pumps work?", title=False) == ""


def test_a_title_shares_words_with_the_question_or_the_quotes() -> None:
    assert heading_objection("Heat pumps in frost", PUMPS, "How do heat pumps work?", title=True) == ""
    assert heading_objection("Heat pumps since 2019", PUMPS, "What changed in heat pumps since 2019?", title=True) == ""
    assert heading_objection("The moon consists of green cheese", PUMPS, "How do heat pumps work?", title=True) != ""


def test_a_sentence_shares_a_word_with_what_it_cites() -> None:
    assert "no word in common" in refused("The moon is made of green cheese.", ("port",), "quoted")
    assert "no word in common" in refused("<script src=''></script>", ("port",), "derived")
    quote = "The daemon listens on a socket."
    fact = Fact(id="a", claim="", quote=quote, url="https://a.example/", digest="d" * 64, path=("Networking",))

    def said(text: str) -> str:
        return objection(Sentence(text=text, facts=("a",)), [fact], "Where does it wait?")

    assert said("Its network is local.") == ""  # a word of the heading above the quote
    assert said("Le service attend les demandes et n'est pas visible de dehors.") == ""  # another language
    assert said("It does so.") == ""  # nothing of its own
    assert said("Cheese ripens in cellars.")


@pytest.mark.parametrize(
    "text", ["Both have limits.", "The sources do not say how long a checkpoint takes.", "It is as follows:"]
)
@pytest.mark.parametrize("form", ["paragraph", "bullets"])
def test_whether_a_sentence_without_citation_claims_anything_is_left_to_the_reasoner(text: str, form: str) -> None:
    kept = valid_sentence(Sentence(text=text), Paragraph.model_validate({"sentences": (), "form": form}), FACTS)
    assert kept is not None
    assert kept.basis == "bridge"
    assert uncited_objection(text, FACTS.values(), QUERY) == ""


@pytest.mark.parametrize("text", ["It takes 77 minutes.", "Use `fsync`.", "The sources do not say that MySQL takes longer."])
def test_a_sentence_without_citation_brings_in_no_figure_code_or_name_that_the_quotes_lack(text: str) -> None:
    assert uncited_objection(text, FACTS.values(), QUERY)


def test_a_citation_that_was_not_given_out_stays_known_as_such() -> None:
    paragraph = Paragraph(sentences=())
    kept = valid_sentence(Sentence(text="It listens on a port.", facts=("port", "moon"), unknown=("E99",)), paragraph, FACTS)
    assert kept is not None
    assert (kept.facts, kept.unknown, kept.basis) == (("port",), ("E99", "moon"), "quoted")
    alone = valid_sentence(Sentence(text="It listens.", facts=("moon",)), paragraph, FACTS)
    assert alone is not None
    assert alone.basis == "quoted"  # it cites, so it is no link


def test_a_proper_name_that_no_quote_has_is_a_warning_and_no_objection() -> None:
    told = Sentence(text="The port of Gemma is 11434.", facts=("port",))
    assert objection(told, [FACTS["port"]], QUERY) == ""
    assert "Gemma" in warning(told, [FACTS["port"]], QUERY)
    assert warning(told.model_copy(update={"text": "The port of Ollama is 11434."}), [FACTS["port"]], QUERY) == ""
