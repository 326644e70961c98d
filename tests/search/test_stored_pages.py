from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from pipeline.domain.events.session_events import PageRead
from pipeline.domain.events.upkeep_events import ResearchPruned
from pipeline.domain.research_values import Spent
from pipeline.domain.session import record_of
from pipeline.ports import FoundPassages, StoredPages
from pipeline.search.passage_search import PassageSearch
from pipeline.search.vectors import Meaning
from tests.embedding_server import serving
from tests.fakes import MemoryStore
from tests.talks import HARBOUR, LIGHTHOUSE, SESSION, read_pages

OTHER = "2026-11-22-other-0002"


@pytest.fixture
def store() -> MemoryStore:
    store = MemoryStore()
    read_pages(store)
    return store


def found(store: MemoryStore, folder: Path, question: str, *sessions: str) -> FoundPassages:
    pages: StoredPages = PassageSearch(folder / "stored.sqlite", store=store)
    return asyncio.run(pages.find(question, sessions or (SESSION,), 10))


def test_a_passage_is_found_with_its_page_its_session_and_its_place(store: MemoryStore, tmp_path: Path) -> None:
    result = found(store, tmp_path, "How deep is the harbour?")
    assert result.hits[0].url == "corpus:harbour.md#depth"
    assert result.pages[0].session == SESSION
    assert store.objects.get(result.pages[0].digest).decode() == HARBOUR
    assert result.searched == 2


def test_only_the_pages_of_the_scope_are_found_and_counted(store: MemoryStore, tmp_path: Path) -> None:
    read_pages(store, OTHER, {"corpus:mill.md": "# The mill\n\nThe mill has a harbour of its own, which is 3 metres deep.\n"})
    both = found(store, tmp_path, "How deep is the harbour?", SESSION, OTHER)
    one = found(store, tmp_path, "How deep is the harbour?", OTHER)
    assert {page.url for page in one.pages} == {"corpus:mill.md"}
    assert {page.url for page in both.pages} >= {"corpus:mill.md", "corpus:harbour.md"}
    assert (one.statistics.documents, both.statistics.documents) == (1, 3)
    assert one.statistics.counts["harbour"] == 1 < both.statistics.counts["harbour"]


def test_of_a_page_that_was_read_twice_the_latest_reading_is_searched(store: MemoryStore, tmp_path: Path) -> None:
    read_pages(store, OTHER, {"corpus:harbour.md": HARBOUR.replace("12 metres", "14 metres")})
    streams = store.streams[OTHER]
    store.streams[OTHER] = [record._replace(data=record.data.replace(b"2026-11-21T00", b"2026-11-22T00")) for record in streams]
    result = found(store, tmp_path, "How deep is the harbour?", SESSION, OTHER)
    assert "14 metres" in result.hits[0].snippet
    assert not any("12 metres" in hit.snippet for hit in result.hits)


def test_the_pages_that_a_pruned_session_keeps_are_searched(store: MemoryStore, tmp_path: Path) -> None:
    (read, *_) = [record for record in store.load(SESSION) if record.type == "page.read" and b"harbour.md" in record.data]
    said = json.loads(read.data)
    pages = (PageRead(**{name: said[name] for name in ("url", "title", "digest", "characters", "at")}),)
    pruned = ResearchPruned(counts={}, spent=Spent(), pages=pages)
    pruned = pruned.model_copy(update={"id": read.id, "session_id": SESSION, "version": 1, "at": pages[0].at, "run_id": "run"})
    store.streams[SESSION] = [record_of(pruned)]
    result = found(store, tmp_path, "How deep is the harbour?")
    assert result.hits[0].url == "corpus:harbour.md#depth"
    assert result.searched == 1


def test_what_a_session_reads_later_is_found(store: MemoryStore, tmp_path: Path) -> None:
    assert found(store, tmp_path, "How high is the tower?").searched == 2
    read_pages(store, SESSION, {"corpus:tower.md": "# The tower\n\nThe tower of Brindle is 40 metres high.\n"})
    assert "40 metres" in found(store, tmp_path, "How high is the tower?").hits[0].snippet


def test_a_stored_page_that_is_missing_is_left_out(store: MemoryStore, tmp_path: Path) -> None:
    store.objects.remove([digest for digest, data in store.objects.items() if data.decode() != LIGHTHOUSE])
    result = found(store, tmp_path, "How deep is the harbour of Brindle, and how far is the lamp seen?")
    assert {page.url for page in result.pages} == {"corpus:lighthouse.md"}


def test_stored_pages_are_found_by_meaning_within_the_scope_alone(store: MemoryStore, tmp_path: Path) -> None:
    read_pages(store, OTHER, {"corpus:mill.md": "# The mill\n\nThe pond of the mill lies two fathoms under its sluice.\n"})
    with serving() as stage:
        client = stage.client(price=1.0)
        meaning = Meaning(client)
        pages = PassageSearch(tmp_path / "stored.sqlite", store=store, meaning=meaning)
        both = asyncio.run(pages.find("How deep?", (SESSION, OTHER), 10))
        one = asyncio.run(pages.find("How deep?", (OTHER,), 10))
    assert {page.url for page in both.pages} >= {"corpus:mill.md", "corpus:harbour.md"}
    assert {page.url for page in one.pages} == {"corpus:mill.md"}
    assert both.cost.usd > one.cost.usd == 0  # its passages and the question are known by then
    assert found(store, tmp_path, "How deep?", OTHER).pages == ()
