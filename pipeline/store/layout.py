"""File and folder names of the log.

::

    sessions/<session id>/events/<first version, 6 digits>-<run id>.jsonl
    batches/<batch id>.jsonl      so also memory/<memory id>.jsonl, talks/<talk id>.jsonl, prunes/<prune id>.jsonl
    imports/<import id>~<run id>.jsonl   a session of another program: one segment for each run that changed it
    vault/<vault id>.jsonl        what a person decided about notes: one stream for each build or command that recorded a decision
    objects/<2 hex>/<sha256>.gz
    damaged/<time>/…  files as they were before a repair; no command reads or removes them
    damaged/written-off/<session id>   its log is missing, and its user has accepted that
    local/            locks, scratch files; never committed
    .gitattributes

A later run's segment of a stream that shares its folder is named ``<id>~<run id>.jsonl``, so that two machines never write one
file. A name that is taken (a run that continues after its file failed) gets ``~2``, ``~3`` … before ``.jsonl``: the tilde cannot
occur in an id, and sorts after the dot.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pipeline.domain.events.stream_records import Kind, kind_of
from pipeline.errors import LogUnreadable, LogUnwritable
from pipeline.system import files
from pipeline.text.cleaning import grouped

_PLAIN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,149}")
_SUFFIX = ".jsonl"
FORGETTING_GOES_ON = "check space and permissions; the next `research forget --by-settings` goes on with it"
_ATTRIBUTES = b"*.jsonl -text -merge\n"
# The folders of the streams that have none of their own.
_FOLDERS = {
    "batch": "batches",
    "memory": "memory",
    "talk": "talks",
    "prune": "prunes",
    "vault": "vault",
    "import": "imports",
}


class Layout:
    """The paths below one log's folder. Reading from it makes nothing."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.local = root / "local"
        self.scratch = self.local / "tmp"
        self.damaged = root / "damaged"

    def prepare(self) -> None:
        """Make what a log has before its first record: ``.gitattributes``, and a ``local/`` that git ignores."""
        self._make(self.root / ".gitattributes", _ATTRIBUTES)
        self._make(self.local / ".gitignore", b"*\n")

    def _make(self, path: Path, content: bytes) -> None:
        if not path.exists():
            files.make_directories(path.parent)
            with contextlib.suppress(FileExistsError):
                files.close(files.create(path, content, self.scratch))

    def folder(self, stream: str) -> Path:
        """Return the folder that holds the stream's segments."""
        return self.root / segment_path(stream, "")

    def segments(self, stream: str) -> list[Path]:
        """Return the stream's segments, sorted by name; none for an unknown stream or an id that cannot be one."""
        if not is_plain(stream):
            return []
        names = _names(self.folder(stream))
        if is_shared(stream):
            names = [name for name in names if name.startswith(stream) and stream_of(name) == stream]
        return [self.folder(stream) / name for name in sorted(names) if name.endswith(_SUFFIX)]

    def ids(self, kind: Kind) -> Iterator[str]:
        """Yield the ids of all streams of a kind that have a segment, sorted."""
        if kind == "session":
            names = sorted(_names(self.root / "sessions"))
            return (name for name in names if kind_of(name) == kind and self.segments(name))
        stems = {stream_of(name) for name in _names(self.root / _FOLDERS[kind]) if name.endswith(_SUFFIX)}
        return (stem for stem in sorted(stems) if kind_of(stem) == kind and is_plain(stem))

    def folders(self) -> Iterator[str]:
        """Yield the names of all session folders, also empty ones, sorted."""
        return (name for name in sorted(_names(self.root / "sessions")) if kind_of(name) == "session" and is_plain(name))

    def marks(self, kinds: Sequence[Kind]) -> Iterator[tuple[str, str]]:
        """Yield the id and mark of every stream of these kinds, sorted; a mark changes whenever a segment does."""
        for kind in kinds:
            if kind == "session":
                sessions = str(self.root / "sessions")  # joined by hand: making a Path takes as long as looking at the folder
                for name in self.folders():
                    if states := _states(f"{sessions}/{name}/events"):
                        yield name, "/".join(states)
                continue
            states = _states(str(self.root / _FOLDERS[kind]))
            found = grouped((stream_of(state.partition(":")[0]), state) for state in states)
            for stem in sorted(found):
                if kind_of(stem) == kind and is_plain(stem):
                    yield stem, "/".join(found[stem])  # a copy that a folder-syncing tool made may have blanks in its name

    def version_at(self, stream: str, mark: str) -> int:
        """Return the version that a stream had when ``marks`` gave it that mark, found from the sizes of its segments."""
        versions = [0]
        for name, size, _ in (state.rsplit(":", 2) for state in mark.split("/") if not mark.startswith("pruned:")):
            try:
                lines = files.read_bytes(self.root / segment_path(stream, name), int(size)).count(b"\n")
            except OSError:  # it was removed meanwhile
                continue
            before = int(name[:6]) - 1 if name[:6].isdecimal() and not is_shared(stream) else 0
            versions.append(before + lines)
        return sum(versions) if is_shared(stream) else max(versions)

    def object(self, digest: str) -> Path:
        """Return the place of an object."""
        return self.root / object_path(digest)

    def written_off(self, session: str) -> Path:
        """Return the place of the mark that a session's loss is accepted."""
        return self.damaged / "written-off" / session

    def written_off_sessions(self) -> frozenset[str]:
        """Return the ids of the sessions whose loss is accepted."""
        return frozenset(_names(self.damaged / "written-off"))

    def lock(self, stream: str) -> Path:
        """Return the place of a stream's lock."""
        return self.local / "locks" / f"{stream}.lock"

    def remove_snapshot(self, stream: str) -> None:
        """Remove the folded state of a stream that an earlier version of the program kept."""
        (self.local / "snapshots" / f"{stream}.json").unlink(missing_ok=True)

    def named(self, path: Path) -> str:
        """Return how findings name a file: its path below the log's folder."""
        return path.relative_to(self.root).as_posix()


def is_plain(identity: str) -> bool:
    """Return whether an id can be a file name: letters, digits, ``_``, ``.`` and ``-``, at most 150, no dot first."""
    return _PLAIN_ID.fullmatch(identity) is not None


def segment_name(stream: str, first_version: int, run_id: str, attempt: int) -> str:
    """Return the file name of a new segment; ``attempt`` counts from 1, and is above that if the name was taken."""
    # Two machines may import the same: with the run in their names, both files stay, and their branches are joined.
    later = f"~{run_id}" if first_version > 1 or kind_of(stream) == "import" else ""
    stem = f"{stream}{later}" if is_shared(stream) else f"{first_version:06d}-{run_id}"
    return stem + (f"~{attempt}" if attempt > 1 else "") + _SUFFIX


def object_path(digest: str) -> str:
    """Return how findings name an object: its path below the log's folder."""
    return f"objects/{digest[:2]}/{digest}.gz"


def segment_path(stream: str, name: str) -> str:
    """Return how findings name a segment: its path below the log's folder; without a name, that of its folder."""
    folder = _FOLDERS.get(kind_of(stream), f"sessions/{stream}/events")
    return f"{folder}/{name}" if name else folder


def is_shared(stream: str) -> bool:
    """Return whether a stream's segments lie in one folder with others of its kind; a session has a folder of its own."""
    return kind_of(stream) in _FOLDERS


def stream_of(name: str) -> str:
    """Return the stream that a file name in a folder of several streams belongs to.

    Where two machines changed one file, a folder-syncing tool keeps both: the other as ``<name>.sync-conflict-<time>.jsonl``.
    """
    return name.removesuffix(_SUFFIX).partition("~")[0].partition(".sync-conflict-")[0]


def _states(folder: str) -> list[str]:
    """``name:size:time`` of each segment in a folder, sorted."""
    try:
        with os.scandir(folder) as entries:
            files = [(entry.name, entry.stat()) for entry in entries if entry.name.endswith(_SUFFIX)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error
    return sorted(f"{name}:{found.st_size}:{found.st_mtime_ns}" for name, found in files)


@contextlib.contextmanager
def refusals(what: str, hint: str = "check space and permissions") -> Iterator[None]:
    """Let what the system refuses inside be an error of the log; ``what`` says what cannot be done.

    Raises:
        LogUnwritable: it is refused.
    """
    try:
        yield
    except OSError as error:
        raise LogUnwritable(f"{what}: {error.strerror or error}", hint=hint) from error


def _unreadable(folder: Path | str, error: OSError) -> LogUnreadable:
    return LogUnreadable(f"{folder} cannot be read: {error.strerror}", hint="check the folder's permissions")


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [entry.name for entry in entries]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise _unreadable(folder, error) from error
