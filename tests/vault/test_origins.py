"""Which sources are the reader's own documents, and which are of the web, is said in report, source and disagreement."""

from __future__ import annotations

import re
from pathlib import Path

from tests.fakes import MemoryStore
from tests.vault.builders import PAGES, Story, Workplace


def test_report_disagreement_and_source_say_whose_a_source_is_and_ones_own_stands_first(tmp_path: Path) -> None:
    store = MemoryStore()
    Story(store, pages=PAGES).whole()
    place = Workplace(tmp_path, store)
    place.build()
    report = place.note("reports/").read_text()
    assert re.findall(r"^\d\. .*: (.*), \d quotes?$", report.partition("## References")[2], re.MULTILINE) == [
        "logs.example on the web",
        "crash-safety.md in your documents",
        "disks.example on the web",
    ]
    conflict = report.partition("[!conflict]")[2].partition("\n\n")[0]
    assert re.search(r"> \| Your documents: \[\[.*crash-safety.* \| The web: \[\[.*disks.* \|", conflict)
    assert re.search(r"> \| “After fsync has returned, .*” .* \| “One drive in nine .*” .*\|", conflict)
    sources = [path.read_text() for path in (place.vault / "sources").rglob("*.md")]
    assert sum('origin: "web"' in text and "· the web · by" in text for text in sources) == 2
    assert sum('origin: "own"' in text and "crash-safety.md in your documents · by" in text for text in sources) == 1
