import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.text.german_words import compound_parts, verb_base
from pipeline.text.ranking.query_terms import parse_question
from pipeline.text.stemming import forms, stems


@pytest.mark.parametrize(
    ("participle", "noun"),
    [
        ("stillgelegt", "Stilllegung"),
        ("stillgelegte", "Stilllegung"),
        ("begradigt", "Begradigung"),
        ("begradigten", "Begradigung"),
        ("digitalisiert", "Digitalisierung"),
        ("verkauft", "Verkauf"),
        ("eingestellt", "Einstellung"),
        ("abgemessen", "abmessen"),
    ],
)
def test_a_participle_and_its_noun_or_verb_have_a_stem_in_common(participle: str, noun: str) -> None:
    assert forms(noun, "german")[0] in forms(participle, "german")


@pytest.mark.parametrize("word", ["Gesicht", "Gebiet", "gern", "gegen", "bei", "erst", "Verein", "entlang", "gestern", "gefolgt"])
def test_a_noun_with_a_capital_and_a_short_word_are_no_participles(word: str) -> None:
    assert verb_base(word) == ""


def test_a_participle_keeps_its_own_stem_first() -> None:
    assert forms("stillgelegt", "german") == ("stillgelegt", "stillleg")
    assert forms("begradigt", "english") == forms("Begradigt", "english")


@pytest.mark.parametrize(
    ("compound", "parts"),
    [
        ("Kohlenmeiler", ("kohlen", "meiler")),
        ("Faustballregeln", ("faustball", "regeln")),
        ("Wasserkraftschnecke", ("wasserkraft", "schnecke")),
        ("Krankenhaus", ()),
        ("Meiler", ()),
        ("Verfassungsgericht", ()),
    ],
)
def test_only_a_rare_compound_is_taken_apart(compound: str, parts: tuple[str, ...]) -> None:
    assert compound_parts(compound) == parts


def test_a_question_finds_a_text_that_says_the_parts_of_its_compound_apart() -> None:
    term = next(one for one in parse_question("Wie funktioniert ein Kohlenmeiler?", "german").terms if one.word == "Kohlenmeiler")
    assert term.is_in(set(stems("Der Köhler zündet den Meiler an; die Kohlen glühen sechs Tage.", "german")))
    assert not term.is_in(set(stems("Die Kohlen kamen mit der Bahn.", "german")))


@given(st.text(max_size=40))
def test_any_text_is_taken_apart_or_left(text: str) -> None:
    assert len(compound_parts(text)) in (0, 2)
    assert verb_base(text) == "" or text.islower()
