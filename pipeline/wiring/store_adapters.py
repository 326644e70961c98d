"""Builds the event store of a workspace: in files, or in the database that the setting ``store`` names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.config.keys import shown_store, store_fault
from pipeline.config.settings import objects_address, store_address, store_password
from pipeline.errors import LogDamaged, LogError, SchemaTooNew, UsageError
from pipeline.store.files import FileStore
from pipeline.system.process_lock import WorkspaceLock

if TYPE_CHECKING:
    from pipeline.domain.events.records import Branch, Record
    from pipeline.ports import EventStore
    from pipeline.store.copying import CopyReport
    from pipeline.store.objects import StoredObjects
    from pipeline.store.other_log import Copied
    from pipeline.store.postgres import PostgresStore
    from pipeline.store.postgres_database import Database, StoreStatus
    from pipeline.store.segments import Finding, FindingKind
    from pipeline.store.verification import Repair

_NO_PSYCOPG = "install it with: pip install 'night-research[postgres]'"


def store_of(folder: Path) -> EventStore:
    """Return the workspace's event store. A database is connected to by its first call.

    Raises:
        UsageError, QueueInvalid: what says where it is cannot be used, or psycopg is not installed.
    """
    address = store_address(folder)
    return postgres_store(folder, address) if address else file_store(folder)


def file_store(folder: Path) -> FileStore:
    """Return the store in the workspace's files."""
    return FileStore(folder / "events", _join_branches)


def postgres_store(folder: Path, address: str, patience_s: float = 30.0) -> PostgresStore:
    """Return the store in the database at ``address``; caches are in the workspace.

    A connection that is lost is tried again for ``patience_s`` seconds.

    Raises:
        UsageError: psycopg is not installed, or the password's file cannot be read.
    """
    require_psycopg()
    from pipeline.store.postgres import PostgresStore

    mine = address == store_address(folder)  # another database's objects are in it
    objects_in = _objects_of(folder) if mine else lambda usual: usual
    return PostgresStore(
        address, folder / "events", password=store_password(folder), patience_s=patience_s, objects_in=objects_in
    )


def _objects_of(folder: Path) -> Callable[[StoredObjects], StoredObjects]:
    """Return a function from the database's own place for objects to the one that the settings name."""
    if not (address := objects_address(folder)):
        return lambda usual: usual
    try:
        from pipeline.store.buckets import Bucket
    except ImportError as error:
        hint = "install it with: pip install 'night-research[objects]'"
        raise UsageError(f"an object storage needs obstore: {error}", hint=hint) from None
    return lambda usual: Bucket(address, usual)


def require_psycopg() -> None:
    """Refuse to go on without the extra ``postgres``.

    Raises:
        UsageError: it is not installed.
    """
    try:
        import psycopg  # noqa: F401

        if find_spec("pgqueuer") is None:
            raise ImportError("there is no module pgqueuer")
    except ImportError as error:
        raise UsageError(f"a store in PostgreSQL needs psycopg and pgqueuer: {error}", hint=_NO_PSYCOPG) from None


def _join_branches(first: Branch, second: Branch) -> tuple[Branch, list[Record]]:
    from pipeline.domain.merging import joined

    return joined(first, second)


def copy_log(folder: Path, other: Path, *, check: bool) -> Copied:
    """Copy into the workspace's log what that of another workspace has more; ``check``: write nothing.

    Raises:
        UsageError: the other folder has no log, or is this one; or this log is in a database.
        LogError: a log cannot be read or written.
        WorkspaceLocked: a run writes one of the streams.
    """
    from pipeline.store.other_log import copy_missing

    if address := store_address(folder):
        hint = f"research store copy {other} {address} copies what the database lacks"
        raise UsageError("the log is in a database; only logs in files can be merged", hint=hint)
    log = other / "events"
    if not log.is_dir():
        raise UsageError(f"{other} has no folder events", hint="name the folder of another workspace, with its queries.yaml")
    if os.path.realpath(log) == os.path.realpath(folder / "events"):
        raise UsageError(f"{other} is this workspace", hint="name another one; without a folder, only branches are joined")
    return copy_missing(folder / "events", log, check=check)


def refuse_missing_log(folder: Path) -> None:
    """Refuse to work where the vault has notes of sessions, or files have a log, and the store has no session at all.

    Raises:
        LogDamaged: it is so, and the loss was not accepted.
    """
    store, notes, address = store_of(folder), folder / "vault" / "sessions", store_address(folder)
    if any(store.ids("session")) or any(store.ids("batch")) or any(store.ids("import")):
        return
    if address and any(file_store(folder).ids("session")):
        hint = f"copy them: research store copy {folder} {address}; or set `store: files`"
        raise LogDamaged(f"{shown_store(address)} has no session, and {folder / 'events'} has some", hint=hint)
    if any(notes.rglob("*.md")) and not store.tombstones().written_off:
        hint = (
            "after a switch of the git branch, switch back; if the log is in a database, set RESEARCH_STORE here too; "
            "else bring events/ back from a backup; only if it is lost for good: research verify --repair"
        )
        if address:
            hint = (
                "check the address in `store`, or restore the database from a backup; to begin a new log, delete vault/sessions"
            )
        place = shown_store(address) if address else folder / "events"
        raise LogDamaged(f"the log is missing: {notes} has notes, and {place} has no session", hint=hint)


@contextlib.contextmanager
def lock_of(folder: Path, program: str = "", *, shared: bool = False) -> Iterator[None]:
    """Hold the lock on the workspace, and on the database that it uses, where another machine may work too.

    ``program`` is named to others that wait for it. ``shared``: with others that share it, such as workers on one queue.

    Raises:
        WorkspaceLocked: another process holds it, here or on another machine.
        LogUnwritable: it cannot be taken.
    """
    address = store_address(folder)
    with WorkspaceLock(folder / "events", program), _database_lock(folder, address, program, shared=shared):
        yield


def _database_lock(folder: Path, address: str, program: str, *, shared: bool) -> AbstractContextManager[None]:
    if not address:
        return contextlib.nullcontext()
    require_psycopg()
    from pipeline.store.postgres_database import store_lock

    return store_lock(address, store_password(folder), program, shared=shared)


def verify_log(folder: Path) -> list[Finding]:
    """Check the whole log."""
    from pipeline.store import verification
    from pipeline.store.segments import Finding

    address = store_address(folder)
    findings = verification.findings_in(postgres_store(folder, address) if address else file_store(folder))
    try:
        refuse_missing_log(folder)
    except LogDamaged as error:
        findings.append(Finding("sessions", 0, "missing", error.message))
    return findings


def undecodable(stream: str, error: LogError) -> Finding:
    """Return that a stream of sound files holds what is no event, or what a newer program wrote."""
    from pipeline.store.segments import Finding

    kind: FindingKind = "newer" if isinstance(error, SchemaTooNew) else "invalid"
    return Finding(stream, 0, kind, f"{error.message}\n  → {error.hint}")


def repair_log(folder: Path) -> list[Repair]:
    """Set damaged files aside, keep what is sound, and write off what is missing; return what was done.

    Raises:
        UsageError: the log is in a database.
        LogError, WorkspaceLocked: it cannot be repaired now.
    """
    from pipeline.store import verification

    if address := store_address(folder):
        hint = "restore the database from a backup, or copy the log again from files that are sound: research store copy"
        raise UsageError(f"--repair works on files, and the log is in {shown_store(address)}", hint=hint)
    done = verification.repair(folder / "events")
    try:
        refuse_missing_log(folder)
    except LogDamaged:
        file_store(folder).write_off("all")
        done.append(verification.Repair("all", ""))
    return done


def init_store(folder: Path, address: str = "") -> tuple[str, list[str]]:
    """Create or upgrade the tables of the database at ``address``, else of the workspace's; return its name and what was done.

    Raises:
        UsageError: the workspace's log is in files, or the address cannot be used.
        StoreUnreachable, LogUnwritable, SchemaTooNew: as the names say.
    """
    address = address or store_address(folder)
    if not address:
        hint = "write `store: postgresql://ROLE@HOST/DATABASE` under settings, or name the address: research store init ADDRESS"
        raise UsageError("the log is in files, which need no preparation", hint=hint)
    database = _database(folder, address, checked=False)
    from pipeline.store.postgres_database import migrate

    try:
        return database.name, database.run(migrate)
    finally:
        database.close()


def status_of_store(folder: Path) -> StoreStatus | None:
    """Return what can be said of the workspace's database, None if the log is in files.

    Raises:
        UsageError, LogError: it cannot be used.
    """
    if not (address := store_address(folder)):
        return None
    database = _database(folder, address, checked=True)
    from pipeline.store.postgres_database import store_status

    try:
        return store_status(database)
    finally:
        database.close()


def unused_files(folder: Path) -> int:
    """Return how many sessions the workspace's files hold although its log is in a database."""
    return sum(1 for _ in file_store(folder).ids("session")) if store_address(folder) else 0


def roles_of_store() -> str:
    """Return the SQL that makes roles for a database."""
    require_psycopg()
    from pipeline.store.postgres_database import roles

    return roles()


def copy_store(folder: Path, source: str, target: str, *, check: bool) -> CopyReport:
    """Copy one whole log into another; each is a workspace's folder, whose files are meant, or a database's address.

    Raises:
        UsageError: one of them cannot be used, or both are the same.
        LogError: one cannot be read or written.
        WorkspaceLocked: a run works with one of the streams.
    """
    from pipeline.store.copying import copy_log

    first, second = _log_at(folder, source), _log_at(folder, target)
    if source == target or _place(source) == _place(target):
        raise UsageError(f"{source} and {target} are the same", hint="name two stores")
    if "://" not in source and not (Path(source) / "events").is_dir():
        raise UsageError(f"{source} has no folder events", hint="name the folder of a workspace, with its queries.yaml")
    return copy_log(first, second, check=check)


def _place(name: str) -> str:
    return name if "://" in name else os.path.realpath(name)


def _log_at(folder: Path, name: str) -> FileStore | PostgresStore:
    if "://" not in name:
        return FileStore(Path(name) / "events")
    fault, wanted = store_fault(name)
    if fault:
        raise UsageError(fault, hint=wanted)
    return postgres_store(folder, name)


def _database(folder: Path, address: str, *, checked: bool) -> Database:
    """The database at an address; ``checked``: only with tables that this program can use."""
    fault, wanted = store_fault(address)
    if fault:
        raise UsageError(fault, hint=wanted)
    require_psycopg()
    from pipeline.store.postgres_database import Database, check_schema

    return Database(address, check_schema if checked else lambda _connection: None, password=store_password(folder))
