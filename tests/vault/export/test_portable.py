"""A report's note as a document that needs no vault."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.vault.export import CitedQuote, CitedSource, Portable, page, portable
from pipeline.vault.note import block_id

SOURCE = CitedSource(
    "k-1",
    "https://a.example/p",
    "A page",
    "",
    "",
    "2026-11-21T02:15:00.000Z",
    1,
    (CitedQuote("ab12", "It is *so*.", "Part"),),
)
NOTES = {SOURCE.url: "sources/2026-11/s"}
CITED = f"[[sources/2026-11/s#^{block_id('ab12')}|¹]]"


def document(body: str) -> Portable:
    return portable("Title", body, [SOURCE], NOTES)


def test_a_citation_becomes_a_footnote_with_its_quote_and_address() -> None:
    made = document(f"# Title\n\nSaid.{CITED} Again.{CITED}")
    assert made.body == "Said.[^1] Again.[^1]"
    (note,) = made.notes
    assert note.startswith(r"“It is \*so\*.” A page, under “Part”. ")
    assert "https://a.example/p" in note
    assert made.markdown == f"# Title\n\nSaid.[^1] Again.[^1]\n\n[^1]: {note}\n"


def test_a_footnote_names_the_page_of_a_pdf() -> None:
    source = replace(SOURCE, quotes=(CitedQuote("ab12", "It is *so*.", "Part", 12),))
    (note,) = portable("Title", f"Said.{CITED}", [source], NOTES).notes
    assert "under “Part”, page 12. " in note


def test_a_quote_that_the_report_shows_itself_is_not_repeated() -> None:
    (note,) = document(f"> It is \\*so\\*.{CITED}").notes
    assert note.startswith("A page")


@pytest.mark.parametrize(
    ("body", "made"),
    [
        ("> [!abstract]- In short\n> So.", "> **In short**\n>\n> So."),
        ("See [[workers/w|the worker]] and [[r1]].", "See the worker and r1."),
        ("1. [[sources/2026-11/s|A page]]: a.example", "1. A page, [a.example/p](https://a.example/p): a.example"),
        ("3 sources · [[sessions/s|how]] · [[topics/t|logs]]", "3 sources · logs"),
        ("![[my/a.png|A picture]]\n\nx", "x"),
        ("a %% hidden %% b", "a  b"),
        ("x\n\n## Notes\n\n%% begin notes %%\nmine\n%% end notes %%", "x"),
        ("```\n[[kept]] %% as it is %%\n```", "```\n[[kept]] %% as it is %%\n```"),
        ("> ~~~\n> [[kept]]\n> ~~~\n> [[r|words]]", "> ~~~\n> [[kept]]\n> ~~~\n> words"),
        ("> x\n>\n> - [ ] useful\n> - [x] wrong, noted\n\ny", "> x\n\ny"),
        ("```\n- [ ] useful\n```\n\n- [ ] useful rules", "```\n- [ ] useful\n```\n\n- [ ] useful rules"),
        ("| a [[r\\|w]] |", "| a w |"),
    ],
)
def test_what_only_the_vault_knows_is_replaced_or_left_out(body: str, made: str) -> None:
    assert document(body).body == made


def test_a_page_loads_nothing_and_leads_from_citation_to_quote_and_back() -> None:
    made = document(f"Said.{CITED} <script>alert(1)</script> ![x](https://a.example/x.png) [^7]")
    html = page(made)
    assert '<sup><a href="#note-1" id="from-1" aria-label="Footnote 1">1</a></sup>' in html
    assert '<li id="note-1">' in html
    assert 'href="#from-1"' in html
    assert "<script" not in html
    assert "<img" not in html
    assert "[^7]" in html


@settings(deadline=None)
@given(st.text(alphabet="[]()|#^!%<>`~\\ ab¹\n-.*x", max_size=60))
def test_whatever_a_note_says_becomes_a_document_without_links_into_the_vault(body: str) -> None:
    made = document(f"{body}\n\n{CITED}")
    html = page(made)
    assert "<a" not in html or 'href="#' in html
    assert not re.search(r"<(?!/?(?:[a-z][a-z0-9]*)[ >/]|!doctype)", html)
    assert 'src="' not in html
    assert portable("Title", body, [], {}).notes == ()
