"""Names that one document is enough for: its subject, that of a section, and what a question calls so."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from pipeline.domain.memory.naming.named_entities import named_entities, with_known_ids
from pipeline.domain.memory.naming.own_documents import homes_of, names_in_title
from pipeline.domain.memory.values import NamedEntity, Statement, entity_id
from tests.domain.memory.naming.claims import statements


def of_one_page(*claims: str, title: str = "", heading: str = "") -> list[Statement]:
    return [one.model_copy(update={"heading": heading}) for one in statements(*claims, same_page=True, title=title)]


def names(known: Sequence[Statement], *questions: str) -> list[str]:
    return [one.name for one in named_entities(known, questions)]


KETTLER = (
    "Kettler can keep the pages of a small office.",
    "For larger offices, Kettler needs a second clerk.",
    "Kettler does not compete with a printing house.",
    "With two clerks, Kettler writes forty pages a day.",
    "Kettler is a press for small offices.",
)


def test_a_name_in_the_title_of_one_document_needs_no_second_source_if_a_question_asks_for_it() -> None:
    known = of_one_page(*KETTLER, title="When To Use Kettler")
    assert names(known, "When is Kettler better than a printing house?") == ["Kettler"]
    assert names(known, "When is a printing house open?") == []


def test_a_section_makes_a_term_that_is_asked_for_and_defined_in_it() -> None:
    known = of_one_page(
        'Moving the ships out of the basin is called a "seacheck".',
        "A seacheck ends when the last ship has left.",
        "By default, the seacheck is done at dawn by the same clerk.",
        title="Harbour rules",
        heading="2.1. Seachecks",
    )
    assert names(known, "How is a basin emptied and what is a seacheck?") == ["seacheck"]
    assert names(known, "How is a basin emptied?") == []


def test_a_german_noun_of_a_section_is_asked_for_by_a_compound_that_ends_with_it() -> None:
    known = of_one_page(
        "Ein Torfling ist ein kegelförmiger Haufen aus Torf, der luftdicht abgedeckt wird. Er schwelt sechs Tage.",
        "Den Torfling lässt der Torfmeister keine Nacht allein, denn eine Flamme verbrennt ihn in wenigen Stunden.",
        title="Die Arbeit im Moor",
        heading="Der Torfling",
    )
    assert names(known, "Wie funktioniert ein Moortorfling?") == ["Torfling"]


def test_an_everyday_noun_of_a_section_is_no_name() -> None:
    known = of_one_page(
        "Das Hochwasser von 1926 war das schwerste seit Beginn der Messungen. Der Pegel stieg auf fünf Meter.",
        "Nach dem Hochwasser baute die Stadt ein Becken, das vier Millionen Kubikmeter fasst.",
        title="Die Orre",
        heading="Hochwasser",
    )
    assert "Hochwasser" not in names(known, "Was geschah beim Hochwasser 1926?")


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("14.4. Introduction to Kettler", "Kettler"),
        ("Einführung in Kettler", "Kettler"),
        ("kettler faq", "kettler"),
        ("2.1. The Kettle Gates of Obertal", "Kettle Gates"),
        ("Repeated Kettle Isolation Level", "Repeated Kettle Isolation"),
        ("Kettler License, Version 2.0", "Kettler License"),
        ("kettler(1): keep the pages of an office", "kettler"),
    ],
)
def test_a_title_without_number_article_place_and_kind_is_a_name(title: str, name: str) -> None:
    assert name in names_in_title(title)


@pytest.mark.parametrize("title", ["Why does Kettler fail?", "A long question that is cut…", "Clerks and Keepers"])
def test_a_question_and_two_things_in_a_title_are_no_name(title: str) -> None:
    assert names_in_title(title) == ()


def test_a_program_in_lower_case_is_known_by_the_sentences_that_begin_with_it() -> None:
    known = of_one_page(
        "qip finds the pages that an office needs.",
        "qip reads their lists first.",
        "When qip finds two lists that differ, it starts again.",
        "By default, qip asks before it writes.",
        "qip ends when all pages are there.",
        title="How qip chooses pages",
    )
    assert names(known, "How does qip choose pages?") == ["qip"]


def test_a_thing_has_the_full_name_that_question_and_documents_use() -> None:
    known = statements(
        "Der Landtag gab das Geld, nachdem die Papiermühle Sonnental ein Drittel der Kosten übernommen hatte.",
        "Das Hammerwerk stellte 1904 um. Die Papiermühle heizte noch fünf Jahre länger mit Holz.",
        "Die Papiermühle Sonnental ist eine Fabrik für Papier. Köhler brannten die Kohle für sie.",
        "Seit 1951 macht die Papiermühle Sonnental auch Karton für Schachteln.",
        "Die Papiermühle liegt am Fluss und hat neunzig Arbeiter.",
    )
    (found,) = named_entities(known, ["Was ist die Papiermühle Sonnental?"])
    assert (found.name, found.aliases) == ("Papiermühle Sonnental", ("Papiermühle",))


def test_a_name_before_another_noun_is_not_what_the_sentence_is_about() -> None:
    known = statements(
        "The Kettler base package contains the lists of all clerks.",
        "The Kettler policy reserves the numbers of the first ten clerks.",
        "The Kettler archive is open on Mondays and on Fridays.",
        "The Kettler lists are copied by hand every year.",
    )
    assert names(known, "Which numbers are reserved on Kettler?") == []


def test_what_reports_quote_much_of_is_a_name_though_no_question_asks_for_it() -> None:
    said = (
        "Die Torferei war über vierhundert Jahre das wichtigste Gewerbe im Moor.",
        "Um 1780 rauchten im Moor mehr als neunzig Haufen von früh bis spät.",
        "Aus hundert Kilogramm Torf werden etwa zwanzig Kilogramm Kohle gewonnen.",
        "Seit 1985 pflegt ein Verein mit dreißig Leuten das alte Handwerk.",
        "Der letzte Meister löschte seinen Haufen im Herbst des Jahres 1938.",
        "Im Museum sind die Hütte der Familie und ihre Werkzeuge zu sehen.",
    )
    known = of_one_page(*said, title="Die Torferei in den Orrer Mooren")
    pages = [one.model_copy(update={"fact": ""}) for one in known]
    asked = ("Wie kam die Kohle ins Tal?",)
    assert [one.name for one in named_entities(known, asked, pages)] == ["Torferei"]
    uncited = [one.model_copy(update={"cited": False}) for one in known]
    assert named_entities(uncited, asked, pages) == ()


def test_a_program_s_note_opens_with_what_its_document_says_it_does() -> None:
    said = (
        "How to use qip tells the rest of it.",
        "The qip sources can be built without any change.",
        "Qip is the name of a giant in an old song of sailors.",
        "qip packs the pages of an office with a table of words.",
        "qip reads each page twice before it packs it.",
    )
    known = of_one_page(*said[3:], "The table needs about four pages for each shelf.", title="qip and libqip, version 1.0")
    pages = [one.model_copy(update={"fact": ""}) for one in of_one_page(*said, title="qip and libqip, version 1.0")]
    (found,) = named_entities(known, ["How much room does qip need?"], pages)
    assert (found.name, found.passages[0].text, found.passages[0].defines) == ("qip", said[3], True)
    assert len(found.statements) == 3  # all that a report cites of the manual is about it


def test_a_manual_s_description_says_more_than_its_title() -> None:
    title = "qip.page(5): Page unit settings"
    said = (
        "A page unit file holds the settings of one page of an office.",
        "Each qip.page file is read at dawn.",
        "When qip.page is empty, nothing is packed.",
        "By default, qip.page is kept in the first shelf.",
    )
    known = of_one_page(*said[1:], title=title, heading="OPTIONS")
    pages = [one.model_copy(update={"fact": ""}) for one in of_one_page(*said, title=title, heading="DESCRIPTION")]
    (found,) = named_entities(known, ["What does qip.page hold?"], pages)
    assert (found.passages[0].text, found.passages[0].defines) == (said[0], True)


def test_a_later_sentence_of_a_manuals_description_does_not_say_what_the_thing_is() -> None:
    title = "qipwake(8): open the page office at a given hour"
    said = (
        "A bell rings in the harbour at dawn.",
        "Wet cards may stop the page office for an hour, which qipwake does not like.",
    )
    known = of_one_page(
        "Each qipwake card is read at dawn.", "When qipwake has no card, it rings.", title=title, heading="OPTIONS"
    )
    pages = [one.model_copy(update={"fact": ""}) for one in of_one_page(*said, title=title, heading="DESCRIPTION")]
    found = named_entities(known, ["What does qipwake do?"], pages)
    assert [one.text for entity in found for one in entity.passages if one.defines] == []


@pytest.mark.parametrize("heading", ["LinuxKettles", "3.4. kettle_open()"])
def test_a_section_on_another_thing_is_not_about_the_name_of_its_document(heading: str) -> None:
    said = "The clerks do not share their keys with the others of the office."
    (own,) = of_one_page(said, title="kettles(7): harbour kettles", heading="DESCRIPTION")
    (other,) = of_one_page(said, title="kettles(7): harbour kettles", heading=heading)
    assert "kettl" in homes_of(own, said)
    assert "kettl" not in homes_of(other, said)


def test_a_document_that_asks_what_a_thing_is_is_about_it() -> None:
    assert names_in_title("4.1. What is a Harbour Gate? - The Book of Gates") == ("Harbour Gate",)
    assert names_in_title("Was ist die Orrebahn?") == ("Orrebahn",)
    assert names_in_title("How is a gate closed?") == ()


def test_a_licence_that_a_question_asks_for_needs_much_to_say() -> None:
    said = tuple(f"Whoever copies table {number} must keep the names of its {number} makers." for number in range(2, 12))
    asked = "What must I keep under the Harbour Tables Licence?"
    assert names(of_one_page(*said, title="Harbour Tables Licence, Version 2"), asked) == ["Harbour Tables Licence"]
    assert names(of_one_page(*said[1:], title="Harbour Tables Licence, Version 2"), asked) == []


def test_a_verb_that_a_section_is_called_is_no_name() -> None:
    known = of_one_page(
        "The press can serialize dates and lists of clerks.",
        "To avoid serializing a page, say so on the first line.",
        "Kettler can serialize keys of any kind with an option.",
        title="Kettler",
        heading="serialize",
    )
    assert "serialize" not in names(known, "How does Kettler serialize dates?")


def test_an_id_spells_out_what_a_slug_would_drop() -> None:
    assert [entity_id(name) for name in ("Flößer", "Kleinbahn Orre–Steinfeld")] == ["flosser", "kleinbahn-orre-steinfeld"]


def test_what_had_an_id_keeps_it_though_its_name_is_longer_now() -> None:
    before = NamedEntity(id="floer", name="Flößer", kind="term", statements=("f0",))
    renamed = NamedEntity(id="flosser-im-tal", name="Flößer im Tal", kind="name", aliases=("Flößer",), statements=("f0", "f1"))
    other = NamedEntity(id="tal", name="Tal", kind="term", statements=("f2",))
    assert [one.id for one in with_known_ids((renamed, other), (before,))] == ["floer", "tal"]
