"""Records for the stores' tests: canonical JSON that begins with its own envelope."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from pipeline.domain.events.stream_records import Record


def record(version: int, session: str = "s-1", run: str = "run-1", identity: str = "", note: object = "") -> Record:
    """Return one record; its id tells session and version unless given."""
    envelope = (
        identity or f"{session}.{version}",
        session,
        version,
        "worker.thought",
        f"2026-11-21T02:15:00.{version % 1000:03d}Z",
        run,
    )
    names = ("id", "session_id", "version", "type", "at", "run_id")
    fields = dict(zip(names, envelope, strict=True)) | {"note": note}
    return Record(*envelope, json.dumps(fields, ensure_ascii=False, separators=(",", ":")).encode())


def records(versions: Iterable[int], session: str = "s-1", run: str = "run-1", note: object = "") -> list[Record]:
    """Return one record for each version."""
    return [record(version, session, run, note=note) for version in versions]


def files_in(folder: Path) -> dict[str, bytes]:
    """Return every file below ``folder`` with its bytes."""
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
