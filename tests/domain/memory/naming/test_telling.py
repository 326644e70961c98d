"""What sources say of a name: whole sentences, with those that go on with them, and no mere mention."""

from __future__ import annotations

import pytest

from pipeline.domain.memory.naming.definitions import definitions
from pipeline.domain.memory.naming.telling import said_of
from tests.domain.memory.naming.claims import statements


def said(name: str, quote: str, title: str = "", heading: str = "") -> tuple[str, ...]:
    (one,) = statements(quote, title=title)
    return said_of((name,), [one.model_copy(update={"heading": heading})]).get(one.fact, ())


@pytest.mark.parametrize(
    ("quote", "run"),
    [
        ("Kettler keeps the pages. It has 412 shelves. The clerks are old.", "Kettler keeps the pages. It has 412 shelves."),
        (
            "Kettler keeps the pages. By day it is open to all. Clerks are old.",
            "Kettler keeps the pages. By day it is open to all.",
        ),
        (
            "Die Orrebahn ist eine Nebenbahn im Tal. Betrieben wird sie seit 2004 von der Stadt. Züge sind teuer.",
            "Die Orrebahn ist eine Nebenbahn im Tal. Betrieben wird sie seit 2004 von der Stadt.",
        ),
    ],
)
def test_sentences_that_refer_to_the_name_directly_after_one_with_it_are_quoted_with_it(quote: str, run: str) -> None:
    name = "Orrebahn" if "Orrebahn" in quote else "Kettler"
    padded = quote.replace("keeps the pages.", "keeps the pages of the office.")
    assert said(name, padded) == (run.replace("keeps the pages.", "keeps the pages of the office."),)


def test_all_of_a_paragraph_of_a_document_called_so_is_about_the_name() -> None:
    quote = "Die ersten Pläne legte Konrad Bechtle im Jahr 1881 vor. Am 14. Oktober 1893 wurde der untere Abschnitt eröffnet."
    assert said("Orrebahn", quote, title="Die Orrebahn") == (quote,)
    assert said("Orrebahn", quote, title="Das Tal und die Orrebahn im Winter") == ()


def test_in_a_section_called_so_a_sentence_must_name_it_and_others_may_go_on() -> None:
    named = "Ein Torfling ist ein Haufen aus Torf, den man abdeckt. In der Mitte steht ein Schacht aus drei Stangen."
    assert said("Torfling", named, title="Im Moor", heading="Der Torfling") == (named,)
    other = "Von der Stadt bis zum Moor fährt man heute mit dem Rad zwei Stunden."
    assert said("Torfling", other, title="Im Moor", heading="Der Torfling") == ()


def test_long_paragraphs_are_quoted_in_parts_and_no_sentence_twice() -> None:
    sentences = [
        f"Im Jahr {year} wurde die Strecke der Bahn um zwei Kilometer verlängert und neu vermessen." for year in range(1900, 1910)
    ]
    runs = said("Orrebahn", " ".join(sentences), title="Die Orrebahn")
    assert len(runs) > 1
    assert " ".join(runs) == " ".join(sentences)


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ('Beginning with version 3, a new "Kettle Log" option (hereafter referred to as "Kettle") is available.', "english"),
        ("Kettle is truly an international project: its clerks are on all continents.", "english"),
        ("Das Hochwasser vom 12. August 2002 war das schwerste seit Beginn der Messungen.", "german"),
    ],
)
def test_a_new_name_for_this_text_a_judgement_and_a_superlative_without_noun_define_nothing(text: str, language: str) -> None:
    assert definitions(text, language) == ()


def test_a_superlative_with_a_noun_defines() -> None:
    found = definitions("Das Klinikum Obertal ist das größte Krankenhaus im Tal.", "german")
    assert [one.name for one in found] == ["Klinikum Obertal"]


@pytest.mark.parametrize(
    "text",
    [
        "To prevent this, Kettler keeps a second copy of each page.",
        "By contrast with Kettel, these presses of Kettler are loud at night.",
        "For an overview of the Kettler presses, see the manual of the office.",
        "To see what Kettler does, let's copy a page of the office.",
        "In the next part, we’ll copy a page with Kettler and read it.",
        "EACCES: Kettler may not open the shelf of the office.",
        "Copyright (C) 2007 Kettler Foundation, everyone is permitted to copy the terms.",
        "Settings of Kettler and their points ┌───┬───┐ │Setting │ Point │ are here.",
    ],
)
def test_what_leans_on_another_sentence_and_entries_heads_and_tables_say_nothing(text: str) -> None:
    assert said("Kettler", text, title="Kettler") == ()
