"""References are read by the programs that they are written for."""

from __future__ import annotations

import json
from typing import Any

import bibtexparser
import pytest
import rispy
from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.export.references import FORMATS, CitedQuote, CitedSource, references

WEB = CitedSource(
    "quill2024glass-1a2b", "https://a.example/glass?x=1&y=2", "Glass & time: 100% {slow}_flow", "Ada Quill; Reed, Bo",
    "2024-05-01", "2026-11-21T02:15:00.000Z", "text/html", 0,
    (CitedQuote("f1", "It does not\nflow.", "Results"), CitedQuote("f2", "Never.", "")),
)  # fmt: skip
OWN = CitedSource(
    "append2025handbook-80b2", "corpus:append-only.md", "Handbook", "", "", "2026-11-21T02:15:00.000Z", "text/markdown", 0, ()
)
ANY = st.text(alphabet=st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=30)
SOURCES = st.builds(
    CitedSource,
    key=st.from_regex(r"[a-z][a-z0-9]{1,8}-[0-9a-f]{4}", fullmatch=True),
    url=st.sampled_from([WEB.url, OWN.url]),
    title=ANY.map(str.strip).filter(bool),
    author=st.sampled_from(["", "Ada Quill", "Quill, Ada", "Ada; Bo", "World Health Organization"]),
    published=st.sampled_from(["", "2024", "2024-05", "2024-05-01", "May 2024"]),
    accessed=st.just(WEB.accessed),
    media_type=st.just(""),
    number=st.just(0),
    quotes=st.lists(st.builds(CitedQuote, fact=st.just("f"), text=ANY, heading=ANY), max_size=2).map(tuple),
)
MANY = st.lists(SOURCES, max_size=4, unique_by=lambda source: source.key)


def in_bibtex(text: str) -> list[dict[str, str]]:
    parser = bibtexparser.bparser.BibTexParser(ignore_nonstandard_types=False)
    found: list[dict[str, str]] = bibtexparser.loads(text, parser=parser).entries
    return found


def bibliography(items: list[dict[str, Any]]) -> list[str]:
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    made = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    for item in items:
        made.register(Citation([CitationItem(item["id"])]))
    return [str(entry) for entry in made.bibliography()]


def test_citeproc_prints_a_bibliography() -> None:
    items = json.loads(references([WEB, OWN], "csl-json"))
    printed = bibliography(items)
    assert any("Quill" in line and "2024" in line and "Glass" in line for line in printed)
    assert any("Handbook" in line for line in printed)
    assert items[0]["annote"] == "“It does not flow.” (Results)\n“Never.”"
    assert items[0]["author"] == [{"family": "Quill", "given": "Ada"}, {"family": "Reed", "given": "Bo"}]


def test_bibtexparser_reads_what_was_written() -> None:
    web, own = in_bibtex(references([WEB, OWN], "bibtex"))
    assert (web["ENTRYTYPE"], web["ID"], web["url"], web["urldate"]) == ("online", WEB.key, WEB.url, "2026-11-21")
    assert web["author"] == "Ada Quill and Reed, Bo"
    assert web["title"] == r"{Glass \& time: 100\% \textbraceleft{}slow\textbraceright{}\_flow}"
    assert (own["ENTRYTYPE"], own["howpublished"]) == ("misc", "append-only.md")


def test_rispy_reads_what_was_written() -> None:
    web, own = rispy.loads(references([WEB, OWN], "ris"))
    assert (web["type_of_reference"], web["id"], web["title"]) == ("ELEC", WEB.key, WEB.title)
    assert web["authors"] == ["Ada Quill", "Reed, Bo"]
    assert web["notes"] == ["“It does not flow.” (Results)", "“Never.”"]
    assert own["type_of_reference"] == "GEN"


@settings(deadline=None, max_examples=60)
@given(sources=MANY)
def test_whatever_a_page_calls_itself_all_entries_are_read(sources: list[CitedSource]) -> None:
    keys = [source.key for source in sources]
    assert [item["id"] for item in json.loads(references(sources, "csl-json"))] == keys
    assert [entry["ID"] for entry in in_bibtex(references(sources, "bibtex"))] == keys
    assert [entry["id"] for entry in rispy.loads(references(sources, "ris"))] == keys


@pytest.mark.parametrize("form", FORMATS)
def test_without_sources_the_file_is_empty_and_valid(form: str) -> None:
    assert references([], form).strip() in ("", "[]")
