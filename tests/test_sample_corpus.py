"""The sample documents of a fresh workspace, and the questions on them."""

from __future__ import annotations

from pathlib import Path

from pipeline.documents.extract import extract
from scripts.make_sample_pdf import TARGET, document

CORPUS = Path(__file__).parent.parent / "corpus"
DOCUMENTS = sorted(path for path in CORPUS.iterdir() if path.name != "README.md" and not path.name.startswith("."))


def test_the_script_makes_the_committed_pdf_byte_for_byte() -> None:
    assert TARGET.read_bytes() == document()


def test_there_are_documents_in_all_four_formats_each_with_a_title_of_its_own() -> None:
    assert {path.suffix for path in DOCUMENTS} == {".md", ".html", ".txt", ".pdf"}
    assert len({extract(path.read_bytes(), path=str(path)).title for path in DOCUMENTS}) == len(DOCUMENTS) >= 15
