"""The command line called from within a test, and small workspaces to call it on."""

from __future__ import annotations

import hashlib
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pipeline.cli import main


@dataclass(frozen=True)
class Said:
    code: int
    out: str
    err: str


def said(folder: Path, *args: str, lines: str = "") -> Said:
    """Call ``research -C folder args`` with these lines as its input; return its exit code and what it printed."""
    out, err = io.StringIO(), io.StringIO()
    code = 0
    replaced = mock.patch.multiple(sys, argv=["research", "-C", str(folder), *args], stdin=io.StringIO(lines))
    with replaced, redirect_stdout(out), redirect_stderr(err):
        try:
            main.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
    assert "Traceback" not in err.getvalue()
    return Said(code, out.getvalue(), err.getvalue())


def workspace_in(folder: Path, queries: str) -> Path:
    """Make a workspace with these entries of the queue and two documents about a harbour."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "queries.yaml").write_text(f"queries:\n{queries}")
    for number in (1, 2):
        text = f"The harbour is {10 + number} metres deep at low tide. Ships wait outside the harbour at night."
        (folder / "corpus" / f"harbour-{number}.md").write_text(f"# Harbour {number}\n\n{text}\n")
    return folder


def actions(folder: Path) -> dict[str, str]:
    """What a night would do with each question of the queue, by the question's id."""
    return {query["id"]: query["action"] for query in json.loads(said(folder, "--json", "list").out)["queries"]}


def last_run(folder: Path) -> dict[str, Any]:
    """What the workspace remembers of its last run."""
    found: dict[str, Any] = json.loads((folder / "events" / "local" / "last-run.json").read_text())
    return found


def everything(folder: Path) -> dict[str, tuple[int, str]]:
    """All files and folders with their times, and the digests of the files' bytes."""
    found = {}
    for path in sorted([folder, *folder.rglob("*")]):
        digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[path.relative_to(folder).as_posix()] = (path.stat().st_mtime_ns, digest)
    return found
