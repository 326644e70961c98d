"""``build`` after a loss: a repaired log, a deleted vault, a disk that refuses."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pipeline.config import workspace_files
from tests.commanding import said, workspace_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A workspace after a run."""
    folder = workspace_in(tmp_path / "ws", "  - {query: How deep is the harbour?, id: harbour, mode: fast}\n")
    assert said(folder, "-q", "run").code == 0
    return folder


def test_an_untouched_note_is_not_set_aside_after_a_repair(folder: Path) -> None:
    segment = next((folder / "events" / "sessions").rglob("*.jsonl"))
    data = segment.read_bytes()
    last = data.splitlines(keepends=True)[-3]
    segment.write_bytes(data.replace(last, last.replace(b'"', b"'", 1)))
    assert said(folder, "verify", "--repair").code == 0
    built = said(folder, "build", "--all")
    assert built.code == 0
    assert "set aside" not in built.out
    assert not (folder / "vault" / "attic").exists()


def test_a_deleted_vault_gets_everything_that_a_fresh_one_has(tmp_path: Path) -> None:
    folder = tmp_path / "ws"
    workspace_files.lay_out(folder)
    fresh = settings_of(folder)
    shutil.rmtree(folder / "vault")
    assert said(folder, "build", "--check").code == 1
    assert not (folder / "vault").exists()
    assert said(folder, "build").code == 0
    assert settings_of(folder) == fresh
    (folder / "vault" / ".obsidian" / "app.json").unlink()
    assert said(folder, "build").code == 0
    assert not (folder / "vault" / ".obsidian" / "app.json").exists()  # its user removed it


def settings_of(folder: Path) -> dict[str, bytes]:
    """The files of ``.obsidian`` and ``my`` without the style sheet, which every build writes."""
    files = [path for part in (".obsidian", "my") for path in (folder / "vault" / part).rglob("*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files if path.suffix != ".css"}


def test_a_disk_that_refuses_vault_or_site_ends_a_command_with_12(folder: Path) -> None:
    (folder / "vault").rename(folder / "kept")
    (folder / "vault").touch()
    assert said(folder, "build").code == 12
    (folder / "vault").unlink()
    (folder / "kept").rename(folder / "vault")
    shutil.rmtree(folder / "site")
    (folder / "site").touch()
    told = said(folder, "build")
    assert told.code == 12
    assert "the site cannot be written" in told.err
