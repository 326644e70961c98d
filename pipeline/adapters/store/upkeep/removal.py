"""What is removed from the log for good: streams, objects, and single records. Every removal is durable on return."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.adapters.store.layout import Layout
from pipeline.adapters.store.record_chain import join, refuse_damage
from pipeline.adapters.store.segment_format import ZEROS, envelope_of, seal
from pipeline.adapters.store.stream_reader import read_segments
from pipeline.domain.events.records import Record, kind_of
from pipeline.errors import LogUnwritable
from pipeline.system import files
from pipeline.system.process_lock import Lock


def pruned_records(report: bytes) -> list[Record]:
    """Return the records in the object that holds what is kept of a pruned session: one event a line."""
    return [record for line in report.splitlines() if (record := envelope_of(line))]


def remove_stream(layout: Layout, stream: str) -> None:
    """Remove a stream's segments, its snapshot, and a session's folder; see the port.

    Raises:
        LogUnwritable, WorkspaceLocked: as the port says.
    """
    with _locked(layout, stream), _refusals(f"{stream} cannot be removed"):
        folder = layout.folder(stream)
        for path in reversed(layout.segments(stream)):
            _unlink(path)
        _unlink(layout.snapshot(stream))
        if folder.is_dir():
            files.sync_directory(folder)
        if kind_of(stream) == "session":
            _remove_empty(folder, folder.parent)


def remove_objects(layout: Layout, digests: Iterable[str]) -> None:
    """Remove objects, then make it durable folder by folder; see the port.

    Raises:
        LogUnwritable: as the port says.
    """
    paths = sorted(map(layout.object, digests))
    with _refusals("an object cannot be removed"):
        for path in paths:
            _unlink(path)
        for folder in sorted({path.parent for path in paths}):
            if folder.is_dir():
                files.sync_directory(folder)


def strike(layout: Layout, stream: str, change: Callable[[Record], Record]) -> None:
    """Rewrite a stream record by record, into its first segment; see the port.

    Raises:
        LogUnwritable, WorkspaceLocked, LogDamaged, LogForked: as the port says.
    """
    with _locked(layout, stream), _refusals(f"{stream} cannot be rewritten"):
        paths = layout.segments(stream)
        if paths:
            lines, head = [], ZEROS
            for record in map(change, _records(layout, stream)):
                line, head = seal(record.data, head)
                lines.append(line)
            files.replace(paths[0], b"".join(lines), layout.scratch)
            for path in paths[1:]:
                _unlink(path)
            files.sync_directory(layout.folder(stream))


def _records(layout: Layout, stream: str) -> list[Record]:
    """The records of a stream; if a rewriting was interrupted, its first segment has those of all others already."""
    first, *others = read_segments(layout, stream)
    known = {line.record.id for line in first.lines}
    if others and known.issuperset(line.record.id for segment in others for line in segment.lines):
        return [line.record for line in first.lines]
    return [line.record for line in refuse_damage(join([first, *others]), stream).lines]


def _unlink(path: Path) -> None:
    with contextlib.suppress(FileNotFoundError):
        path.unlink()


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except FileNotFoundError:
            continue
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):
                return  # somebody put a file of theirs there
            raise
        files.sync_directory(folder.parent)


@contextmanager
def _locked(layout: Layout, stream: str) -> Iterator[None]:
    lock = Lock(layout.lock(stream), f"removes {stream}")
    lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def _refusals(what: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        hint = "check space and permissions; the next `research forget --by-settings` goes on with it"
        raise LogUnwritable(f"{what}: {error.strerror or error}", hint=hint) from error
