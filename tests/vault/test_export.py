"""What leaves the vault: a report as a document, the sources that reports cite, and their keys."""

from __future__ import annotations

import io
import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pypdfium2
import pytest
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.domain.events.session_events import PageRead
from pipeline.domain.research_values import Fact
from pipeline.errors import SystemRefused, UsageError
from pipeline.text.cleaning import one_line
from pipeline.vault.note import block_id, citekey
from pipeline.vault.output.escaping import inert
from pipeline.vault.report_export import BROWSERS, CitedSource, cited_sources, converted, page, portable, references
from tests.vault.builders import Workplace

TEXT = st.text(max_size=30)


@pytest.mark.parametrize(
    ("given_", "key"),
    [
        (("https://www.postgresql.org/docs/vacuum.html", "Routine Vacuuming", "", ""), "postgresqlroutine"),
        (("https://ons.gov.uk/a", "The rents", "", "2024-05-01"), "ons2024rents"),
        (("https://a.example/p", "Of glass and time", "Ada Quill; Bo Reed", "12 May 1999"), "quill1999glass"),
        (("https://a.example/p", "Glas", "Åström, Eva", ""), "astromglas"),
        (("corpus:notes/append-only.md", "Handbook", "", "2025"), "append2025handbook"),
        (("https://例え.jp/", "日本語", "", ""), "xnr8jz45g"),
        (("corpus:日本.md", "日本語", "", ""), "s"),
        (("https://9to5.example/x", "Nine", "", ""), "s9to5nine"),
    ],
)
def test_a_key_names_who_when_and_what(given_: tuple[str, str, str, str], key: str) -> None:
    assert citekey(read(*given_)).rpartition("-")[0] == key


@given(url=TEXT, title=TEXT, author=TEXT, published=TEXT)
def test_every_program_takes_a_key(url: str, title: str, author: str, published: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*-[0-9a-f]{4}", citekey(read(url, title, author, published)))


def test_sources_whose_keys_are_equal_are_told_apart(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.vault.report_export.citekey", lambda page, tail=0: f"same-{page.url if tail else ''}")
    sources = cited_sources(place.state)
    assert len({source.key for source in sources}) == len(sources) > 1
    assert all(source.key.startswith("same-") for source in sources)


def quote(text: str, heading: str = "") -> Fact:
    return Fact(id="ab12", quote=text, claim="", heading=heading, url="https://a.example/p", digest="")


def read(url: str, title: str, author: str, published: str) -> PageRead:
    return PageRead(url=url, title=title, author=author, published=published, digest="", characters=1, at="2026-11-21T02:15:00Z")


GLASS = read("https://a.example/glass?x=1&y=2", "", "Ada Quill; Reed, Bo", "2024-05-01")
WEB = CitedSource("quill2024glass-1a2b", GLASS, "Glass & time: 100% {slow}_flow", 0, (quote("Never."),))


def bibliography(items: list[dict[str, Any]]) -> list[str]:
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    made = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    for item in items:
        made.register(Citation([CitationItem(item["id"])]))
    return [str(entry) for entry in made.bibliography()]


@given(title=TEXT, author=TEXT, published=st.one_of(TEXT, st.sampled_from(["2024", "2024-05", "May 2024"])))
@settings(deadline=None, max_examples=60)
def test_whatever_a_page_calls_itself_its_item_is_read(title: str, author: str, published: str) -> None:
    page = read(WEB.page.url, "", author, published)
    source = replace(WEB, title=title or "x", page=page, quotes=(quote(title, author),))
    items = references([source])
    assert len(bibliography(items)) == 1
    assert all(part == one_line(part, 500) for one in items[0].get("author", ()) for part in one.values())


CITED = f"[[sources/2026-11/s#^{block_id('ab12')}|¹]]"


@settings(deadline=None)
@given(st.text(alphabet="[]()|#^!%<>`~\\ ab¹\n-.*x", max_size=60))
def test_whatever_a_source_says_becomes_a_document_of_words(text: str) -> None:
    html = page("Title", portable(f"{inert(text)}\n\n{CITED}", [WEB], {WEB.page.url: "sources/2026-11/s"})[0], "de")
    assert '<html lang="de">' in html
    body = html.partition("<h1>")[2].partition('<div class="footnote')[0]
    assert set(re.findall(r"<([^/ >]+)", body)) <= {"p", "sup", "a"}
    assert body.count("<a") == 1
    assert portable(text, [], {})[1] == 0


DOCUMENT = "A sentence.[^1]\n\n| a | b |\n| --- | --- |\n| 1 | 2 |\n\n[^1]: “Quote” P.\n"


@pytest.mark.skipif(not shutil.which("pandoc"), reason="pandoc is not installed")
def test_word_gets_footnotes_and_tables_a_reader_of_books_the_text_and_latex_the_sources() -> None:
    with zipfile.ZipFile(io.BytesIO(converted(DOCUMENT.encode(), "docx", {"title": "Über 日本"}))) as made:
        assert "“Quote” P." in made.read("word/footnotes.xml").decode()
        body = made.read("word/document.xml").decode()
        assert "<w:tbl>" in body
        assert "Über 日本" in body
    with zipfile.ZipFile(io.BytesIO(converted(DOCUMENT.encode(), "epub", {"title": "Über 日本"}))) as made:
        assert "A sentence." in "".join(made.read(name).decode() for name in made.namelist() if name.endswith("xhtml"))
    assert "{quill2024glass-1a2b," in converted(json.dumps(references([WEB])).encode(), "bibtex", {}).decode()


@pytest.mark.skipif(not any(map(shutil.which, BROWSERS)), reason="no Chromium is installed")
def test_a_browser_prints_the_page() -> None:
    made = pypdfium2.PdfDocument(converted(page("Über 日本", DOCUMENT).encode(), "pdf", {}))
    assert "A sentence." in made[0].get_textpage().get_text_range()


def test_a_program_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _name: None)
    with pytest.raises(UsageError, match="docx needs pandoc, which is not installed") as error:
        converted(b"", "docx", {})
    assert "apt-get install pandoc" in error.value.hint
    with pytest.raises(UsageError, match="pdf needs Chromium or Chrome"):
        converted(b"", "pdf", {})


@pytest.mark.parametrize(
    ("does", "said"), [("echo no >&2; exit 3", "failed: no"), ("exit 0", "No such file"), ("exit 1", "exit code 1")]
)
def test_a_program_that_fails_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str) -> None:
    program = tmp_path / "pandoc"
    program.write_text(f"#!/bin/sh\n{does}\n")
    program.chmod(0o755)
    monkeypatch.setattr(shutil, "which", lambda _name: str(program))
    with pytest.raises(SystemRefused, match=said):
        converted(b"", "epub", {})
