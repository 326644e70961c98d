"""PDF, DOCX and EPUB, where the programs for them are installed; and what is said where they are not."""

from __future__ import annotations

import io
import shutil
import zipfile
from pathlib import Path

import pypdfium2
import pytest

from pipeline.errors import SystemRefused, UsageError
from pipeline.vault.export import formats
from pipeline.vault.export.portable import Portable

DOCUMENT = Portable("Über 日本", "A sentence.[^1]\n\n| a | b |\n| --- | --- |\n| 1 | 2 |", ("“Quote” P.",))
needs_pandoc = pytest.mark.skipif(not shutil.which("pandoc"), reason="pandoc is not installed")
needs_browser = pytest.mark.skipif(not any(map(shutil.which, formats.BROWSERS)), reason="no Chromium is installed")


@needs_pandoc
def test_word_gets_real_footnotes_and_tables() -> None:
    with zipfile.ZipFile(io.BytesIO(formats.report_file(DOCUMENT, "docx", "2026-11-21"))) as made:
        assert "“Quote” P." in made.read("word/footnotes.xml").decode()
        body = made.read("word/document.xml").decode()
        assert "<w:tbl>" in body
        assert "Über 日本" in body


@needs_pandoc
def test_a_reader_of_books_gets_the_text() -> None:
    with zipfile.ZipFile(io.BytesIO(formats.report_file(DOCUMENT, "epub", "2026-11-21"))) as made:
        text = "".join(made.read(name).decode() for name in made.namelist() if name.endswith("xhtml"))
        assert "A sentence." in text


@needs_browser
def test_a_browser_prints_the_page() -> None:
    made = pypdfium2.PdfDocument(formats.report_file(DOCUMENT, "pdf", ""))
    assert "A sentence." in made[0].get_textpage().get_text_range()


def test_a_program_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(UsageError, match=r"DOCX needs pandoc, which is not installed") as error:
        formats.report_file(DOCUMENT, "docx", "")
    assert "apt-get install pandoc" in error.value.hint
    with pytest.raises(UsageError, match=r"PDF needs Chromium or Chrome"):
        formats.report_file(DOCUMENT, "pdf", "")


@pytest.mark.parametrize(
    ("does", "said"), [("echo no >&2; exit 3", "failed: no"), ("exit 0", "No such file"), ("exit 1", "exit code 1")]
)
def test_a_program_that_fails_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str) -> None:
    program = tmp_path / "pandoc"
    program.write_text(f"#!/bin/sh\ncat > /dev/null\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))
    with pytest.raises(SystemRefused, match=said):
        formats.report_file(DOCUMENT, "epub", "")
