"""Builds what a workspace keeps: its event store, in files or in the database that the setting ``store`` names, and beside it the
summaries of sessions and the index of passages with its local model. It imports little, so that who only reads starts fast.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pipeline.config.keys import Keys, shown_store, usable_store
from pipeline.config.queue_schema import Settings
from pipeline.config.workspace_settings import store_address, store_password
from pipeline.domain.events.stream_records import Branch, Record
from pipeline.errors import LogDamaged, LogError, SchemaTooNew, UsageError
from pipeline.ports import EventStore
from pipeline.store.file_store import FileStore
from pipeline.store.record_chain import Defect, DefectKind
from pipeline.system.process_lock import workspace_lock

if TYPE_CHECKING:
    from pipeline.search.vectors import VectorModel
    from pipeline.store import copying
    from pipeline.store.postgres import PostgresStore
    from pipeline.store.verification import Repair, StoredLog

_IN_FILES = "several machines need a log in PostgreSQL, and this workspace's is in files"
_HINT = "write `store: postgresql://ROLE@HOST/DATABASE` under settings, and run research store init; see docs/several-machines.md"
_NO_PSYCOPG = "install it with: pip install 'night-research[postgres]'"


def store_of(folder: Path) -> EventStore:
    """Return the workspace's event store. A database is connected to by its first call.

    Raises:
        UsageError, QueueInvalid: what says where it is cannot be used, or psycopg is not installed.
    """
    address = store_address(folder)
    return database_store(folder, address) if address else file_store(folder)


def database_store(folder: Path, address: str) -> PostgresStore:
    """Return the store in the database at ``address``; what the workspace in ``folder`` says of databases holds for it.

    Raises:
        UsageError: psycopg is not installed, or the password's file cannot be read.
    """
    require_psycopg()
    from pipeline.wiring.postgres_adapters import postgres_store

    return postgres_store(folder, address)


def file_store(folder: Path) -> FileStore:
    """Return the store in the workspace's files."""
    return FileStore(folder / "events", _join_branches)


def summaries_of(folder: Path) -> Path:
    """Return the file in which summaries of sessions are kept."""
    return folder / "events" / "local" / "summaries.json"


def index_file(folder: Path) -> Path:
    """Return the path of a workspace's index of passages."""
    from pipeline.search.index import FILE

    return folder / "events" / "local" / FILE


def local_model(settings: Settings, keys: Keys, folder: Path) -> VectorModel | None:
    """Return the model in this process that the workspace in ``folder`` uses; None for a server, or for words alone."""
    from pipeline.search.local_embedder import minilm, missing_packages
    from pipeline.search.vectors import VectorModel

    choice = settings.embeddings
    if isinstance(choice, str):
        is_off = "off" in (choice, keys.value("RESEARCH_EMBEDDINGS"))
        return None if is_off or missing_packages() else minilm()
    place = folder / choice.folder
    name, prefixes = f"the model {place.name}", (choice.query_prefix, choice.passage_prefix)
    return VectorModel(place.name, name, *prefixes, floor=choice.floor, folder=str(place)) if choice.folder else None


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
    from pipeline.domain.branch_merging import joined

    return joined(first, second)


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
    with contextlib.ExitStack() as held:
        held.enter_context(workspace_lock(folder / "events", program))
        if address := store_address(folder):
            require_psycopg()
            from pipeline.store.postgres_database import store_lock

            held.enter_context(store_lock(address, store_password(folder), program, shared=shared))
        yield


def verify_log(folder: Path) -> list[Defect]:
    """Check the whole log."""
    from pipeline.store.verification import findings_in

    findings = findings_in(cast("StoredLog", store_of(folder)))
    try:
        refuse_missing_log(folder)
    except LogDamaged as error:
        findings.append(Defect("sessions", 0, "missing", error.message))
    return findings


def undecodable(stream: str, error: LogError) -> Defect:
    """Return that a stream of sound files holds what is no event, or what a newer program wrote."""
    kind: DefectKind = "newer" if isinstance(error, SchemaTooNew) else "invalid"
    return Defect(stream, 0, kind, f"{error.message}\n  → {error.hint}")


def repair_log(folder: Path) -> list[Repair]:
    """Set damaged files aside, keep what is sound, and write off what is missing; return what was done.

    Raises:
        UsageError: the log is in a database.
        LogError, WorkspaceLocked: it cannot be repaired now.
    """
    from pipeline.store.verification import Repair, repair

    if address := store_address(folder):
        hint = "restore the database from a backup, or copy the log again from files that are sound: research store copy"
        raise UsageError(f"--repair works on files, and the log is in {shown_store(address)}", hint=hint)
    done = repair(folder / "events")
    try:
        refuse_missing_log(folder)
    except LogDamaged:
        file_store(folder).write_off("all")
        done.append(Repair("all", ""))
    return done


def require_queue(folder: Path) -> str:
    """Return the address of the database that machines can share.

    Raises:
        UsageError: the log is in files, or the extra ``postgres`` is not installed.
    """
    if not (address := store_address(folder)):
        raise UsageError(_IN_FILES, hint=_HINT)
    require_psycopg()
    return address


def copy_log(folder: Path, other: Path | None, *, check: bool) -> copying.CopyReport:
    """Copy into the workspace's log what that of another workspace, if any, has more; ``check``: write nothing.

    Raises:
        UsageError: the other folder has no log, or is this one; or this log is in a database.
        LogError: a log cannot be read or written.
        WorkspaceLocked: a run writes one of the streams.
    """
    from pipeline.store import copying  # no run waits for it

    if other is None:
        return copying.CopyReport()
    if address := store_address(folder):
        hint = f"research store copy {other} {address} copies what the database lacks"
        raise UsageError("the log is in a database; only logs in files can be merged", hint=hint)
    log = other / "events"
    if not log.is_dir():
        raise UsageError(f"{other} has no folder events", hint="name the folder of another workspace, with its queries.yaml")
    if os.path.realpath(log) == os.path.realpath(folder / "events"):
        raise UsageError(f"{other} is this workspace", hint="name another one; without a folder, only branches are joined")
    return copying.copy_log(copying.OtherLog(log), FileStore(folder / "events"), check=check)


def copy_store(folder: Path, source: str, target: str, *, check: bool) -> copying.CopyReport:
    """Copy one whole log into another; each is a workspace's folder, whose files are meant, or a database's address.

    Raises:
        UsageError: one of them cannot be used, or both are the same.
        LogError: one cannot be read or written.
        WorkspaceLocked: a run works with one of the streams.
    """
    from pipeline.store import copying  # no run waits for it

    first, second = (
        database_store(folder, usable_store(name)) if "://" in name else FileStore(Path(name) / "events")
        for name in (source, target)
    )
    if os.path.realpath(source) == os.path.realpath(target):  # an address is compared as it is
        raise UsageError(f"{source} and {target} are the same", hint="name two stores")
    if "://" not in source and not (Path(source) / "events").is_dir():
        raise UsageError(f"{source} has no folder events", hint="name the folder of a workspace, with its queries.yaml")
    return copying.copy_log(first, second, check=check)
