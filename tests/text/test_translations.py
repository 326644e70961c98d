"""Labels, counts and dates in six languages."""

from __future__ import annotations

import re

from pipeline.text import translations


def test_every_label_keeps_its_values_in_every_language() -> None:
    places = re.compile(r"\{\w+\}")
    for line in translations.TABLE.strip().split("\n"):
        cells = line.split(" | ")
        assert len(cells) == len(translations.LANGUAGES), line
        assert len({frozenset(places.findall(cell)) for cell in cells}) == 1, line


def test_counts_and_days_are_written_as_their_language_does() -> None:
    assert translations.count(1234, "fact") == "1,234 facts"
    assert translations.count(0, "page") == "no pages"
    assert translations.count(1234, "word", language="de") == "1.234 Wörter"
    assert translations.count(0, "page", language="fr") == "0 page"
    assert translations.count(3, "page", language="zh") == "3 页"
    for number, language, said in (
        (1, "es", "lectura de 1 página"),
        (0, "fr", "lecture de 0 page"),
        (2, "fr", "lecture de 2 pages"),
    ):
        pages = translations.count(number, "page", language=language)
        assert translations.label("{pages} read", language, pages=pages) == said
    assert translations.count(2, "claim", language="de") == "2 claims", "a noun that is not known"
    days = [translations.day("2026-11-21T02:15:00Z", language) for language in (*translations.LANGUAGES, "ko")]
    german, spanish = "21. November 2026", "21 de noviembre de 2026"
    chinese = japanese = "2026年11月21日"
    assert days == ["21 November 2026", german, "21 novembre 2026", spanish, chinese, japanese, "21 November 2026"]
