"""A workspace may be in a folder of any name, and its folder of documents may hold anything."""

from __future__ import annotations

import gzip
import os
import resource
import socket
import subprocess
import sys
from pathlib import Path

from pipeline.ops.console_output import LOG_FILE
from tests.commanding import said, workspace_in
from tests.faults.test_irregular_files import COMMANDS

QUESTION = "  - {query: How deep is the harbour?, id: depth, mode: fast}\n"
NAMES = (
    "50%",
    "100%25 %s %d",
    "why?",
    "a#b",
    "two words",
    'it\'s "mine"',
    "Über-größe 研究",
    "{x} [y] $HOME",
    "file:x?mode=memory&a=b",
    "-dash;&|",
)


def test_every_command_works_in_folders_of_any_name(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path.joinpath(*NAMES, "w"), QUESTION)
    more = (("show", "depth"), ("log",), ("references", "--out", str(folder / "refs.json")), ("why", "depth", "metres"))
    for command in (("run",), *COMMANDS, *more):
        done = said(folder, *command)
        assert done.code == 0, (command, done)
    assert [path.name for path in tmp_path.iterdir()] == [NAMES[0]]
    assert not [path for path in Path.cwd().iterdir() if path.name.startswith("file:")]
    assert list((folder / "site" / "reports").rglob("*.html"))


def test_documents_of_any_kind_are_named_and_the_night_is_complete_in_little_memory(tmp_path: Path) -> None:
    folder = workspace_in(tmp_path / "w", QUESTION)
    corpus = folder / "corpus"
    os.mkfifo(corpus / "pipe.md")
    place = os.open(corpus, os.O_RDONLY)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(f"/proc/self/fd/{place}/socket.md")  # a socket's path must be short
    os.close(place)
    (corpus / "device.md").symlink_to("/dev/zero")
    with (corpus / "sparse.md").open("wb") as sparse:
        sparse.truncate(1 << 40)
    (corpus / "loop.md").symlink_to("loop.md")
    (corpus / "folder-loop").symlink_to(".")
    secret = tmp_path / "secret.md"
    secret.write_text("# Harbour secret\n\nThe harbour is 99 metres deep, which nobody may know.\n")
    (corpus / "outside.md").symlink_to(secret)
    (corpus / "unreadable.md").write_text("# Locked\n\nThe harbour is locked.\n")
    (corpus / "unreadable.md").chmod(0)
    odd = os.fsencode(corpus) + b"/" + "ö".encode() * 120 + b"\xff\n%s.md"
    Path(os.fsdecode(odd)).write_text("# Odd\n\nThe harbour has an odd name.\n")
    (corpus / "wide.html").write_text(f"<div {'a=1 ' * 50_000}>The harbour is wide.")
    (corpus / "binary.md").write_bytes(bytes(range(256)) * 4_000)
    (corpus / "bomb.md.gz").write_bytes(gzip.compress(bytes(300_000_000), 1))
    command = [sys.executable, "-m", "pipeline", "-C", str(folder), "run"]
    done = subprocess.run(
        command,
        cwd=Path(__file__).parents[2],
        capture_output=True,
        check=False,
        timeout=120,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000)),
    )
    err = done.stderr.decode()
    assert done.returncode == 0, err
    named = (folder / LOG_FILE).read_text("utf-8")
    assert f"more files; {LOG_FILE} lists them all" in err
    skipped = "pipe.md socket.md device.md sparse.md loop.md outside.md binary.md wide.html bomb.md.gz"
    assert [name for name in skipped.split() if f"skipped corpus/{name}: " not in named] == []
    notes = [path.read_text() for path in (folder / "vault" / "reports").rglob("*.md")]
    assert len(notes) == 1
    assert "12 metres deep" in notes[0] or "11 metres deep" in notes[0]
    assert "99 metres" not in notes[0]
    assert said(folder, "verify").code == 0
