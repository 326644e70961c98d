"""What code notices in a sentence before a model judges it."""

from __future__ import annotations

import pytest

from pipeline.domain.research_values import Fact
from pipeline.research.writing import warning_of


def _warning(text: str) -> str:
    return warning_of(text, [Fact(id="f", claim="", quote="Copy the data directory.", url="corpus:a", digest="")], "")


@pytest.mark.parametrize(
    "text",
    [
        "Copy the directory. Otherwise save it. When done: Each part.",
        "**Dumps:** Then copy it and/or save it, e.g. at night.",
        "Copy it with the help of the Directory's data.",
        "Die Sicherung der Daten mit Hilfe des Programms liegt im Verzeichnis.",
    ],
)
def test_ordinary_words_with_a_capital_are_no_names(text: str) -> None:
    assert not _warning(text)


def test_names_and_code_that_no_quote_has_are_named() -> None:
    assert _warning("Copy it with `rsync` and the pg_dump of MoonBase.") == "no quote names rsync, pg_dump, MoonBase"
    assert _warning("Copy the whole directory with the help of Oracle.") == "no quote names Oracle"
    assert _warning("Run `copy <the new place> --into <shortly before>`.") == "no quote names --into"
    assert _warning("Where `copy < data`, run `rsync <from> > moon` where `data > copy`.") == "no quote names rsync, moon"


def test_a_name_that_the_quotes_have_by_its_initials_is_known() -> None:
    fact = Fact(id="a", claim="", quote="It fills in the forms of the US alone.", url="corpus:a.md", digest="")
    assert not warning_of(
        "The program fills in the tax forms of people who live and work in the United States.", [fact], "Which forms?"
    )
    assert warning_of(
        "The program fills in the tax forms of people who live and work in the United Kingdom.", [fact], "Which forms?"
    )


@pytest.mark.parametrize(
    ("sentence", "quote", "shown"),
    [
        ("It takes 200 milliseconds.", "The sleep is 200 ms.", ""),
        ("It was found after 118 of 1000 cuts.", "It was found after 118 of the 1,000 cuts.", ""),
        ("It was released in July 2010.", "It was released on 21 July 2010.", ""),
        ("Version 3.10 has 2 of them.", "Two of them came with version 3.10.", ""),
        ("Use 3.6 or a later one.", "Supported since 3.6 inclusive.", ""),
        ("Use port 587 with a password.", "Port 587 requires a password.", ""),
        ("Er nimmt 5 oder mehr.", "Er nimmt 5 Dateien.", ""),
        ("Die Sicherung dauert bei ihm 5 Tage.", "Die Sicherung dauert 5 Jahre.", "5 Tage"),
        ("It takes 200 seconds.", "The sleep is 200 ms.", "200 seconds"),
        ("Batches reach 71,000 records.", "A batch raised it to 7,100 records.", "71,000"),
        ("It was released on 22 July 2010.", "It was released on 21 July 2010.", "22"),
        ("Version 3.1 has it.", "It came with version 3.10.", "3.1"),
        ("The dye is E220.", "The dye is E202.", "220"),
    ],
)
def test_a_number_that_no_quote_has_or_has_with_another_unit_is_named(sentence: str, quote: str, shown: str) -> None:
    fact = Fact(id="a", claim="", quote=quote, url="corpus:a.md", digest="")
    assert warning_of(sentence, [fact], "") == (f"no quote gives {shown}" if shown else "")


def test_the_number_of_one_of_the_reports_own_steps_needs_no_quote() -> None:
    fact = Fact(id="a", claim="", quote="Begin again where the copy was made.", url="corpus:a.md", digest="")
    assert not warning_of("Begin again with step 3.", [fact], "", "2026-11-21 1 2 3")
    waiting = fact.model_copy(update={"quote": "Wait 3 days, then begin again where the copy was made."})
    assert warning_of("Begin again after 3 hours.", [waiting], "", "2026-11-21 1 2 3") == "no quote gives 3 hours"
    assert warning_of("Begin again with step 4.", [fact], "", "2026-11-21 1 2 3") == "no quote gives 4"
