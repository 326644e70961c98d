"""The whole check, by code and by recorded verdicts: what it catches of false sentences, and what it cuts of true ones."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.research.claims.judged import FACTS, PARTS, SET, Recorded, checked, sections

CASES = {case["text"]: case for case in SET["sentences"]}
KINDS = {"number", "unit", "subject", "negation", "scope", "invented"}
HYPOTHETICAL = "With a checkpoint_timeout of 20 seconds, the default checkpoint_warning would give no warnings."


@pytest.fixture(scope="module")
def refused() -> dict[str, str]:
    found: dict[str, str] = {}
    for half in PARTS:
        for paragraph in sections(half):
            found |= checked(paragraph, Recorded())
    return found


def test_the_set_is_large_enough_and_each_sentence_has_a_verdict() -> None:
    false = Counter(case["kind"] for case in CASES.values() if not case["true"] and case["half"] != "third")
    assert false == dict.fromkeys(KINDS, 10)
    assert sum(case["true"] for case in CASES.values()) >= 40
    assert set(SET["verdicts"]) == set(CASES)


def test_the_whole_check_catches_the_false_sentences_of_each_kind(refused: dict[str, str]) -> None:
    passed = [(case["kind"], text) for text, case in CASES.items() if not case["true"] and text not in refused]
    assert len(passed) <= 0.05 * sum(not case["true"] for case in CASES.values()), passed


def test_the_whole_check_cuts_no_true_sentence_but_one_with_a_figure_of_its_own(refused: dict[str, str]) -> None:
    assert [text for text, case in CASES.items() if case["true"] and text in refused] == [HYPOTHETICAL]


def test_what_a_sentence_calls_open_is_checked_against_the_nearest_facts_of_the_session() -> None:
    text = "The sources do not say how long the median fdatasync took."
    (part,) = [part for part in sections("third") if any(one.text == text for one in part.sentences)]
    assert not any(FACTS["F7"].id in one.facts for one in part.sentences)
    reasoner = Recorded()
    assert text in checked(part, reasoner)
    (question,) = reasoner.asked
    assert FACTS["F7"] in question.facts
    assert FACTS["F7"].id not in question.claims


def test_code_alone_cuts_no_true_sentence_and_catches_wrong_figures() -> None:
    trusting = Recorded(trusting=True)
    refused = {text for half in PARTS for part in sections(half) for text in checked(part, trusting)}
    assert [text for text in refused if CASES[text]["true"]] == [HYPOTHETICAL]
    figures = [text for text, case in CASES.items() if not case["true"] and case["kind"] in ("number", "unit")]
    assert len(refused.intersection(figures)) >= 0.85 * len(figures)
