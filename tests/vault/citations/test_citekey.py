"""The key of a source: readable, stable, and taken by every program."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.vault.note import citekey

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
    assert citekey(*given_).rpartition("-")[0] == key


@given(url=TEXT, title=TEXT, author=TEXT, published=TEXT)
def test_every_program_takes_a_key(url: str, title: str, author: str, published: str) -> None:
    assert re.fullmatch(r"[a-z][a-z0-9]*-[0-9a-f]{4}", citekey(url, title, author, published))
