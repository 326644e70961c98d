"""The index file by itself: what goes in comes out, in an order that depends on the documents alone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.adapters.search.local.passage_index import Index, IndexedFile, with_passages
from pipeline.text.ranking.passages import passages


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = Index(tmp_path / "index.sqlite", "here")
    yield opened
    opened.close()


def file(name: str, text: str, digest: str = "", language: str = "english") -> IndexedFile:
    page = page_of(name, text)
    return with_passages(IndexedFile(f"corpus:{name}.md", len(page), 1, digest or name, "", name, "2024-05-01", language), page)


def page_of(name: str, text: str) -> str:
    return f"# {name}\n\n{text}\n"


def found(index: Index, *stems: str, limit: int = 50) -> list[str]:
    return [candidate.url for candidate in index.candidates(stems, limit)]


def test_a_passage_comes_back_as_it_went_in(index: Index) -> None:
    rows = "\n".join(f"| name{number} | {'word ' * 40}|" for number in range(4))
    text = f"## Names {{#names}}\n\n| Name | Text |\n{rows}"
    index.replace([file("table", text)])
    by_text = {candidate.text: candidate for candidate in index.candidates(["word"], 50)}
    there = passages(page_of("table", text))
    assert len(by_text) == len(there) > 1
    for one in there:
        candidate = by_text[one.text]
        assert (candidate.path, candidate.anchor, candidate.title) == (one.path, one.anchor, "table")
        assert (candidate.ranked.text, candidate.published) == (one.body, "2024-05-01")


def test_files_with_the_same_bytes_come_once_the_first_by_address(index: Index) -> None:
    index.replace([file(name, "A checkpoint.", digest="same") for name in ("z", "a", "m")])
    assert found(index, "checkpoint") == ["corpus:a.md"]
    index.replace([], gone=["corpus:a.md"])
    assert found(index, "checkpoint") == ["corpus:m.md"]


def test_many_copies_leave_room_for_other_files(index: Index) -> None:
    index.replace([file(f"copy{number:02}", "A checkpoint.", digest="same") for number in range(20)])
    index.replace([file("own", "A checkpoint is made every five minutes, as long as nothing else was written.")])
    assert sorted(found(index, "checkpoint", limit=10)) == ["corpus:copy00.md", "corpus:own.md"]


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_candidates_does_not_depend_on_the_order_of_indexing(tmp_path: Path, seed: int) -> None:
    files = [file(f"{number}", "A checkpoint that is like any other.") for number in range(20)]
    orders: list[list[str]] = []
    for shuffled in (files, random.Random(seed).sample(files, len(files))):
        index = Index(tmp_path / f"{len(orders)}.sqlite", "here")
        for entry in shuffled:
            index.replace([entry])
        orders.append(found(index, "checkpoint"))
        index.close()
    assert orders[0] == orders[1]
    assert len(orders[0]) == 20


def test_counts_tell_in_how_many_passages_a_stem_stands_headings_included(index: Index) -> None:
    index.replace([file("pump", "## Valve\n\nA pump, a pump.\n\n## Seal\n\nA pump."), file("seal", "Nothing of note.")])
    assert index.counts(["pump", "valv", "seal", "nowhere"]) == {"pump": 2, "valv": 1, "seal": 2}


def test_lengths_and_languages_are_those_of_the_files_that_are_searched(index: Index) -> None:
    index.replace([file("a", "one two three"), file("b", "eins zwei", language="german"), file("c", "four five")])
    index.replace([IndexedFile("corpus:bad.pdf", 1, 1, "d", "it is damaged")])
    documents, count, body, heads = index.totals()
    assert (documents, count, index.count()) == (3, 3, 3)
    assert (round(body, 3), heads) == (2.333, 1.0)
    assert index.languages() == ("english", "german")


def test_an_empty_index_has_no_lengths_languages_counts_or_candidates(index: Index) -> None:
    assert index.totals() == (0, 0, 0.0, 0.0)
    assert (index.languages(), index.counts(["pump"]), found(index, "pump")) == ((), {}, [])


def test_what_is_replaced_or_gone_is_found_no_more(index: Index) -> None:
    index.replace([file("a", "before"), file("b", "before")])
    index.replace([file("a", "after")], gone=["corpus:b.md"])
    assert (found(index, "befor"), found(index, "after")) == ([], ["corpus:a.md"])
    assert index.count() == 1


def test_a_batch_that_fails_leaves_everything_as_it_was(index: Index) -> None:
    index.replace([file("a", "before")])
    with pytest.raises(sqlite3.Error):
        index.replace([file("a", "after"), file("b", "new"), file("b", "twice")])
    assert found(index, "befor") == ["corpus:a.md"]
    assert found(index, "new", "after") == []


@pytest.mark.parametrize("stem", ["AND", "NEAR(a b)", "*", "heads:x", "日本", "a.b_c", "c++", "-"])
def test_any_stem_may_be_looked_for(index: Index, stem: str) -> None:
    index.replace([file("a", "before")])
    assert found(index, stem) == []
