"""Names by rule: programs, standards, people, defined terms and subjects of questions; no fragments, units or headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.memory.naming.named_entities import named_entities
from pipeline.domain.memory.values import NamedEntity
from tests.domain.memory.naming.claims import statements


def named(*claims: str, same_page: bool = False, title: str = "", questions: tuple[str, ...] = ()) -> dict[str, NamedEntity]:
    found = named_entities(statements(*claims, same_page=same_page, title=title), questions)
    return {one.name: one for one in found}


def test_a_proper_name_that_sentences_begin_with_is_an_entity() -> None:
    assert named("Kettleworth keeps the pages of the harbour office.", "On a server the pages of Kettleworth are kept.") == {}
    found = named(
        "Kettleworth keeps the pages of the harbour office.",
        "Kettleworth keeps copies for a year.",
        "The office of Kettleworth is closed.",
        "A page of Kettleworth is long.",
    )
    assert {name: (one.kind, len(one.statements)) for name, one in found.items()} == {"Kettleworth": ("name", 4)}


def test_a_name_on_one_page_only_is_none_yet() -> None:
    claims = ("The rsync program is a copier for files.", "With rsync, only the changes are sent.")
    assert list(named(*claims)) == ["rsync"]
    assert named(*claims, same_page=True) == {}


def test_the_subject_of_a_manual_page_that_a_question_asked_for_needs_no_other_source() -> None:
    claims = (
        "losetup is used to set up a device.",
        "If losetup fails, it prints why.",
        "The size is read by losetup at the start.",
    )
    title = "losetup(8): set up and control loop devices"
    found = named(*claims, same_page=True, title=title, questions=("How does losetup set up a device?",))
    assert {name: one.kind for name, one in found.items()} == {"losetup": "code"}


@pytest.mark.parametrize("word", ["MiB", "EiB", "GB", "SYNOPSIS", "FILES", "March", "English", "UTC", "Figure 3"])
def test_units_headings_months_and_languages_are_no_names(word: str) -> None:
    claims = (f"{word} is a thing that is here.", f"It is often said that {word} is there.", f"{word} are the ones that count.")
    assert word not in named(*claims, questions=(f"What is {word}?",))


def test_an_everyday_word_is_no_name_unless_a_document_is_about_it() -> None:
    claims = ("A link is a pointer from one note to another.", "Each link of a note is followed by the reader.")
    assert named(*claims, questions=("What is a link?",)) == {}
    assert list(named(*claims, title="Link", questions=("What is a link?",))) == ["link"]


def test_a_word_in_capitals_that_stands_for_what_the_caller_writes_is_no_name() -> None:
    assert named("FILE is a name of the file to read.", "The output goes to FILE in the end.", questions=("What is FILE?",)) == {}


def test_an_acronym_needs_an_explanation() -> None:
    bare = ("The disk is a part of the QZE in the machine.", "It is known to the QZE of the house.")
    assert named(*bare) == {}
    explained = ("The quick zone exchange (QZE) is in the machine.", "It is known to the QZE of the house.")
    (found,) = named(*explained).values()
    assert {found.name, *found.aliases} == {"QZE", "quick zone exchange"}
    assert found.statements == ("f0", "f1")


def test_code_that_three_sources_name_is_an_entity_and_an_identifier_of_two_is_none_yet() -> None:
    claims = [f"Here the flag flex_bg is set by program number {number}." for number in ("one", "two", "three")]
    pages = [one.model_copy(update={"url": f"corpus:{one.fact}.md"}) for one in statements(*claims)]
    assert [(one.name, one.kind) for one in named_entities(pages)] == [("flex_bg", "code")]
    assert named_entities(pages[:2]) == ()


def test_a_defined_term_is_found_in_other_forms_too() -> None:
    found = named(
        "A torn write is a record of which only a part reached the disk.",
        "Torn writes are caught by a checksum.",
        "A log may well have a torn write at its end.",
    )
    assert {name.lower(): (one.kind, len(one.statements)) for name, one in found.items()} == {"torn write": ("term", 3)}


def test_a_judgement_is_no_definition() -> None:
    claims = (
        "Caraway is a must.",
        "The pump house is a hit with children.",
        "Caraway is in the pump house.",
        "A pump house of old.",
    )
    assert named(*claims, "Then the caraway goes into the pump house of the town.") == {}


def test_what_a_definition_says_of_this_place_alone_is_no_term() -> None:
    assert named("The device argument is the name of a file.", "The device argument is given to the program.") == {}


def test_a_term_in_quotation_marks_is_defined_as_licences_do_it() -> None:
    claims = ("“Covered Software” means what is offered under these terms.", "You may copy the Covered Software as you like.")
    assert list(named(*claims)) == ["Covered Software"]


def test_a_phrase_of_a_question_counts_if_a_heading_holds_it_and_sentences_use_it_as_a_noun() -> None:
    claims = ("The list of bad blocks is long.", "It marks the bad blocks in a list.", "A search for bad blocks takes hours.")
    asked = ("How are bad blocks found?",)
    assert list(named(*claims, title="badblocks(8): search a device for bad blocks", questions=asked)) == ["bad blocks"]
    assert named(*claims, questions=asked) == {}


def test_a_verb_of_a_question_makes_no_phrase() -> None:
    claims = ("Linked notes help people to write.", "Good notes help people who read them.", "Many notes help people at work.")
    assert named(*claims, title="Do notes help people", questions=("Do linked notes help people?",)) == {}


def test_a_german_term_is_defined_in_german_and_no_noun_counts_for_its_capital_alone() -> None:
    claims = (
        "Ein Leuchtfeuer ist ein Licht, das der Navigation dient, und es steht auf einem Turm.",
        "Unter einem Leuchtfeuer versteht man ein Licht, das man von der See aus sieht.",
    )
    assert list(named(*claims)) == ["Leuchtfeuer"]


def test_a_japanese_term_is_defined_in_japanese() -> None:
    claims = ("灯質とは、光の色と点滅の規則のことである。", "船員は灯質によって灯台を見分ける。")
    assert {name: one.statements for name, one in named(*claims).items()} == {"灯質": ("f0", "f1")}


def test_the_longer_name_of_a_person_is_the_name() -> None:
    claims = (
        "Niklas Luhmann kept a box of notes.",
        "The box of Niklas Luhmann is in a museum.",
        "Niklas Luhmann wrote on paper.",
    )
    found = named(*claims, *("As Niklas Luhmann said, notes are partners.",))
    assert list(found) == ["Niklas Luhmann"]


def test_what_is_in_a_fifth_of_many_statements_is_the_topic_and_no_subject() -> None:
    claims = [f"A file system is a place for files of kind {number}." for number in range(60)]
    others = [f"The clock of the town hall shows the hour for house {number}." for number in range(60)]
    assert "file system" not in named(*claims, *others, title="file system", questions=("What is a file system?",))


@given(st.lists(st.text(max_size=80), max_size=6), st.lists(st.text(max_size=30), max_size=2))
def test_whatever_statements_say_names_are_unique_and_shared(claims: list[str], questions: list[str]) -> None:
    found = named_entities(statements(*claims), questions)
    assert len({one.id for one in found}) == len(found)
    assert all(len(one.statements) > 1 for one in found)
