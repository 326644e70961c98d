"""``export`` as it is called, and its older name ``references``."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.commanding import said, workspace_in

QUESTION = "When is the harbour open?"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "w"
    workspace_in(folder, f"  - {{query: {QUESTION!r}, id: harbour, mode: fast}}\n")
    assert said(folder, "run").code in (0, 5)
    return folder


def test_a_report_becomes_a_file_under_its_own_name(workspace: Path) -> None:
    done = said(workspace, "export", "harbour")
    (made,) = (workspace / "exports").glob("*.html")
    assert (done.code, done.out.strip()) == (0, str(made))
    assert QUESTION in made.read_text()


def test_the_suffix_says_the_format_and_stdout_takes_it_too(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report.md"
    assert said(workspace, "export", "harbour", "--out", str(out)).code == 0
    assert Path(said(workspace, "export", "harbour", "--out", f"{tmp_path}/new/").out.strip()).parent == tmp_path / "new"
    printed = said(workspace, "export", "harbour", "--format", "markdown", "--out", "-")
    assert printed.out.strip() == out.read_text().strip()
    assert "[[" not in printed.out


FILES = ("main.py", "note.md", "queries.yaml", "photo.png", "report.html", "refs.bib")


@pytest.mark.parametrize("command", [("export", "harbour", "--format", "markdown"), ("export", "--format", "csl-json")])
def test_nothing_is_written_over_a_file_that_the_command_has_not_made(
    command: tuple[str, ...], workspace: Path, tmp_path: Path
) -> None:
    for name in FILES:
        (tmp_path / name).write_text(f"{name} of mine")
    (tmp_path / "empty.html").touch()
    (tmp_path / "link.md").symlink_to("note.md")
    (tmp_path / "nowhere.md").symlink_to("gone/away.md")
    os.mkfifo(tmp_path / "pipe.md")
    before = [(path, path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sorted(tmp_path.iterdir())]
    for name in (*FILES, "empty.html", "link.md", "nowhere.md", "pipe.md"):
        done = said(workspace, *command, "--out", str(tmp_path / name))
        assert (done.code, done.out) == (2, ""), name
        assert str(tmp_path / name) in done.err
    assert [(path, path.lstat().st_ino, path.lstat().st_mtime_ns) for path in sorted(tmp_path.iterdir())] == before


def test_an_export_replaces_its_own_file_until_somebody_changes_it(workspace: Path, tmp_path: Path) -> None:
    out = tmp_path / "mine.html"
    for _ in range(2):
        assert said(workspace, "export", "harbour", "--out", str(out)).code == 0
    assert said(workspace, "export", "harbour", "--format", "markdown", "--out", str(out)).code == 0
    out.write_text(out.read_text() + "a word of mine")
    assert said(workspace, "export", "harbour", "--out", str(out)).code == 2
    assert "a word of mine" in out.read_text()


def test_a_place_that_cannot_be_written_is_told(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = said(workspace, "export", "harbour", "--out", str(tmp_path / "file" / "x.html"))
    assert done.code == 12
    assert "cannot be written" in done.err


def test_references_come_on_stdout_or_in_a_file(workspace: Path, tmp_path: Path) -> None:
    items = json.loads(said(workspace, "export", "--format", "csl-json", "--out", "-").out)
    assert items
    assert json.loads(said(workspace, "references", "harbour").out) == items
    out = tmp_path / "all.json"
    assert said(workspace, "references", "--all", "--out", str(out)).code == 0
    assert json.loads(out.read_text()) == items


def test_a_session_without_a_report_is_told(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.cli.import_export_commands.report_of", lambda _folder: lambda _session: "")
    done = said(workspace, "export", "harbour")
    assert done.code == 1
    assert "has no report" in done.err
    assert "research show" in done.err
