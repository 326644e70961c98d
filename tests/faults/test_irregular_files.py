"""Named pipes, sockets and links to devices where files are expected: no command waits for them, and the night is complete."""

from __future__ import annotations

import os
import shutil
import signal
import socket
from pathlib import Path

import pytest

from tests.commanding import Said, said, workspace_in
from tests.documents.pdfs import nested_forms
from tests.seeds import drawn

PATIENCE_S = 60
QUESTION = "  - {query: How deep is the harbour?, id: depth}\n"
COMMANDS = (
    *(("run", "depth", "--again"), ("build",), ("build", "--all"), ("list",), ("verify",), ("doctor",), ("export", "depth")),
    *(("templates", "update"), ("digest",), ("ask", "--all", "How deep is the harbour?"), ("merge", "--check"), ("prune",)),
)
ADDED = (
    *("corpus/pipe.md", "corpus/more/pipe.pdf", "vault/pipe.md", "vault/my/pipe.md", "vault/reports/2026/pipe.md"),
    *(
        "vault/attic/pipe.md",
        "vault/bases/pipe.base",
        "site/pipe.html",
        "templates/vault/pipe.md.j2",
        "templates/site/assets/pipe.js",
    ),
)
OWN = (
    *("vault/Home.md", "vault/my/Queue.md", "vault/AGENTS.md", "vault/.obsidian/app.json", "vault/.obsidian/graph.json"),
    *("vault/.obsidian/types.json", "vault/.obsidian/snippets/research.css", "vault/bases/reports.base", "site/index.html"),
    *("templates/.shipped.json", "events/local/last-run.json", "events/local/research.log"),
)
LOG = (
    *("events/sessions/{session}/events/000099-aaaaaaaaaaaaaaaa.jsonl", "events/batches/batch-2026-11-25t181017-eef9.jsonl"),
    *("events/vault/vault-2026-11-25t180929-a89c04.jsonl", "events/memory/memory-2026-11-25t180929-a89c04.jsonl"),
    *("events/prunes/prune-2026-11-25t180929-a89c.jsonl", f"events/objects/ab/{'ab' * 32}.gz"),
)


@pytest.fixture(scope="module")
def evening(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("evening") / "workspace"
    assert said(made.parent, "init", str(made)).code == 0
    (made / "queries.yaml").unlink()
    shutil.rmtree(made / "corpus")
    workspace_in(made, QUESTION)
    assert said(made, "run").code == 0
    return made


@pytest.fixture
def folder(evening: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(evening, tmp_path / "workspace", symlinks=True))


def put_pipe(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)


def called(folder: Path, *args: str) -> Said:
    """Give a command; fail if it takes longer than any does."""

    def give_up(*_: object) -> None:
        raise TimeoutError(" ".join(args))

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    try:
        return said(folder, *args)
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def test_pipes_sockets_and_devices_beside_documents_and_notes_delay_nothing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ADDED:
        put_pipe(folder / name)
    monkeypatch.chdir(folder)  # a socket's path must be short
    for name in ("corpus/socket.md", "vault/my/socket.md"):
        with socket.socket(socket.AF_UNIX) as one:
            one.bind(name)
    for name in ("corpus/device.md", "vault/my/device.md", "vault/device.md"):
        (folder / name).symlink_to("/dev/zero")
    for command in COMMANDS:
        done = called(folder, *command)
        assert done.code == 0 or (command == ("doctor",) and "templates/vault/pipe.md.j2" in done.out), (command, done)
    assert all((folder / name).is_fifo() for name in ADDED if not name.startswith("site/"))


@pytest.mark.parametrize("name", [name for (name,) in drawn(3, OWN)])
def test_a_pipe_in_place_of_a_file_of_the_program_delays_nothing(name: str, folder: Path) -> None:
    put_pipe(folder / name)
    for command in (("run", "depth", "--again"), ("build",), ("templates", "update")):
        done = called(folder, *command)
        assert done.code in (0, 1, 12), (command, done)
        assert done.code == 0 or Path(name).name in done.err
    assert called(folder, "list").code == 0


def test_a_pipe_in_the_log_is_named_and_delays_nothing(folder: Path) -> None:
    session = next((folder / "events" / "sessions").iterdir()).name
    for name in LOG:
        put_pipe(folder / name.format(session=session))
    for command in COMMANDS:
        called(folder, *command)
    done = called(folder, "verify")
    assert done.code != 0
    assert "no regular file" in done.out + done.err


def test_a_small_pdf_that_draws_without_end_is_skipped_by_name_and_the_rest_is_read(folder: Path) -> None:
    (folder / "corpus" / "laughs.pdf").write_bytes(nested_forms(9))
    done = called(folder, "run", "depth", "--again")
    assert done.code == 0, done
    assert "laughs.pdf: reading it takes too much computing time or memory" in done.err + called(folder, "doctor").out
    assert called(folder, "show", "depth").code == 0
