"""``build``, ``watch``, ``serve`` and ``templates update`` as they are called, also after a loss."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.config import workspace_starter
from pipeline.text.cleaning import digest_of
from tests.commanding import said

LONG_S = 40.0
QUEUE = "settings:\n  site_url: https://example.org/r\nqueries:\n  - Is it so?\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    workspace_starter.lay_out(folder)
    (folder / "queries.yaml").write_text(QUEUE)
    return folder


def command(workspace: Path, *arguments: str) -> list[str]:
    return [sys.executable, "-m", "pipeline", "-C", str(workspace), *arguments]


@contextmanager
def running(workspace: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A command that goes on until it is interrupted; what it says goes to ``said``."""
    with (workspace.parent / "said").open("w") as file:
        process = subprocess.Popen(command(workspace, *arguments), stdout=subprocess.PIPE, stderr=file, text=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(LONG_S)
            finally:
                process.kill()
    assert process.returncode == 0


def printed(workspace: Path) -> str:
    return (workspace.parent / "said").read_text()


def until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + LONG_S
    while not holds():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.05)


def save(template: Path, text: str) -> None:
    """Save as editors do: a new file that takes the old one's name."""
    beside = template.with_name(f".{template.name}.new")
    beside.write_text(text)
    beside.replace(template)


def test_build_makes_the_site_unless_told_not_to(workspace: Path) -> None:
    assert said(workspace, "build", "--no-site").code == 0
    assert not (workspace / "site").exists()
    made = json.loads(said(workspace, "--json", "build").out)
    assert "index.html" in made["site"]["written"]
    assert 'href="https://example.org/r/"' in (workspace / "site" / "index.html").read_text()
    assert json.loads(said(workspace, "--json", "build").out)["site"]["written"] == []


def test_watch_follows_templates_and_survives_a_broken_one(workspace: Path) -> None:
    note, template = workspace / "vault" / "Home.md", workspace / "templates" / "vault" / "home.md.j2"
    sound = template.read_text()
    with running(workspace, "watch"):
        until(lambda: "watching" in printed(workspace))
        save(template, sound + "\nOne more line.\n")
        until(lambda: "One more line." in note.read_text())
        until(lambda: "One more line." in (workspace / "site" / "index.html").read_text())
        save(template, sound + "{% broken %}")
        until(lambda: "home.md.j2, line" in printed(workspace))
        assert "One more line." in note.read_text()
        save(template, sound + "\nMended.\n")
        until(lambda: printed(workspace).count("of the site written") == 3)
        assert "Mended." in note.read_text()
        before = printed(workspace)
        time.sleep(1.5)
        assert printed(workspace) == before


@pytest.mark.parametrize("poll", [(), ("--poll",)])
def test_serve_shows_the_site_and_what_is_saved(workspace: Path, poll: tuple[str, ...]) -> None:
    style = workspace / "templates" / "site" / "assets" / "site.css"
    with running(workspace, "serve", "--port", "0", *poll) as process:
        assert process.stdout is not None
        address = process.stdout.readline().split()[-1]
        until(lambda: "watching" in printed(workspace))
        save(style, "/* changed */")
        until(lambda: b"/* changed */" in fetched(f"{address}assets/site.css"))
        assert "reload.js" in fetched(address).decode()


def fetched(address: str) -> bytes:
    with urllib.request.urlopen(address) as answer:  # noqa: S310 - this machine's own address
        data: bytes = answer.read()
        return data


def test_notes_name_the_readers_own_file_by_its_whole_path_only_where_they_do_not_travel(workspace: Path) -> None:
    (workspace / "corpus").mkdir(exist_ok=True)
    (workspace / "corpus" / "kites.md").write_text("# Kites\n\nA kite flies in strong winds.\n")
    (workspace / "queries.yaml").write_text("queries: [How does a kite fly in strong winds?]\n")
    assert said(workspace, "run").code == 0

    def links() -> int:
        return sum(path.read_text().count("file:///") for path in (workspace / "vault").rglob("*.md"))

    assert links() > 0
    other_name = workspace.with_name("by-another-name")
    other_name.symlink_to(workspace)
    assert said(other_name, "build", "--check").code == 0, "the links are the same, however the workspace is reached"
    (workspace / ".git").mkdir()
    assert said(workspace, "build").code == 0
    assert links() == 0


# ---- after a loss ----


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
    workspace_starter.lay_out(folder)
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


# ---- templates update ----


def test_an_edited_template_is_listed_and_a_missing_one_copied(tmp_path: Path) -> None:
    assert said(tmp_path, "init").code == 0
    (tmp_path / "templates" / "vault" / "report.md.j2").write_text("mine\n")
    (tmp_path / "templates" / "site" / "list.html.j2").unlink()
    lines = said(tmp_path, "templates", "update").out.splitlines()
    assert lines[:3] == [
        "new: templates/site/list.html.j2",
        "edited, left as it is: templates/vault/report.md.j2",
        "1 template changed; next: research build",
    ]
    assert "--replace" in lines[3]
    assert json.loads(said(tmp_path, "--json", "templates", "update").out)["edited"] == ["vault/report.md.j2"]
    assert said(tmp_path, "templates", "update", "--replace").out.splitlines()[0] == (
        "replaced: templates/vault/report.md.j2 (yours is templates/replaced/vault/report.md.j2)"
    )


@pytest.mark.parametrize("edited", [False, True])
def test_a_build_replaces_templates_of_an_earlier_version_that_no_longer_fit_and_keeps_a_copy_of_an_edited_one(
    tmp_path: Path, edited: bool
) -> None:
    assert said(tmp_path, "init").code == 0
    home, record = tmp_path / "templates" / "vault" / "home.md.j2", tmp_path / "templates" / ".shipped.json"
    now = home.read_bytes()
    home.write_text("# {{ what_is_no_longer_there }}\n")
    failed = said(tmp_path, "build")
    assert (failed.code, "home.md.j2, line 1" in failed.err) == (2, True)
    shipped = json.loads(record.read_text())
    record.write_text(json.dumps({**shipped, "vault/home.md.j2": "0" * 64 if edited else digest_of(home.read_bytes())}))
    assert said(tmp_path, "build").code == 0
    assert home.read_bytes() == now
    copies = [path.read_text() for path in (tmp_path / "templates" / "replaced").rglob("*.j2")]
    assert copies == ["# {{ what_is_no_longer_there }}\n"] * edited
    assert (tmp_path / "vault" / "Home.md").is_file()
