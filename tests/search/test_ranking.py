"""A query put to a folder: hits, what the index knows of the words, the languages of the documents."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from pipeline.ports import SearchResult
from pipeline.search.passage_search import PassageSearch


def searched(docs: Path, query: str, limit: int = 10) -> SearchResult:
    return asyncio.run(PassageSearch(docs.parent / "index.sqlite", docs).search(query, limit))


def test_a_result_tells_how_many_documents_and_passages_there_are_and_how_often_the_words_stand(docs: Path) -> None:
    (docs / "a.md").write_text("# Pumps\n\n## One\n\nThe pump of the harbour is loud.\n\n## Two\n\nThe valve is not.\n")
    (docs / "b.md").write_text("# Ships\n\nThe ships of the harbour are waiting.\n")
    known = searched(docs, "Is the pump in the harbour made of porcelain?").statistics
    assert (known.documents, known.passages, known.language) == (2, 3, "english")
    assert (known.counts["pump"], known.counts["harbour"]) == (2, 2)  # the title is a heading of both passages
    assert "porcelain" not in known.counts
    assert known.body_stems > 0 < known.heading_stems


def test_stems_that_the_best_passages_share_are_counted_too(docs: Path) -> None:
    for number in range(3):
        (docs / f"{number}.md").write_text(f"# P {number}\n\nThe pump {number} has a gasket.\n")
    assert searched(docs, "pump").statistics.counts["gasket"] == 3


def test_a_document_in_another_language_is_found_by_the_stems_of_its_own(docs: Path) -> None:
    (docs / "de.md").write_text("# Protokolle\n\nDie Protokolle werden auf die Platte geschrieben und nicht verloren.\n")
    (docs / "en.md").write_text("# Logs\n\nThe logs are written to the disk and are not lost in it.\n")
    result = searched(docs, "Wie wird das Protokoll auf die Platten geschrieben?")
    assert result.hits[0].url == "corpus:de.md"
    assert (set(result.languages), result.statistics.language) == ({"english", "german"}, "german")


def test_a_query_in_a_language_of_no_document_is_read_as_the_documents_are(docs: Path) -> None:
    (docs / "en.md").write_text("# Logs\n\nThe logs are written to the disk and are not lost in it.\n")
    result = searched(docs, "Wie werden die Logs auf die Platte geschrieben?")
    assert (result.statistics.language, result.languages) == ("english", ("english",))


def test_a_hit_shows_what_its_passage_leans_on(docs: Path) -> None:
    rows = "\n".join(f"| name{number} | {'word ' * 40}|" for number in range(6))
    (docs / "t.md").write_text(f"# T\n\n| Name | Meaning |\n|---|---|\n{rows}\n")
    (hit, *_) = searched(docs, "name5").hits
    assert hit.snippet.startswith("| Name | Meaning |\n")
    assert "| name5 |" in hit.snippet


SCRIPT = """
import asyncio, pathlib, sys
from pipeline.search.passage_search import PassageSearch
folder = PassageSearch(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[1]))
print(asyncio.run(folder.search("checkpoint", 5)))
"""


def test_two_processes_find_the_same_statistics(docs: Path) -> None:
    for number in range(3):
        text = " ".join(f"stem{place}x" for place in range(600))
        (docs / f"{number}.md").write_text(
            f"# T {number}\n\n" + "".join(f"checkpoint {number} {text[at : at + 900]}\n\n" for at in range(0, len(text), 900))
        )
    outputs = set()
    for seed in ("1", "2"):
        command = [sys.executable, "-c", SCRIPT, str(docs), str(docs.parent / "index.sqlite")]
        outputs.add(subprocess.run(command, env={**os.environ, "PYTHONHASHSEED": seed}, check=True, capture_output=True).stdout)
    assert len(outputs) == 1
