"""What reports cite, from the vault's catalogue."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.vault.export import cited_sources
from tests.vault.builders import PAGES, Workplace, a_store


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    made = Workplace(tmp_path, a_store())
    made.build()
    return made


def test_a_reports_sources_come_in_their_order_with_the_quotes_that_it_cites(place: Workplace) -> None:
    sources = cited_sources(place.state, "2026-11-21-power-cut-3f2a")
    assert [source.number for source in sources] == list(range(1, len(sources) + 1))
    assert {source.url for source in sources} <= {*PAGES}
    assert all(quote.text for source in sources for quote in source.quotes)


def test_a_key_is_an_alias_of_the_sources_note(place: Workplace) -> None:
    notes = "".join(file.read_text() for file in (place.vault / "sources").rglob("*.md"))
    assert all(f'  - "{source.key}"\n' in notes for source in cited_sources(place.state))


def test_sources_whose_keys_are_equal_are_told_apart(place: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.vault.export.key_of", lambda _readings: "same-0000")
    sources = cited_sources(place.state)
    assert len({source.key for source in sources}) == len(sources) > 1
    assert all(source.key.startswith("same-") for source in sources)
