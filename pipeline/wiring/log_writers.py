"""What writes to the log: the context of a run, what a person decides about notes, and the copy of another log."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline import __version__
from pipeline.config.keys import Keys, usable_store
from pipeline.config.services import secrets_of
from pipeline.config.workspace import Workspace, machine_of, store_address
from pipeline.domain.events.session_events import EventBase, RunStarted
from pipeline.domain.events.stream_records import stream_id
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.session import record_of, stamped
from pipeline.engine.stop_and_clock import Listener, RunContext
from pipeline.errors import UsageError
from pipeline.store.file_store import FileStore
from pipeline.text.redaction import Redaction
from pipeline.text.times import moment_of, timestamp
from pipeline.vault.build_cache import notes_in
from pipeline.vault.model import folded, stored_cards
from pipeline.vault.note import block_id
from pipeline.vault.output.writer import note_id
from pipeline.wiring.store_adapters import database_store, store_of

if TYPE_CHECKING:
    from pipeline.store import copying


def context_of(workspace: Workspace, keys: Keys | None = None, listener: Listener = lambda _event, _state: None) -> RunContext:
    """Return the context of one run of this process; all of ``keys`` are taken out of what it records."""
    settings = workspace.queue.settings
    run_id, agent = secrets.token_hex(8), _agent_of(machine_of(workspace.folder))
    redaction = Redaction(secrets_of(settings, keys) if keys else ())
    return RunContext(run_id, agent, listener=listener, redact=redaction.data)


def _agent_of(machine: str) -> RunStarted:
    """The event that says which process on which machine records what follows."""
    return RunStarted(
        host=socket.gethostname(),
        process=os.getpid(),
        program=f"night-research {__version__}",
        agent=machine,
    )


def record_decisions(folder: Path, drafts: Sequence[EventBase]) -> None:
    """Store what a person decided about notes as a stream of its own, so that streams of several machines never conflict.

    The latest decision counts: its time is after all that are known, also those of a clock that was ahead.

    Raises:
        LogError: it could not be stored, or a stream is damaged.
    """
    store = store_of(folder)
    known = (record.at for name in store.marks(["vault"]) for record in store.load(name))
    latest = max((moment_of(at) for at in known), default=datetime.min.replace(tzinfo=UTC))
    at, run = timestamp(max(datetime.now(UTC), latest + timedelta(milliseconds=1))), secrets.token_hex(8)
    stream = stream_id("vault", at, run[:6])
    events = enumerate((_agent_of(machine_of(folder)), *drafts), 1)
    records = [record_of(stamped(event, stream, version, run, secrets.token_hex(8), at)) for version, event in events]
    try:
        store.append(stream, records, 0)
    finally:
        store.release(stream)


def with_their_sources(folder: Path, hidden: set[str]) -> set[str]:
    """Return the ids of hidden notes, with those of the sources that only hidden reports cite."""
    sessions = {name.removeprefix("report:") for name in hidden if name.startswith("report:")}
    cards = stored_cards(folder / "events" / "local")
    shown = {one.page.url for card in cards if card.id not in sessions for one in card.read if one.cited}
    read = {one.page.url for card in cards if card.id in sessions for one in card.read}
    return hidden | {note_id(f"source:{url}", "source") for url in read - shown}


def rate(folder: Path, note: str, block: str, rating: str) -> None:
    """Record what a person called useful or wrong: a quote of a report, given by the report's path and the quote's block id.

    Raises:
        UsageError: there is no such report or quote.
    """
    found = next((one.id for one in notes_in(folder / "events" / "local") if one.path == note and one.kind == "report"), "")
    session = found.removeprefix("report:")
    state = folded(store_of(folder), session)[0] if found else None
    fact = next((one for one in state.facts.values() if block_id(one.id) == block), None) if state else None
    if state is None or fact is None:
        raise UsageError(f"{note} has no quote {block}")
    about = {"query_id": state.query_id, "fact": fact.id, "url": fact.url}
    record_decisions(folder, [NoteRated.model_validate({"note": found, "rating": rating, **about})])


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
