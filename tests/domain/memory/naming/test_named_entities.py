"""Names by rule: programs, standards, people, defined terms and subjects of questions; no fragments, units or headings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.domain.memory.naming.candidates import is_rare
from pipeline.domain.memory.naming.named_entities import named_entities
from pipeline.domain.memory.values import NamedEntity
from tests.domain.memory.naming.claims import statements


def named(*claims: str, same_page: bool = False, title: str = "", questions: tuple[str, ...] = ()) -> dict[str, NamedEntity]:
    found = named_entities(statements(*claims, same_page=same_page, title=title), questions)
    return {one.name: one for one in found}


def test_a_proper_name_that_a_question_holds_and_that_several_sentences_are_about_is_an_entity() -> None:
    claims = (
        "Kettleworth keeps the pages of the harbour office.",
        "Kettleworth keeps copies for a year.",
        "In winter, Kettleworth is closed.",
        "Kettleworth is a house that has printed the tables since 1990.",
    )
    asked = ("What does Kettleworth keep?",)
    found = named(*claims, questions=asked)
    assert {name: (one.kind, len(one.statements)) for name, one in found.items()} == {"Kettleworth": ("name", 4)}
    assert named(*claims[:3]) == {}
    mentions = ("The office of Kettleworth is closed.", "A page of Kettleworth is long.", "We wrote to the clerk of Kettleworth.")
    assert named(*claims[:1], *mentions, questions=asked) == {}


def test_a_name_that_nothing_says_what_it_is_makes_no_note_unless_reports_quote_much_of_it() -> None:
    told = (
        "The office of Kettleworth is closed.",
        "Kettleworth keeps the pages of the harbour office.",
        "In winter, Kettleworth is closed.",
        "Kettleworth keeps copies for a year.",
        "Since 1990 Kettleworth has printed the tables.",
    )
    asked = ("What does Kettleworth keep?",)
    assert named(*told, questions=asked) == {}
    assert list(named(*told, "Kettleworth has a clerk of its own.", questions=asked)) == ["Kettleworth"]
    assert list(named(*told, "Kettleworth is a printing house.", questions=asked)) == ["Kettleworth"]
    assert list(named(*told[1:4], "Kettleworth, a printing house at the old quay, has a clerk.", questions=asked)) == [
        "Kettleworth"
    ]


def test_pages_say_more_of_what_statements_name_and_make_no_names_of_their_own() -> None:
    known = statements("The wick of a storm glass lamp is long.")
    said = (
        "A storm glass is a tube that keeps the wind from a flame. Every storm glass is cleaned at dawn.",
        "With a storm glass, the flame is seen from far away.",
        "A fog bell is a bell that is rung in fog. Every fog bell is cleaned at dawn. A fog bell is loud in the night.",
    )
    pages = [one.model_copy(update={"fact": ""}) for one in statements(*said)]
    asked = ("What is a storm glass?",)
    (found,) = named_entities(known, asked, pages=pages)
    assert (found.name, found.statements, len(found.passages)) == ("storm glass", ("f0",), 3)
    assert [one.text for one in found.passages if one.defines] == ["A storm glass is a tube that keeps the wind from a flame."]
    assert named_entities(known, asked) == ()


def test_a_short_name_and_the_full_name_that_a_title_explains_are_one_entity() -> None:
    claims = (
        "TBF is a shaper that never schedules traffic.",
        "The Token Bucket Filter is a queue for traffic.",
        "When it is full, TBF drops a packet.",
    )
    (found,) = named(*claims, title="tbf(8): Token Bucket Filter").values()
    assert {"TBF", "Token Bucket Filter"} <= {found.name, *found.aliases}


def test_an_acronym_is_one_entity_with_the_full_name_that_it_is_the_initials_of() -> None:
    claims = (
        "The Harbour Light Authority is a body that keeps the lights of the coast.",
        "The HLA has kept the lights since 1836.",
        "Every year the HLA paints the buoys.",
        "In winter, the Harbour Light Authority keeps fewer ships.",
    )
    (found,) = named(*claims, questions=("What does the HLA do?",)).values()
    assert {"HLA", "Harbour Light Authority"} <= {found.name, *found.aliases}


def test_the_parts_of_a_word_with_a_hyphen_have_initials_of_their_own() -> None:
    claims = (
        "The Tide-Ahead Planning Board is a body that plans the tides.",
        "The TAPB has kept the lights since 1836.",
        "Every year the TAPB paints the buoys.",
        "In winter, the Tide-Ahead Planning Board keeps fewer ships.",
    )
    (found,) = named(*claims, questions=("What does the TAPB do?",)).values()
    assert {"TAPB", "Tide-Ahead Planning Board"} <= {found.name, *found.aliases}


def test_a_name_on_one_page_only_is_none_yet() -> None:
    claims = (
        "The rsync program is a copier for files.",
        "With rsync, only the changes are sent.",
        "By default, rsync compares the times of files.",
    )
    asked = ("What does rsync send?",)
    assert list(named(*claims, questions=asked)) == ["rsync"]
    assert named(*claims, same_page=True, questions=asked) == {}


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
    claims = (
        "A link is a pointer from one note to another.",
        "Each link of a note is followed by the reader.",
        "A link has two ends and a text.",
    )
    assert named(*claims, questions=("What is a link?",)) == {}
    assert list(named(*claims, title="Link", questions=("What is a link?",))) == ["link"]


def test_a_word_in_capitals_that_stands_for_what_the_caller_writes_is_no_name() -> None:
    assert named("FILE is a name of the file to read.", "The output goes to FILE in the end.", questions=("What is FILE?",)) == {}


def test_an_acronym_needs_an_explanation() -> None:
    bare = ("The disk is a part of the QZE in the machine.", "It is known to the QZE of the house.")
    assert named(*bare) == {}
    explained = (
        "The quick zone exchange (QZE) is in the machine.",
        "The QZE of the house is known to it.",
        "QZE units are small.",
        "The QZE is painted every year.",
        "In winter, the QZE is closed for a month.",
        "The QZE is a hall for machines.",
    )
    (found,) = named(*explained, questions=("What is a QZE?",)).values()
    assert {found.name, *found.aliases} == {"QZE", "quick zone exchange"}
    assert found.statements == ("f0", "f1", "f2", "f3", "f4", "f5")
    assert named(*explained[:3], questions=("What is a QZE?",)) == {}


def test_code_that_nothing_explains_must_be_asked_for_and_be_spoken_of() -> None:
    claims = [f"The flag flex_bg is set by program number {number}." for number in ("one", "two", "three", "four")]
    claims.append("The flex_bg flag is a mark on a disk.")
    assert named(*claims) == {}
    asked = ("What does flex_bg do?",)
    assert [(one.name, one.kind) for one in named(*claims, questions=asked).values()] == [("flex_bg", "code")]
    mentions = [f"Here program number {number} sets the flag flex_bg." for number in ("one", "two", "three", "four")]
    assert named(*mentions, questions=asked) == {}


def test_a_defined_term_is_found_in_other_forms_too() -> None:
    found = named(
        "A torn write is a record of which only a part reached the disk.",
        "Torn writes are caught by a checksum.",
        "A torn write at the end of a log is cut off.",
        "In a log, a torn write is the last record.",
    )
    assert {name.lower(): (one.kind, len(one.statements)) for name, one in found.items()} == {"torn write": ("term", 4)}


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


@pytest.mark.parametrize("word", ["Covered Software", "Keeper", "Harbour Entity"])
def test_what_a_contract_defines_for_itself_is_no_name(word: str) -> None:
    claims = (
        f"“{word}” means what is offered under these terms.",
        f"The {word} may be copied as often as anybody likes.",
        f"Each {word} may be offered under other terms.",
        f"No {word} is bound by what others have agreed to.",
    )
    assert named(*claims) == {}


def test_a_term_that_a_text_defines_in_quotation_marks_is_a_subject() -> None:
    claims = (
        "A “tide lock” is a gate that closes with the flood.",
        "The tide lock of a harbour is oiled in spring.",
        "No tide lock is opened by hand at night.",
        "Every tide lock has a bell and two lamps.",
    )
    assert list(named(*claims, questions=("What is a tide lock?",))) == ["tide lock"]


def test_an_everyday_word_that_texts_use_as_a_noun_is_no_name_though_a_manual_is_called_so() -> None:
    claims = (
        "When a lantern is full, each lantern is put back on its hook.",
        "The lantern blocks itself and the lanterns behind it.",
        "Every lantern has a number of its own on the base.",
        "The keeper counts the lanterns of the tower at night.",
    )
    title = "lantern(7): interface to the lamps of the tower"
    assert named(*claims, title=title, questions=("How is a lantern counted?",)) == {}


def test_where_a_name_comes_from_is_no_definition() -> None:
    claims = (
        "Kettleworth is the name of the gate to a castle in an old song.",
        "Kettleworth keeps the pages of the harbour office.",
        "In winter, Kettleworth is closed.",
    )
    assert named(*claims, questions=("What does Kettleworth keep?",)) == {}


def test_a_document_s_subject_that_a_question_asks_for_needs_a_sentence_that_begins_with_it() -> None:
    claims = (
        "The Harbour Tables Licence lets anybody copy the tables of the harbour.",
        "Whoever copies the tables must keep the names of their makers.",
        "Copies may be sold if the notice stays on the first page.",
        "Nobody may charge for the text of the terms alone.",
        "The terms end for whoever breaks one of them.",
    )
    asked = ("What must I keep under the Harbour Tables Licence?",)
    found = named(*claims, same_page=True, title="Harbour Tables Licence, Version 2", questions=asked)
    assert {name: (one.kind, len(one.statements)) for name, one in found.items()} == {"Harbour Tables Licence": ("name", 5)}
    assert named(*claims, same_page=True, title="Harbour Tables Licence, Version 2") == {}
    assert named(*claims[1:], same_page=True, title="Harbour Tables Licence, Version 2", questions=asked) == {}


def test_a_page_s_name_is_that_of_its_section_name() -> None:
    known = statements(
        *(f"Return a random number of {size} bytes as a text." for size in "abcdef"), same_page=True, title="pydoc-kettles"
    )
    core = known[0].model_copy(update={"fact": ""})
    said = {"NAME": "kettles", "DESCRIPTION": "Generate numbers for kettles that nobody can guess. They are fresh."}
    pages = [core.model_copy(update={"heading": name, "claim": text, "quote": text}) for name, text in said.items()]
    (found,) = named_entities(known, (), pages)
    assert (found.name, found.passages[0].text) == ("kettles", said["DESCRIPTION"])
    assert found.passages[0].defines


def test_a_manual_of_a_phrase_is_about_the_phrase() -> None:
    claims = (
        "Harbour spaces isolate the numbers of the ships from each other.",
        "A harbour space can hold another harbour space.",
        "When a harbour space is made, its owner is written down.",
    )
    title = "harbour_spaces(7): overview of harbour spaces"
    found = named(*claims, same_page=True, title=title, questions=("How do harbour spaces help a clerk?",))
    assert [(one.name, "harbour_spaces" in one.aliases) for one in found.values()] == [("harbour spaces", True)]


def test_a_form_of_an_everyday_german_noun_is_no_rare_word() -> None:
    assert [is_rare(word) for word in ("Wintern", "Kindern", "Kranichmühle")] == [False, False, True]


def test_an_adjective_of_a_place_and_the_place_are_two_things() -> None:
    claims = (
        "Der Orrenburger Markt ist ein Wochenmarkt mit vierzig Ständen. Er beginnt um sieben Uhr.",
        "Auf dem Orrenburger Markt verkaufen zwanzig Bauern aus der Gegend ihre Ware.",
        "Orrenburg holte sein Wasser bis 1908 aus offenen Brunnen am Fluss.",
        "Der Weg von Orrenburg nach Steinfeld ist neun Kilometer lang.",
    )
    found = named(*claims, title="Der Orrenburger Markt", questions=("Welche Regeln gelten auf dem Orrenburger Markt?",))
    assert [(one.name, "Orrenburg" in one.aliases) for one in found.values()] == [("Orrenburger Markt", False)]


def test_a_german_company_that_a_document_is_about_is_a_name() -> None:
    claims = (
        "Die Lichtwerk Obertal eG ist eine Genossenschaft mit Sitz in Obertal.",
        "Die Lichtwerk Obertal eG wurde von 57 Mitgliedern gegründet.",
        "Ein Anteil kostet 250 Euro, und jedes Mitglied hat eine Stimme.",
    )
    asked = ("Welche Anlagen betreibt die Lichtwerk Obertal?",)
    found = named(*claims, same_page=True, title="Lichtwerk Obertal eG", questions=asked)
    assert {name: one.kind for name, one in found.items()} == {"Lichtwerk Obertal eG": "name"}


def test_a_phrase_of_a_question_counts_if_a_heading_holds_it_and_sentences_use_it_as_a_noun() -> None:
    claims = (
        "The list of astrolabe rings is long.",
        "The astrolabe rings in a case are lost.",
        "Astrolabe rings are made of brass.",
        "In a list, the astrolabe rings are marked by number.",
        "The astrolabe rings of a ship are kept dry.",
        "Astrolabe rings are rings for measuring the height of a star.",
    )
    asked = ("How are astrolabe rings made?",)
    title = "rings(8): make astrolabe rings"
    assert list(named(*claims, title=title, questions=asked)) == ["astrolabe rings"]
    everyday = tuple(claim.replace("strolabe rings", " good way") for claim in claims)
    assert named(*everyday, title="way(8): make a good way", questions=("How is a good way made?",)) == {}


def test_a_verb_of_a_question_makes_no_phrase() -> None:
    claims = ("Linked notes help people to write.", "Good notes help people who read them.", "Many notes help people at work.")
    assert named(*claims, title="Do notes help people", questions=("Do linked notes help people?",)) == {}


def test_a_german_term_is_defined_in_german_and_no_noun_counts_for_its_capital_alone() -> None:
    claims = (
        "Ein Leuchtfeuer ist ein Licht, das der Navigation dient, und es steht auf einem Turm.",
        "Unter einem Leuchtfeuer versteht man ein Licht, das man von der See aus sieht.",
        "Im Nebel hilft ein Leuchtfeuer wenig, denn man sieht es erst spät.",
        "Jedes Leuchtfeuer hat eine Kennung.",
    )
    assert list(named(*claims)) == ["Leuchtfeuer"]


def test_a_japanese_term_is_defined_in_japanese() -> None:
    claims = ("灯質とは、光の色と点滅の規則のことである。", "船員は灯質によって灯台を見分ける。", "灯質は海図に書かれている。")
    asked = ("灯質とは何ですか。",)
    assert {name: one.statements for name, one in named(*claims, questions=asked).items()} == {"灯質": ("f0", "f1", "f2")}


def test_the_longer_name_of_a_person_is_the_name() -> None:
    claims = (
        "Niklas Luhmann kept a box of notes.",
        "The box of Niklas Luhmann is in a museum.",
        "Niklas Luhmann had small slips of paper.",
        "In 1997, Niklas Luhmann was still at work.",
    )
    asked = ("Who was Niklas Luhmann?",)
    found = named(*claims, "Niklas Luhmann has said that notes are partners.", questions=asked)
    assert list(found) == ["Niklas Luhmann"]


def test_what_is_in_a_fifth_of_many_statements_is_the_topic_and_no_subject() -> None:
    claims = [f"A file system is a place for files of kind {number}." for number in range(60)]
    others = [f"The clock of the town hall shows the hour for house {number}." for number in range(60)]
    assert "file system" not in named(*claims, *others, questions=("What is a file system?",))


@given(st.lists(st.text(max_size=80), max_size=6), st.lists(st.text(max_size=30), max_size=2))
def test_whatever_statements_say_names_are_unique_and_shared(claims: list[str], questions: list[str]) -> None:
    found = named_entities(statements(*claims), questions)
    assert len({one.id for one in found}) == len(found)
    assert all(len(one.statements) > 1 for one in found)


def test_a_name_that_five_reports_share_needs_no_more_than_two_sentences_about_it() -> None:
    mentions = tuple(f"On day {number} the office of Kettleworth is closed." for number in range(5))
    known = statements(*mentions[:3], "Kettleworth keeps the pages of the office.", "In winter, Kettleworth is closed.")
    asked = ("Where is Kettleworth?",)
    assert named_entities(known, asked) == ()
    reports = {one.fact: (f"session-{number}",) for number, one in enumerate(known)}
    assert [one.name for one in named_entities(known, asked, reports=reports)] == ["Kettleworth"]
    assert named_entities(statements(*mentions), asked, reports=reports) == ()


def test_a_rare_german_noun_that_five_reports_and_two_sources_share_is_an_entity() -> None:
    mentions = (f"Im Jahr {number} floss Wasser an der Kranichmühle vorbei, und es war kalt." for number in range(1900, 1903))
    said = ("Die Kranichmühle mahlte bis 1954 Getreide.", "Seit 1998 beherbergt die Kranichmühle das Archiv.")
    known = statements(*mentions, *said)
    reports = {one.fact: (f"session-{number}",) for number, one in enumerate(known)}
    assert [one.name for one in named_entities(known, (), reports=reports)] == ["Kranichmühle"]
    few = {one.fact: (f"session-{number % 4}",) for number, one in enumerate(known)}
    assert named_entities(known, (), reports=few) == ()


def test_a_german_word_without_a_capital_is_no_noun_of_the_same_letters() -> None:
    said = ("Das Sieb hängt im Wasser und hält die Fasern.", "Ein Sieb kostet in der Werkstatt 40 Euro.")
    numbers = (f"In der Werkstatt arbeiten im Jahr {number} sieben Leute." for number in range(1900, 1905))
    known = statements(*said, *numbers)
    reports = {one.fact: (f"session-{number}",) for number, one in enumerate(known)}
    assert [one.name for one in named_entities(known, (), reports=reports) if one.name == "Sieb"] == []
