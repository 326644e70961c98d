"""Checks of the event log and the clock: the newest sessions can be read, and the time is plausible."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice

from pipeline.config.settings import Workspace
from pipeline.domain.events.json_codec import decode
from pipeline.errors import LogError
from pipeline.ops.doctor.finding import Finding, note, ok, problem
from pipeline.text.normalise import counted
from pipeline.text.times import moment_of

NEWEST = 200
SLACK = timedelta(minutes=5)
EARLIEST = datetime(2026, 1, 1, tzinfo=UTC)


def log_findings(workspace: Workspace, now: datetime) -> Iterator[Finding]:
    """Yield the findings on log and clock. Reads the newest sessions, but no stored pages: ``research verify`` checks all."""
    from pipeline.wiring.workspace_adapters import refuse_missing_log, store_of

    store = store_of(workspace.folder)
    names = sorted(store.session_ids(), reverse=True)
    newest: datetime | None = None
    faults = 0
    try:
        refuse_missing_log(workspace.folder)
    except LogError as error:
        faults += 1
        yield problem("log", error.message, error.hint, error.exit_code)
    for name in islice(names, NEWEST):
        try:
            records = store.load(name)
            for record in (record for record in records if record.type == "run.started"):
                decode(record.data)  # it names the program's schema
            moments = [moment_of(record.at) for record in records[-1:]]
        except ValueError:
            faults += 1
            yield problem("log", f"{name}: the time of its last record is not valid", "research verify lists all damage", 20)
            continue
        except LogError as error:
            faults += 1
            yield problem("log", f"{name}: {error.message}", error.hint or "research verify lists all damage", error.exit_code)
            continue
        newest = max([*moments, *([newest] if newest else [])], default=None)
    if not faults:
        read = min(len(names), NEWEST)
        yield ok("log", f"{read} of {counted(len(names), 'session')} read, none damaged" if names else "no session yet")
    yield from _clock(workspace, now, newest)


def _clock(workspace: Workspace, now: datetime, newest: datetime | None) -> Iterator[Finding]:
    changed = datetime.fromtimestamp(workspace.queue_file.stat().st_mtime, UTC)
    todo = "set the clock: deadlines, recurrence and the order of events depend on it"
    if now < EARLIEST:
        yield problem("clock", f"it says {now:%Y-%m-%d}, before this program was written", todo, 1)
    elif newest is not None and newest > now + SLACK:
        yield problem(
            "clock", f"it says {now:%Y-%m-%d %H:%M} UTC, but the log has an event of {newest:%Y-%m-%d %H:%M} UTC", todo, 1
        )
    elif changed > now + SLACK:
        yield note("clock", f"{workspace.queue_file.name} was changed in the future, {changed:%Y-%m-%d %H:%M} UTC", todo)
    else:
        yield ok("clock", f"{now:%Y-%m-%d %H:%M} UTC is plausible")
