"""The units of a passage, and which are a bad beginning."""

from __future__ import annotations

import pytest

from pipeline.text.ranking.answers.sentence_units import (
    is_boilerplate,
    is_condition,
    is_example,
    is_fragment,
    is_label,
    is_pointer,
    leans,
    units_of,
)


def test_a_passage_is_cut_into_sentences_items_rows_and_code() -> None:
    quote = "One is here. Two follows:\n\n- an item\n- another\n\n| a | b |\n\n```\nmake all\n```"
    assert [(unit.text, unit.kind) for unit in units_of(quote)] == [
        ("One is here.", "sentence"), ("Two follows:", "sentence"), ("an item", "item"), ("another", "item"),
        ("a · b", "row"), ("make all", "code"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "It is so.",
        "Er wollte Holz.",
        "Normally these kinds fail.",
        "In that case it stops.",
        "Dabei half er.",
        "As noted above, no.",
    ],
)
def test_what_begins_in_mid_thought_leans(text: str) -> None:
    assert leans(text)


@pytest.mark.parametrize(
    "text", ["The log is short.", "Es gibt drei Regeln.", "Under this License You may copy.", "Der Ort liegt hoch."]
)
def test_what_begins_a_thought_does_not(text: str) -> None:
    assert not leans(text)


def test_what_is_a_bad_beginning_is_recognised() -> None:
    assert is_example("For example, it may be 5.")
    assert is_example("If the holder in the example above is local, it goes.")
    assert is_pointer("The settings are described in systemd.unit(5).")
    assert is_condition("If it rains, stay.")
    assert is_boilerplate('Licensed under the Apache License, Version 2.0 (the "License")')
    assert not any(check("The log survives a power cut.") for check in (is_example, is_pointer, is_condition, is_boilerplate))


def test_headings_questions_name_lines_and_halves_of_sentences_are_no_statements() -> None:
    assert is_label(units_of("core - core dump file")[0])
    assert is_label(units_of("How WAL works")[0])
    assert is_label(units_of("How do you pronounce it?")[0])
    assert not is_label(units_of("The log survives a power cut.")[0])
    assert is_fragment(units_of("choices it is making during resolution.")[0])
    assert not is_fragment(units_of("The choices are made.")[0])


def test_a_sentence_that_breaks_off_above_what_ends_it_announces_it() -> None:
    above = "You can undo the whole of the rebase with"
    assert units_of(f"{above}\n\ngit rebase --abort")[0].announces
    assert units_of(f"{above} this\n```\ngit rebase --abort\n```")[0].announces
    assert not units_of(f"{above} this\n\nAnother paragraph.")[0].announces
    assert not units_of(above)[0].announces


def test_a_line_in_capitals_is_a_title() -> None:
    assert is_label(units_of("GNU GENERAL PUBLIC LICENSE: Version 3, 29 June 2007 COPYRIGHT FOUNDATION, BOSTON AND ELSEWHERE")[0])
