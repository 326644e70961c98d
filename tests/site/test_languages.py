"""Notes and pages speak the language of their question; text that is read from right to left is shown so."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.commanding import said

GERMAN = "Wie überlebt ein Protokoll einen Stromausfall?"
ARABIC = "كيف ينجو السجل من انقطاع التيار الكهربائي؟"
DOCUMENTS = {
    "log.md": "# Protokolle\n\nEin Protokoll überlebt einen Stromausfall, weil jeder Eintrag sofort geschrieben wird.\n",
    "ar.md": "# السجلات\n\nينجو السجل من انقطاع التيار الكهربائي لأن كل قيد يكتب على القرص قبل تأكيده.\n",
    "set.md": "# Settings\n\n## Zanzibar\n\nThe value is ten seconds by default and may be raised by the administrator.\n",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("languages")
    for path, text in DOCUMENTS.items():
        file = folder / "corpus" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    settings = "settings: {reasoner: extractive, search: [local]}\n"
    (folder / "queries.yaml").write_text(f"{settings}queries:\n- {GERMAN}\n- {ARABIC}\n- What is said about Zanzibar?\n")
    assert said(folder, "-q", "run").code == 0
    return folder


def _text(folder: Path, pattern: str) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.glob(pattern)))


def test_a_german_question_has_german_labels_and_dates_and_its_language_on_its_page(folder: Path) -> None:
    note = _text(folder, "vault/reports/*/wie-*.md")
    assert '\nlang: "de"\n' in note
    for words in (
        "Die Passagen, die am nächsten kommen. Kein Modell hat sie gelesen.",
        "## Quellenverzeichnis",
        "log.md in Ihren Dokumenten, 1 Zitat",
        "ohne Modell",
        "## Notizen",
    ):
        assert words in note
    assert "## Zitate" in _text(folder, "vault/sources/*/source-log*.md")
    page = _text(folder, "site/reports/*/wie-*.html")
    assert '<html lang="de">' in page
    assert ">Quellenverzeichnis</h2>" in page


def test_a_language_without_labels_has_english_ones_and_its_own_direction(folder: Path) -> None:
    page = _text(folder, "site/reports/*/كيف-*.html")
    assert '<html lang="ar">' in page
    assert '<div class="body" dir="rtl">' in page
    assert '<p dir="auto">' in page
    assert "References</h2>" in page
    assert '<html lang="en">' in _text(folder, "site/index.html")


def test_an_english_note_says_no_language(folder: Path) -> None:
    assert "\nlang:" not in _text(folder, "vault/reports/*/what-*.md")
