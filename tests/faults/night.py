"""The command ``research run`` as cron would start it, in this process, over a workspace of two questions and two documents.

One question was answered the night before, and its reader has written into the note. The other is due.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import pytest

from pipeline.batch.due_queries import UP_TO_DATE
from pipeline.cli.main import main
from pipeline.domain.events import night_events as batch_events
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.stream_records import Record
from pipeline.domain.session import ResearchSession
from pipeline.engine import loop
from pipeline.errors import ExitCode
from pipeline.ops import citation_audit
from pipeline.ops.console_output import LOG_FILE
from pipeline.ops.unattended import last_run
from pipeline.research import performing
from pipeline.store.file_store import FileStore
from pipeline.store.verification import verify
from tests.fakes import batches

SECRET = "sk-or-v1-0123456789abcdef0123456789abcdef"  # noqa: S105 - nobody's
WORDS = "These words are my own: keep them.\n\n%% not a marker\n"
OWN_FILE = "my/thoughts.md"
LOGS = """# Append-only logs

An append-only log survives a power cut when each record is written and synced before it is acknowledged. A torn record at the
end is ignored at the next start. In an append-only log 3 percent of the records are lost when the log is not synced.
"""
WAL = """# Write-ahead logging

Write-ahead logging survives a power cut because the log is synced before the pages of data change. In an
append-only log 5 percent of the records are lost when the log is not synced.
"""
FIRST = "  - {query: What is lost when a log is not synced?, id: lost, mode: fast}\n"
SECOND = "  - {query: How does an append-only log survive a power cut?, id: logs, mode: fast}\n"


@dataclass
class Said:
    """What a command left: its exit code, what it printed, and the steps it performed, by session."""

    code: int
    out: str
    err: str
    performed: dict[str, list[str]] = field(default_factory=dict)


@dataclass
class Workspace:
    """A workspace, and all that its store ever acknowledged."""

    folder: Path
    acknowledged: dict[tuple[str, int], bytes] = field(default_factory=dict)

    @property
    def events(self) -> Path:
        return self.folder / "events"

    @property
    def store(self) -> FileStore:
        return FileStore(self.events)

    def research(self, *arguments: str) -> Said:
        """Run one command."""
        out, err, code = StringIO(), StringIO(), 0
        performed: dict[str, list[str]] = {}
        argv = ["research", "-C", str(self.folder), *arguments]
        with redirect_stdout(out), redirect_stderr(err), self._watched(performed), mock.patch("sys.argv", argv):
            try:
                main()
            except SystemExit as stop:
                code = int(stop.code or 0)
        return Said(code, out.getvalue(), err.getvalue(), performed)

    @contextmanager
    def _watched(self, performed: dict[str, list[str]]) -> Iterator[None]:
        append, perform = FileStore.append, performing.perform
        written: list[tuple[FileStore, str]] = []

        def noted(store: FileStore, session: str, records: Any, expected: int) -> int:
            written.append((store, session))
            version = append(store, session, records, expected)
            self.acknowledged |= {(session, record.version): record.data for record in records}
            return version

        async def watched(step: Any, state: Any, step_context: Any) -> Any:
            performed.setdefault(state.id, []).append(step.key)
            return await perform(step, state, step_context)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(FileStore, "append", noted)
            patch.setattr(loop, "perform", watched)
            yield
        for store, session in written:  # what the system does when a process ends: its locks are free
            store.release(session)

    def recorded(self) -> dict[str, set[str]]:
        """Return by session the steps whose answers are in the log."""
        return {name: {key for record in self.store.load(name) if (key := _step(record))} for name in self.store.ids("session")}

    def copy(self, folder: Path) -> Workspace:
        shutil.copytree(self.folder, folder, symlinks=True)
        return Workspace(folder, dict(self.acknowledged))

    def tree(self, *parts: str) -> dict[str, bytes]:
        """Return the bytes of every file in some of the workspace's folders."""
        found = (path for part in parts for path in sorted((self.folder / part).rglob("*")))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found if path.is_file()}


def _step(record: Record) -> str:
    return "" if record.type == "step.failed" else str(json.loads(record.data).get("step", ""))


def workspace(folder: Path) -> Workspace:
    """Lay out the workspace as it is on the evening before."""
    (folder / "corpus").mkdir(parents=True)
    (folder / "corpus" / "logs.md").write_text(LOGS)
    (folder / "corpus" / "wal.md").write_text(WAL)
    (folder / ".env").write_text(f"OPENROUTER_API_KEY={SECRET}\n")
    (folder / ".env").chmod(0o600)
    (folder / "queries.yaml").write_text("settings: {reasoner: extractive, search: [local]}\nqueries:\n" + FIRST)
    made = Workspace(folder)
    said = made.research("run")
    assert said.code == 0, said
    note = next((folder / "vault" / "reports").rglob("*.md"))
    head, marker, rest = note.read_text().partition("%% begin notes %%\n")
    assert marker, "the report has a place for its reader's words"
    note.write_text(head + marker + WORDS + rest)
    own = folder / "vault" / OWN_FILE
    own.parent.mkdir(exist_ok=True)
    own.write_text(WORDS)
    (folder / "queries.yaml").write_text("settings: {reasoner: extractive, search: [local]}\nqueries:\n" + FIRST + SECOND)
    return made


def broken(space: Workspace, said: Said, known: dict[str, set[str]]) -> list[str]:
    """Return what is wrong after a night, whatever happened in it; ``known`` are the steps recorded before."""
    wrong = _lost(space)
    wrong += [str(finding) for finding in verify(space.events) if finding.kind != "torn"]
    wrong += [f"again: {key}" for name, keys in said.performed.items() for key in known.get(name, set()) & set(keys)]
    for name in space.store.ids("session"):
        state = ResearchSession.open(space.store, name).state
        wrong += [entry.why for entry in citation_audit.check(state, space.store).unsupported]
        wrong += [f"{name} is complete without evidence"] if state.status == "complete" and not state.report else []
    return [*wrong, *_words_gone(space), *_told(space, said), *_secrets(space, said)]


def disagreeing(space: Workspace, said: Said, failed: Sequence[str]) -> Iterator[str]:
    """Yield where exit code, ``last-run.json``, log file and stderr of a quiet night contradict each other, or the truth.

    ``failed`` are the files and folders at which an operation failed: of the two files the night could then say nothing there, or
    nothing more, because the file was in its place and only its folder was not synced.
    """
    bad = said.code not in {0, ExitCode.NOT_FOUND}
    last = last_run(space.folder)
    remembered = not any("last-run.json" in place or place.endswith(("/local/tmp", "/events/local")) for place in failed)
    if remembered and last.get("exit_code") != said.code:
        yield f"exit {said.code}, and last-run.json says {last}"
    log = (space.folder / LOG_FILE).read_text() if (space.folder / LOG_FILE).exists() else ""
    if not any(LOG_FILE in place for place in failed) and not log.rstrip().endswith(f"exit code {said.code}"):
        yield f"exit {said.code}, and the log file ends in {log[-200:]}"
    if bad != bool(said.err.strip()):
        yield f"exit {said.code}, and on stderr stands {said.err!r}"
    with TemporaryDirectory() as beside:  # in its own place, because notes name the folder of documents
        kept = space.copy(Path(beside) / "kept").folder
        missed = _missed(space)
        shutil.rmtree(space.folder)
        shutil.copytree(kept, space.folder, symlinks=True)
    if missed and not bad:
        yield f"exit 0, and not made: {missed}"
    if remembered and not missed and any(last.get(part, UP_TO_DATE) != UP_TO_DATE for part in ("vault", "site")):
        yield f"all is made, and last-run.json says {last}"


def _missed(space: Workspace) -> list[str]:
    """What a build has to make after the night."""
    said = space.research("--json", "build")
    report = json.loads(said.out)
    return [*report.get("written", [said.err]), *report.get("removed", []), *report.get("site", {}).get("written", [])]


def _lost(space: Workspace) -> list[str]:
    names = {name for name, _ in space.acknowledged}
    stored = {(name, record.version): record.data for name in names for record in space.store.load(name)}
    return [
        f"lost: {name} {version}" for (name, version), data in space.acknowledged.items() if stored.get((name, version)) != data
    ]


def _words_gone(space: Workspace) -> Iterator[str]:
    vault = space.folder / "vault"
    notes = [path.read_text() for path in vault.rglob("*.md") if path.is_file()]
    if not any(WORDS in text for text in notes if "kind:" in text):
        yield "a reader's words are gone from the notes"
    if (vault / OWN_FILE).read_text() != WORDS:
        yield "a reader's own file was changed"


def _told(space: Workspace, said: Said) -> Iterator[str]:
    if "Traceback" in said.err or "Traceback" in said.out:
        yield f"a traceback was printed: {said.err[-2000:]}"
    if said.code and not said.err.strip() and not said.out.strip():
        yield f"exit {said.code}, and not a word"
    ends = sorted((end for name in batches(space.store) if (end := _end(space, name))), key=lambda end: end.at)
    if said.code == 0 and said.performed and (not ends or ends[-1].exit_code != 0):
        yield "exit 0, and the night's log says otherwise"


def _end(space: Workspace, batch: str) -> batch_events.BatchEnded | None:
    events = list(decode_all(record.data for record in space.store.load(batch)))
    return events[-1] if events and isinstance(events[-1], batch_events.BatchEnded) else None


def _secrets(space: Workspace, said: Said) -> Iterator[str]:
    if SECRET in said.out + said.err:
        yield "a key was printed"
    files = (path for path in space.folder.rglob("*") if path.is_file() and path.name != ".env")
    yield from (f"a key stands in {path}" for path in files if SECRET.encode() in path.read_bytes())
