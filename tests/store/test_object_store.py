from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pipeline.errors import ObjectMissing
from pipeline.store.layout import Layout
from pipeline.store.objects import FileObjects
from tests.store.samples import files_in


@pytest.fixture
def files(tmp_path: Path) -> FileObjects:
    return FileObjects(Layout(tmp_path))


def place(root: Path, digest: str) -> Path:
    return root / "objects" / digest[:2] / f"{digest}.gz"


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=5_000))
def test_any_bytes_come_back(files: FileObjects, data: bytes) -> None:
    assert files.get(files.put(data)) == data


def test_an_object_is_a_gzip_file_named_by_its_digest(tmp_path: Path, files: FileObjects) -> None:
    digest = files.put(b"page " * 1000)
    assert gzip.decompress(place(tmp_path, digest).read_bytes()) == b"page " * 1000
    assert place(tmp_path, digest).stat().st_size < 200


def test_the_same_object_has_the_same_bytes_wherever_it_is_stored(tmp_path: Path) -> None:
    for name in ("a", "b"):
        FileObjects(Layout(tmp_path / name)).put(b"page")
    assert files_in(tmp_path / "a" / "objects") == files_in(tmp_path / "b" / "objects")


def test_storing_a_sound_object_again_writes_nothing(tmp_path: Path, files: FileObjects) -> None:
    digest = files.put(b"page")
    before = place(tmp_path, digest).stat()
    assert files.put(b"page") == digest
    after = place(tmp_path, digest).stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_altered_object_is_never_returned_and_storing_it_again_heals_it(tmp_path: Path, files: FileObjects) -> None:
    data = b"the quote stands on this page"
    digest = files.put(data)
    whole = place(tmp_path, digest).read_bytes()
    for damaged in [*(whole[:end] for end in range(len(whole))), gzip.compress(b"another page"), b"\0" * len(whole)]:
        place(tmp_path, digest).write_bytes(damaged)
        with pytest.raises(ObjectMissing, match=digest):
            files.get(digest)
    assert files.put(data) == digest
    assert files.get(digest) == data


def test_a_flipped_bit_never_gives_other_bytes(tmp_path: Path, files: FileObjects) -> None:
    data = b"the quote stands on this page"
    digest = files.put(data)
    whole = place(tmp_path, digest).read_bytes()
    refused = 0
    for position in range(len(whole) * 8):
        flipped = bytearray(whole)
        flipped[position // 8] ^= 1 << position % 8
        place(tmp_path, digest).write_bytes(flipped)
        try:
            assert files.get(digest) == data  # a bit of the gzip header that means nothing
        except ObjectMissing:
            refused += 1
    assert refused > len(data) * 8
