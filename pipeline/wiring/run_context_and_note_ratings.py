"""What a run records with: its context; and what a person decides about notes, recorded."""

from __future__ import annotations

import os
import secrets
import socket
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from pipeline import __version__
from pipeline.config.keys import Keys
from pipeline.config.services import secrets_of
from pipeline.config.workspace_settings import Workspace, machine_of
from pipeline.domain.events.session_events import EventBase, RunStarted
from pipeline.domain.events.stream_records import stream_id
from pipeline.domain.events.upkeep_events import NoteRated
from pipeline.domain.session import record_of, stamped
from pipeline.engine.stop_and_clock import Listener, RunContext
from pipeline.errors import UsageError
from pipeline.text.redaction import Redaction
from pipeline.text.times import moment_of, timestamp
from pipeline.vault.build_cache import notes_in
from pipeline.vault.note import block_id
from pipeline.vault.output.writer import note_id
from pipeline.vault.read_model import folded, stored_cards
from pipeline.wiring.store_adapters import store_of


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
