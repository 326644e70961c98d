from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pipeline.search.vector_cache import VectorCache


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "local" / "embeddings.sqlite"


def test_vectors_are_kept_by_model_and_text(path: Path) -> None:
    VectorCache(path, "tiny").put({b"a": b"12", b"b": b"34"})
    again, other = VectorCache(path, "tiny"), VectorCache(path, "large")
    assert again.get([b"a", b"c"]) == {b"a": b"12"}
    assert again.known() == {b"a", b"b"}
    assert list(again.all()) == [(b"a", b"12"), (b"b", b"34")]
    assert other.known() == set()


def test_vectors_of_another_length_replace_those_of_the_same_model_alone(path: Path) -> None:
    VectorCache(path, "large").put({b"a": b"1234"})
    cache = VectorCache(path, "tiny")
    cache.put({b"a": b"12"})
    cache.put({b"b": b"123"})
    assert cache.known() == {b"b"}
    assert VectorCache(path, "large").known() == {b"a"}


def test_a_space_can_be_cleared(path: Path) -> None:
    cache = VectorCache(path, "tiny")
    cache.clear()
    cache.put({b"a": b"12"})
    cache.clear()
    assert cache.known() == set()


@pytest.mark.parametrize("content", [b"", b"this is no database", b"SQLite format 3\x00" + b"\xff" * 500])
def test_a_file_that_is_no_cache_is_replaced(path: Path, content: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(content)
    cache = VectorCache(path, "tiny")
    cache.put({b"a": b"12"})
    assert cache.known() == {b"a"}


def test_a_cache_of_another_version_is_emptied(path: Path) -> None:
    VectorCache(path, "tiny").put({b"a": b"12"})
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA user_version = 99")
    assert VectorCache(path, "tiny").known() == set()


def test_an_error_leaves_what_was_kept_before(path: Path) -> None:
    cache = VectorCache(path, "tiny")
    cache.put({b"a": b"12"})
    with pytest.raises(sqlite3.Error):
        cache.put({b"b": b"34", b"c": object()})  # type: ignore[dict-item]
    assert cache.known() == {b"a"}
