"""``build``, ``watch`` and ``serve`` as they are called."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline.config import workspace_files
from tests.commanding import said

LONG_S = 40.0
QUEUE = "settings:\n  site_url: https://example.org/r\nqueries:\n  - Is it so?\n"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    workspace_files.lay_out(folder)
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


def test_check_says_whether_the_vault_is_up_to_date_and_writes_nothing(workspace: Path) -> None:
    assert said(workspace, "build", "--check").code == 1
    assert not (workspace / "vault" / "Home.md").exists()
    said(workspace, "build")
    assert said(workspace, "build", "--check").code == 0


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
    (workspace / ".git").mkdir()
    assert said(workspace, "build").code == 0
    assert links() == 0
