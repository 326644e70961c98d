"""What a fresh workspace begins with."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from pipeline.config import scaffold
from pipeline.config.settings import load_workspace
from pipeline.errors import SystemRefused, UsageError
from pipeline.wiring import workspace_adapters


def tree(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_fresh_workspace_is_valid_and_whole(tmp_path: Path) -> None:
    laid = scaffold.lay_out(tmp_path / "new" / "place")
    assert laid.kept == ()
    assert set(laid.created) == tree(tmp_path / "new" / "place").keys()
    workspace = load_workspace(tmp_path / "new" / "place")
    assert workspace.queue.queries
    assert any(workspace.corpus.iterdir())
    assert list((tmp_path / "new" / "place" / "templates" / "vault").glob("*.j2"))


def test_every_file_is_laid_out_as_it_is_in_the_starter(tmp_path: Path) -> None:
    scaffold.lay_out(tmp_path)
    made = tree(tmp_path)
    assert ".env" in made.pop(".gitignore").decode().splitlines()  # it is written, not copied
    assert "queries.yaml merge=union" in made.pop(".gitattributes").decode().splitlines()
    assert all(data == (scaffold.source() / name).read_bytes() for name, data in made.items())


def test_of_the_vault_only_the_settings_and_the_users_own_folder_are_laid_out(tmp_path: Path) -> None:
    laid = scaffold.lay_out(tmp_path)
    inside = {name.split("/")[1] for name in laid.created if name.startswith("vault/")}
    assert {".obsidian", "my", "AGENTS.md"} == inside
    assert not any(name.startswith("events/") for name in laid.created)


def test_what_stands_there_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "queries.yaml").write_text("queries: [mine]\n")
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "README.md").write_text("mine too")
    laid = scaffold.lay_out(tmp_path)
    assert set(laid.kept) == {"queries.yaml", "corpus/README.md"}
    assert (tmp_path / "queries.yaml").read_text() == "queries: [mine]\n"
    assert (tmp_path / "corpus" / "README.md").read_text() == "mine too"
    assert not set(laid.kept) & set(laid.created)


def test_a_link_that_leads_nowhere_is_not_written_through(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "queries.yaml").symlink_to(tmp_path / "elsewhere.yaml")
    laid = scaffold.lay_out(tmp_path / "work")
    assert "queries.yaml" in laid.kept
    assert not (tmp_path / "elsewhere.yaml").exists()


def test_laying_out_twice_changes_nothing(tmp_path: Path) -> None:
    first = scaffold.lay_out(tmp_path)
    before = tree(tmp_path)
    again = scaffold.lay_out(tmp_path)
    assert (again.created, set(again.kept)) == ((), set(first.created))
    assert tree(tmp_path) == before


def test_a_file_is_no_folder_for_a_workspace(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="is a file, not a folder"):
        scaffold.lay_out(tmp_path / "file")


def test_a_file_in_the_way_of_a_folder_is_told_as_our_error(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("not a folder")
    with pytest.raises(SystemRefused, match="corpus cannot be written"):
        scaffold.lay_out(tmp_path)


def documents(folder: Path) -> str:
    return workspace_adapters.documents_in(load_workspace(folder))


def test_the_sample_documents_are_told_from_ones_own_by_name_and_bytes(tmp_path: Path) -> None:
    scaffold.lay_out(tmp_path)
    assert documents(tmp_path) == "samples"
    sample = min(path for path in (tmp_path / "corpus").rglob("*.md"))
    sample.rename(sample.with_name("renamed.md"))
    assert documents(tmp_path) == "own"
    sample.with_name("renamed.md").unlink()
    assert documents(tmp_path) == "samples"
    edited = min(path for path in (tmp_path / "corpus").rglob("*.md"))
    edited.write_bytes(edited.read_bytes()[:-1] + b"!")
    assert documents(tmp_path) == "own"


def test_a_folder_without_documents_or_no_folder_holds_none(tmp_path: Path) -> None:
    scaffold.lay_out(tmp_path)
    shutil.rmtree(tmp_path / "corpus")
    assert documents(tmp_path) == "none"
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "picture.png").write_bytes(b"1234")
    assert documents(tmp_path) == "none"


def test_settings_of_a_vault_that_could_not_be_restored_whole_are_restored_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    really = os.write

    def full(descriptor: int, data: bytes) -> int:
        if Path(f"/proc/self/fd/{descriptor}").readlink().name == "graph.json":
            raise OSError(28, "No space left on device")
        return really(descriptor, data)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(SystemRefused, match=r"graph\.json cannot be written"):
        scaffold.restore_vault(tmp_path)
    monkeypatch.undo()
    scaffold.restore_vault(tmp_path)
    assert (tmp_path / "vault" / ".obsidian" / "app.json").is_file()
    assert (tmp_path / "vault" / ".obsidian" / "graph.json").is_file()


GRAPH = "vault/.obsidian/graph.json"


def test_a_vault_without_a_filter_of_the_graph_gets_one(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    scaffold.restore_vault(tmp_path)
    assert "-tag:#research/worker" in (tmp_path / GRAPH).read_text()
    assert [path.name for path in (tmp_path / "vault" / ".obsidian").iterdir()] == ["graph.json"]


def test_a_filter_that_a_person_set_is_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "vault" / ".obsidian").mkdir(parents=True)
    (tmp_path / GRAPH).write_text('{"search": "mine"}')
    scaffold.restore_vault(tmp_path)
    assert (tmp_path / GRAPH).read_text() == '{"search": "mine"}'
