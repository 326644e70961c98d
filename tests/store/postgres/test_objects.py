"""Pages of a log in PostgreSQL that are kept in an object storage, which a folder stands for here."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

pytest.importorskip("psycopg")
pytest.importorskip("obstore")

from click.testing import CliRunner

from pipeline.cli.main import cli
from pipeline.errors import LogUnwritable, ObjectMissing
from pipeline.store.object_storage import Bucket
from pipeline.store.postgres import PostgresStore
from pipeline.store.verification import findings_in

PAGE, OLDER = b"# A page\n\nIt is long.\n", b"a page that was stored before"


def test_pages_are_kept_beside_the_database_and_older_ones_are_still_found(postgres_store_url: str, tmp_path: Path) -> None:
    plain = PostgresStore(postgres_store_url, tmp_path / "a")
    older = plain.objects.put(OLDER)
    store = PostgresStore(postgres_store_url, tmp_path / "b", objects_in=partial(Bucket, f"file://{tmp_path}/pages"))
    digest = store.objects.put(PAGE)
    assert store.objects.put(PAGE) == digest
    assert [path.name for path in (tmp_path / "pages").rglob("*.gz")] == [f"{digest}.gz"]
    assert (store.objects.get(digest), store.objects.get(older)) == (PAGE, OLDER)
    assert plain.objects.size(digest) == 0
    assert min(store.objects.size(digest), store.objects.size(older)) > 0
    assert list(store.objects.ids()) == sorted([digest, older])
    (tmp_path / "pages" / "objects" / digest[:2] / f"{digest}.gz").write_bytes(b"spoiled")
    assert [finding.kind for finding in findings_in(store)] == ["object"]
    store.objects.remove([digest, older, "0" * 64])
    with pytest.raises(ObjectMissing):
        store.objects.get(digest)
    with pytest.raises(ObjectMissing):
        plain.objects.get(older)


def test_a_storage_that_cannot_be_used_is_named(postgres_store_url: str, tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file")
    objects_in = partial(Bucket, f"file://{tmp_path}/pages")
    with pytest.raises(LogUnwritable, match="pages cannot be used"):
        PostgresStore(postgres_store_url, tmp_path, objects_in=objects_in).objects.put(PAGE)


def test_a_night_asks_verifies_and_copies_with_pages_in_an_object_storage(
    postgres_store_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def research(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["-C", str(tmp_path / "w"), *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    (tmp_path / "w" / "corpus").mkdir(parents=True)
    (tmp_path / "w" / "corpus" / "pumps.md").write_text("# Pumps\n\nA heat pump moves heat from a cold place to a warm one.\n")
    (tmp_path / "w" / "queries.yaml").write_text(
        f"settings: {{embeddings: off, store: '{postgres_store_url}', objects: 'file://{tmp_path}/pages'}}\n"
        "queries:\n  - What does a heat pump move?\n"
    )
    research("run")
    pages = {path.name: path.read_bytes() for path in (tmp_path / "pages").rglob("*.gz")}
    assert pages
    assert "moves heat" in research("ask", "What does a heat pump move?")
    research("verify")
    (tmp_path / "copy").mkdir()
    research("store", "copy", postgres_store_url, str(tmp_path / "copy"))
    assert {path.name: path.read_bytes() for path in (tmp_path / "copy" / "events" / "objects").rglob("*.gz")} == pages
