"""References are read by a program that they are written for."""

from __future__ import annotations

from typing import Any

from citeproc import Citation, CitationItem, CitationStylesBibliography, CitationStylesStyle, formatter
from citeproc.source.json import CiteProcJSON
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.export import CitedQuote, CitedSource, references

WEB = CitedSource(
    "quill2024glass-1a2b", "https://a.example/glass?x=1&y=2", "Glass & time: 100% {slow}_flow", "Ada Quill; Reed, Bo",
    "2024-05-01", "2026-11-21T02:15:00.000Z", 0,
    (CitedQuote("f1", "It does not\nflow.", "Results"), CitedQuote("f2", "Never.", "")),
)  # fmt: skip
OWN = CitedSource("append2025handbook-80b2", "corpus:append-only.md", "Handbook", "", "", "2026-11-21T02:15:00.000Z", 0, ())
ANY = st.text(alphabet=st.characters(exclude_categories=("C", "Z"), include_characters=" "), min_size=1, max_size=30)
SOURCES = st.builds(
    CitedSource,
    key=st.from_regex(r"[a-z][a-z0-9]{1,8}-[0-9a-f]{4}", fullmatch=True),
    url=st.sampled_from([WEB.url, OWN.url]),
    title=ANY.map(str.strip).filter(bool),
    author=st.sampled_from(["", "Ada Quill", "Quill, Ada", "Ada; Bo", "World Health Organization"]),
    published=st.sampled_from(["", "2024", "2024-05", "2024-05-01", "May 2024"]),
    accessed=st.just(WEB.accessed),
    number=st.just(0),
    quotes=st.lists(st.builds(CitedQuote, fact=st.just("f"), text=ANY, heading=ANY), max_size=2).map(tuple),
)
MANY = st.lists(SOURCES, max_size=4, unique_by=lambda source: source.key)


def bibliography(items: list[dict[str, Any]]) -> list[str]:
    style = CitationStylesStyle("harvard-cite-them-right", validate=False)
    made = CitationStylesBibliography(style, CiteProcJSON(items), formatter.plain)
    for item in items:
        made.register(Citation([CitationItem(item["id"])]))
    return [str(entry) for entry in made.bibliography()]


def test_citeproc_prints_a_bibliography() -> None:
    items = references([WEB, OWN])
    printed = bibliography(items)
    assert any("Quill" in line and "2024" in line and "Glass" in line for line in printed)
    assert any("Handbook" in line for line in printed)
    assert items[0]["annote"] == "“It does not flow.” (Results)\n“Never.”"
    assert items[0]["author"] == [{"family": "Quill", "given": "Ada"}, {"family": "Reed", "given": "Bo"}]


@settings(deadline=None, max_examples=60)
@given(sources=MANY)
def test_whatever_a_page_calls_itself_all_items_are_read(sources: list[CitedSource]) -> None:
    items = references(sources)
    assert [item["id"] for item in items] == [source.key for source in sources]
    assert len(bibliography(items)) == len(items)
