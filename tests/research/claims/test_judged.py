"""The whole check, by code and by recorded verdicts: what it catches of false sentences, and what it cuts of true ones."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.research.claims.judged import SET, Recorded, checked, sections

CASES = {case["text"]: case for case in SET["sentences"]}
KINDS = {"number", "unit", "subject", "negation", "scope", "invented"}


@pytest.fixture(scope="module")
def refused() -> dict[str, str]:
    found: dict[str, str] = {}
    for half in ("first", "second"):
        for paragraph in sections(half):
            found |= checked(paragraph, Recorded())
    return found


def test_the_set_is_large_enough_and_each_sentence_has_a_verdict() -> None:
    false = Counter(case["kind"] for case in CASES.values() if not case["true"])
    assert false == dict.fromkeys(KINDS, 10)
    assert sum(case["true"] for case in CASES.values()) == 40
    assert set(SET["verdicts"]) == set(CASES)


def test_the_whole_check_catches_the_false_sentences_of_each_kind(refused: dict[str, str]) -> None:
    passed = [(case["kind"], text) for text, case in CASES.items() if not case["true"] and text not in refused]
    assert len(passed) <= 0.05 * 60, passed


def test_the_whole_check_cuts_no_true_sentence(refused: dict[str, str]) -> None:
    assert [(text, refused[text]) for text, case in CASES.items() if case["true"] and text in refused] == []


def test_code_alone_cuts_no_true_sentence_and_catches_wrong_figures() -> None:
    trusting = Recorded(trusting=True)
    refused = {text for half in ("first", "second") for part in sections(half) for text in checked(part, trusting)}
    assert not [text for text in refused if CASES[text]["true"]]
    figures = [text for text, case in CASES.items() if not case["true"] and case["kind"] in ("number", "unit")]
    assert len(refused.intersection(figures)) >= 0.85 * len(figures)
