"""Sources of the same title: links and their notes tell them apart by path or address."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Story, Workplace, afresh

ONE, OTHER = "corpus:a/notes.md", "corpus:b/notes.md"


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    store = MemoryStore()
    Story(store, pages=(PAGES[0], ONE, PAGES[2])).whole()
    found = Workplace(tmp_path / "one", store)
    found.build()
    return found


def notes_of(place: Workplace, folder: str) -> str:
    return "\n".join(data.decode() for name, data in sorted(place.files().items()) if name.startswith(folder))


def test_two_sources_of_one_title_are_told_apart_by_their_paths_in_older_notes_too(place: Workplace, tmp_path: Path) -> None:
    Story(place.store, id="2026-11-22-other-4a4a", query_id="other", date="2026-11-22", pages=(PAGES[0], OTHER, PAGES[2])).whole()
    place.build()
    sources, reports = notes_of(place, "sources/"), notes_of(place, "reports/")
    for where in ("a/notes.md", "b/notes.md"):
        assert f"# Title of notes.md ({where})\n" in sources
        assert f"Title of notes.md ({where})]]: " in reports
    assert place.files() == afresh(place, tmp_path / "again")
