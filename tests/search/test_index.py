"""The index file by itself: what goes in comes out, in an order that depends on the pages alone."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.ports import StoredPage
from pipeline.search.index import Index, IndexedFile, Scope, Source
from pipeline.text.cleaning import digest_of
from pipeline.text.passages import passages


@pytest.fixture
def index(tmp_path: Path) -> Iterator[Index]:
    opened = Index(tmp_path / "index.sqlite")
    yield opened
    opened.close()


def page_of(name: str, text: str) -> str:
    return f"# {name}\n\n{text}\n"


def put(index: Index, *pages: tuple[str, str]) -> Scope:
    """Put pages, given by name and text; return the scope of them."""
    texts = {digest_of(page_of(name, text).encode()): page_of(name, text) for name, text in pages}
    index.put_files((), texts)
    scope = Scope({digest: Source(f"corpus:{name}.md", name) for digest, (name, _) in zip(texts, pages, strict=True)})
    index.limit_to(scope)
    return scope


def file_of(name: str, text: str) -> tuple[IndexedFile, dict[str, str]]:
    page = page_of(name, text)
    digest = digest_of(page.encode())
    return IndexedFile(f"corpus:{name}.md", len(page), 1, "bytes", digest, title=name), {digest: page}


def found(index: Index, *stems: str, limit: int = 50) -> list[str]:
    return [candidate.source.url for candidate in index.candidates(stems, limit)]


def test_a_passage_comes_back_as_it_went_in(index: Index) -> None:
    rows = "\n".join(f"| name{number} | {'word ' * 40}|" for number in range(4))
    text = f"## Names {{#names}}\n\n| Name | Text |\n{rows}"
    put(index, ("table", text))
    by_text = {candidate.passage.text: candidate for candidate in index.candidates(["word"], 50)}
    there = passages(page_of("table", text))
    assert len(by_text) == len(there) > 1
    for one in there:
        assert by_text[one.text].passage == one


@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_candidates_does_not_depend_on_the_order_of_indexing(tmp_path: Path, seed: int) -> None:
    pages = [(f"{number}", "A checkpoint that is like any other.") for number in range(20)]
    orders: list[list[str]] = []
    for shuffled in (pages, random.Random(seed).sample(pages, len(pages))):
        index = Index(tmp_path / f"{len(orders)}.sqlite")
        for page in shuffled:
            put(index, page)
        put(index, *pages)
        orders.append(found(index, "checkpoint"))
        index.close()
    assert orders[0] == orders[1]
    assert len(orders[0]) == 20


def test_counts_tell_in_how_many_passages_a_stem_stands_headings_included(index: Index) -> None:
    put(index, ("pump", "## Valve\n\nA pump, a pump.\n\n## Seal\n\nA pump."), ("seal", "Nothing of note."))
    assert index.counts(["pump", "valv", "seal", "nowhere"]) == {"pump": 2, "valv": 1, "seal": 2}


def test_a_page_that_no_file_holds_and_no_session_read_goes_when_the_index_is_tidied(index: Index) -> None:
    before, texts = file_of("a", "before")
    index.put_files([before], texts)
    scope = put(index, ("read", "before, too"), ("unused", "before the others"))
    index.put_session("s", "mark", [StoredPage("corpus:read.md", "read", next(iter(scope.sources)), "s", "2026")])
    after, texts = file_of("a", "after")
    index.put_files([after], texts)
    index.tidy()
    whole = Scope({digest: Source(digest) for digest in (before.digest, after.digest, *scope.sources)})
    index.limit_to(whole)
    assert sorted(found(index, "befor", "after")) == sorted([after.digest, next(iter(scope.sources))])
    assert index.counts(["befor", "after"]) == {"befor": 1, "after": 1}


def test_a_batch_that_fails_leaves_everything_as_it_was(index: Index) -> None:
    scope = put(index, ("a", "before"))
    entry, texts = file_of("b", "new")
    with pytest.raises(sqlite3.Error):
        index.put_files([entry, entry._replace(size=None)], texts)  # type: ignore[arg-type]
    assert (index.files(), index.unindexed(texts)) == ({}, list(texts))
    index.limit_to(scope)
    assert found(index, "befor") == ["corpus:a.md"]


@pytest.mark.parametrize("stem", ["AND", "NEAR(a b)", "*", "heads:x", "日本", "a.b_c", "c++", "-"])
def test_any_stem_may_be_looked_for(index: Index, stem: str) -> None:
    put(index, ("a", "before"))
    assert found(index, stem) == []


def test_a_name_is_looked_for_in_texts_and_headings_of_the_scope_alone_in_whatever_case(index: Index) -> None:
    scope = put(index, ("a", "## The Colbert\n\nA pump of Grundfos."))
    other = put(index, ("b", "A valve of Danfoss."))
    assert [index.holds(name, scope) for name in ("grundfos", "the colbert", "Danfoss")] == [True, True, False]
    assert index.holds("danfoss", other)
