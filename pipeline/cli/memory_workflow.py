"""What commands do with memory: consolidate after a run, whose outcome a failure never changes, and recall before one."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pipeline.cli.command_parts import read_sessions
from pipeline.ops.console_output import PRINTED, Console

if TYPE_CHECKING:
    from pipeline.batch.memory.consolidating import Consolidated
    from pipeline.config.settings import Workspace
    from pipeline.ports import EventStore

_log = logging.getLogger("pipeline.cli.memory_workflow")
_HINT = "no session is lost; research consolidate tries it again"


def consolidate_after_run(console: Console, workspace: Workspace, store: EventStore) -> None:
    """Consolidate what ended, unless the settings say no. A failure is printed and logged, and raised never."""
    if workspace.queue.settings.memory == "off":
        return
    try:
        print_failures(console, consolidate_now(console, workspace, store))
    except Exception as error:  # noqa: BLE001 - the research is done, whatever becomes of its memory
        console.say(f"the sessions were not consolidated: {error}\n  → {_HINT}", always=True, fg="yellow")
        _log.error("the sessions were not consolidated", exc_info=error, extra=PRINTED)


def consolidate_now(console: Console, workspace: Workspace, store: EventStore) -> Consolidated:
    """Consolidate the ended sessions that changed since they were consolidated last; return the outcome.

    Raises:
        LogError: the memory's stream cannot be written.
    """
    from pipeline.batch.memory.consolidating import consolidate
    from pipeline.wiring import workspace_adapters

    context = workspace_adapters.context_of(workspace, lambda _event, _state: None)
    return consolidate(store, context, read_sessions(console, store, again=True).sessions)


def print_failures(console: Console, done: Consolidated) -> None:
    """Print which sessions could not be consolidated."""
    for name, reason in done.failed.items():
        console.say(f"{name} was not consolidated: {reason}\n  → research verify", always=True, fg="yellow")
