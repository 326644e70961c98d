"""Which sources are the reader's own documents, and which are of the web, is said in report, source and disagreement."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Story, Workplace

WEB_ONLY = (PAGES[0], "https://own.example/crash", PAGES[2])


def built(root: Path, pages: tuple[str, ...] = PAGES) -> dict[str, str]:
    """Return the text of each note, by its path."""
    store = MemoryStore()
    Story(store, pages=pages).whole()
    place = Workplace(root, store)
    place.build()
    return {name: data.decode() for name, data in place.files().items() if name.endswith(".md")}


def report_of(notes: dict[str, str]) -> str:
    (text,) = (text for name, text in notes.items() if name.startswith("reports/"))
    return text


def test_a_report_says_of_each_source_whose_it_is(tmp_path: Path) -> None:
    report = report_of(built(tmp_path))
    references = report.partition("## References")[2]
    assert re.findall(r"^\d\. .*: (.*), \d quotes?$", references, re.MULTILINE) == [
        "logs.example on the web",
        "crash-safety.md in your documents",
        "disks.example on the web",
    ]


def test_where_ones_own_documents_differ_from_the_web_ones_own_stand_first(tmp_path: Path) -> None:
    conflict = report_of(built(tmp_path)).partition("[!conflict]")[2].partition("\n\n")[0]
    assert re.search(r"> \| Your documents: \[\[.*crash-safety.* \| The web: \[\[.*disks.* \|", conflict)
    assert re.search(r"> \| “After fsync has returned, .*” .* \| “One drive in nine .*” .*\|", conflict)


def test_a_source_note_says_whose_it_is(tmp_path: Path) -> None:
    notes = {name: text for name, text in built(tmp_path).items() if name.startswith("sources/")}
    own = [text for text in notes.values() if 'origin: "own"' in text]
    web = [text for text in notes.values() if 'origin: "web"' in text]
    assert (len(own), len(web)) == (1, 2)
    assert "crash-safety.md in your documents · by" in own[0]
    assert all("· the web · by" in text for text in web)
