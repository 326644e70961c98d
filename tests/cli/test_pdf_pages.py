"""A quote from a PDF is shown with its page: in the notes, on the site and in exported files, from the first run on."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.commanding import said
from tests.documents.pdfs import pdf

SHEETS = (
    [(20, 740, "The harbour of Elmsund"), (11, 700, "This booklet is about the harbour of Elmsund and its history.")],
    [(14, 740, "Depth"), (11, 700, "The harbour of Elmsund is 14 metres deep at low tide.")],
    [(14, 740, "Nights"), (11, 700, "Ships wait outside the harbour of Elmsund at night.")],
)
QUERIES = (
    "queries:\n  - {query: 'How deep is the harbour of Elmsund at low tide, and where do ships wait at night?', id: depth}\n"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pdf")
    (folder / "corpus").mkdir()
    (folder / "corpus" / "harbour.pdf").write_bytes(pdf(SHEETS, "/Title (The harbour of Elmsund)"))
    (folder / "queries.yaml").write_text(QUERIES)
    assert said(folder, "-q", "run").code == 0
    return folder


def around(text: str, words: str) -> str:
    """What follows these words, up to the next quote."""
    start = text.index(words)
    return text[start : start + 420]


@pytest.mark.parametrize(("quote", "sheet"), [("14 metres deep at low tide.", 2), ("Ships wait outside the harbour", 3)])
def test_a_reports_note_and_page_name_the_page_of_each_quote(folder: Path, quote: str, sheet: int) -> None:
    (note,) = (folder / "vault" / "reports").rglob("*.md")
    (page,) = (folder / "site" / "reports").rglob("*.html")
    assert f"page {sheet}]]" in around(note.read_text(), quote)
    body = page.read_text().partition("<body")[2]
    assert f"page {sheet}</a>" in around(body, quote)


def test_the_sources_note_and_page_name_it_above_each_quote(folder: Path) -> None:
    (note,) = (folder / "vault" / "sources").rglob("*.md")
    (page,) = (folder / "site" / "sources").rglob("*.html")
    for text in (note.read_text(), page.read_text()):
        assert re.search(r"Under “Depth”, page 2\b.*?14 metres deep", text, re.DOTALL)
        assert re.search(r"Under “Nights”, page 3\b.*?Ships wait outside", text, re.DOTALL)


def test_an_exported_report_names_it_beside_the_passage_and_in_the_footnote(folder: Path) -> None:
    exported = said(folder, "export", "depth", "--format", "markdown", "--out", "-").out
    assert re.search(r"14 metres deep at low tide\.\n>[^\n]*\n>[^\n]* › Depth › page 2\n", exported)
    assert re.search(r"(?m)^\[\^\d\]: The harbour of Elmsund, under “Depth”, page 2\. harbour\.pdf$", exported)
    page = said(folder, "export", "depth", "--format", "html", "--out", "-").out
    assert "page 2" in around(page.partition("<body")[2], "14 metres deep at low tide.")
