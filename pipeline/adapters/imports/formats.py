"""Which format each file of what is imported has, and the reading of all of them in one pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from pipeline.adapters.imports import aidaemon, go_events, go_sessions, got
from pipeline.adapters.imports.source_files import Redact, SourceFiles
from pipeline.domain.imports.import_events import ImportFinding
from pipeline.domain.imports.parsed import ParsedImport

FORMATS = (go_sessions.KIND, go_events.KIND, aidaemon.KIND, got.KIND)
_DATABASES = (".db", ".sqlite", ".sqlite3")
# What these programs write beside their records, and what says nothing about research.
_KNOWN_OTHERS = frozenset({".last", "snapshot.json", ".gitignore", ".gitattributes", ".DS_Store"})
Found = Iterator[ParsedImport | ImportFinding]


def read_all(path: Path, only: str | None = None, redact: Redact = lambda data: data) -> Found:
    """Yield every session at ``path``, a file or a folder, and every finding that belongs to none. ``only``: of that format."""
    seen: dict[tuple[str, str], str] = {}
    for one in _read(SourceFiles(path, redact), only):
        if isinstance(one, ImportFinding):
            yield one
        elif before := seen.get((one.kind, one.original_id)):
            what = f"is the same session as {before}, by its id; only that one is imported"
            yield ImportFinding(where=one.origin, what=what, records=one.tally.counts.records)
        else:
            seen[one.kind, one.original_id] = one.origin
            yield one


def _read(files: SourceFiles, only: str | None) -> Found:
    names = files.names()
    yield from files.findings
    left = set(names)
    for kind, reader in _READERS.items():
        if only in (None, kind):
            mine = [name for name in names if name in left and _CLAIMS[kind](files, name, only == kind)]
            left -= set(mine)
            yield from reader(files, mine)
    if only is None or files.root.is_file():
        yield from (_unclaimed(name, only) for name in sorted(left) if not _is_known(files, name))


def _claims_database(files: SourceFiles, name: str, named: bool) -> bool:
    alone = named and files.root.is_file()
    return alone or files.begins_with(name, aidaemon.HEADER) or name.endswith(_DATABASES)


def _claims_graph(files: SourceFiles, name: str, named: bool) -> bool:
    alone = files.root.is_file() and (named or name.endswith(".jsonl"))
    return alone or got.PART.fullmatch(name) is not None


def _claims_event(_files: SourceFiles, name: str, _named: bool) -> bool:
    return go_events.EVENT_FILE.fullmatch(name) is not None


def _claims_session(files: SourceFiles, name: str, named: bool) -> bool:
    last = name.rpartition("/")[2]
    return (name.endswith(".json") and last not in _KNOWN_OTHERS) or (named and files.root.is_file())


def _read_databases(files: SourceFiles, names: Sequence[str]) -> Found:
    for name in names:
        yield from aidaemon.read_database(files, name)


def _read_graphs(files: SourceFiles, names: Sequence[str]) -> Found:
    if files.root.is_file():
        for name in names:
            yield from got.read_event_log(files, name)
        return
    yield from got.read_graphs(files, names)


# The order counts: what a more special format claims is not offered to the next.
_CLAIMS: dict[str, Callable[[SourceFiles, str, bool], bool]] = {
    aidaemon.KIND: _claims_database,
    go_events.KIND: _claims_event,
    got.KIND: _claims_graph,
    go_sessions.KIND: _claims_session,
}
_READERS: dict[str, Callable[[SourceFiles, list[str]], Found]] = {
    aidaemon.KIND: _read_databases,
    go_events.KIND: go_events.read_event_folders,
    got.KIND: _read_graphs,
    go_sessions.KIND: go_sessions.read_sessions,
}


def _unclaimed(name: str, only: str | None) -> ImportFinding:
    what = f"is no file of the format {only}" if only else "has none of the formats that can be imported"
    return ImportFinding(where=name, what=what)


def _is_known(files: SourceFiles, name: str) -> bool:
    """Return whether a file belongs to the program and holds no record: pointers, locks, logs and notes beside the records."""
    last = name.rpartition("/")[2]
    beside_database = any(last.endswith(f"{suffix}{tail}") for suffix in _DATABASES for tail in ("-wal", "-shm", "-journal"))
    return files.root.is_dir() and (last in _KNOWN_OTHERS or last.endswith((".lock", ".md", ".tmp")) or beside_database)
