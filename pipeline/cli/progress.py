"""Progress output of a run: a line with a time for each start, end and failure."""

from __future__ import annotations

import logging
from dataclasses import dataclass

from pipeline.cli.presentation import happened
from pipeline.domain.events.session_events import NO_EVIDENCE, EventBase, ResearchFailed, RunStarted
from pipeline.domain.state import SessionState
from pipeline.ops.console_output import PRINTED, Console
from pipeline.text.normalise import one_line

_log = logging.getLogger("pipeline.night")

BEGINNINGS = {"research.started", "settings.changed", "plan.created", "plan.extended", "contradictions.found", "report.written"}
ENDS = {"research.completed", "research.failed", "research.cancelled", "step.failed", "budget.exhausted", "worker.failed"}


def line_of(event: EventBase, state: SessionState) -> str:
    """Return an event as one line of a run: time, query, type, what happened."""
    return f"{event.at[:19]}Z  {one_line(state.query_id, 40):<40}  {event.type:<20}  {happened(event)}".rstrip()


def is_failure(event: EventBase) -> bool:
    """Return whether the event is a failure; a question that the sources do not answer is none."""
    return event.type.endswith(".failed") and not _is_unanswered(event)


def _is_unanswered(event: EventBase) -> bool:
    return isinstance(event, ResearchFailed) and event.cause == NO_EVIDENCE


def _colour(event: EventBase) -> str | None:
    return "yellow" if _is_unanswered(event) or event.type == "budget.exhausted" else "red" if is_failure(event) else None


@dataclass
class Lines:
    """A line for each start, end and failure; with ``-v`` for each event; with ``machines`` for each run of a session."""

    console: Console
    machines: bool = False

    def listen(self, event: EventBase, state: SessionState) -> None:
        """Print the event, if it matters; write it to the log file too, but for single steps."""
        if event.type in BEGINNINGS | ENDS:
            level = logging.WARNING if is_failure(event) else logging.INFO
            _log.log(level, "%s", line_of(event, state)[22:], extra=PRINTED)
        takes = self.machines and isinstance(event, RunStarted)
        if self.console.verbose or takes or event.type in BEGINNINGS | ENDS:
            self.console.say(line_of(event, state), fg=_colour(event), dim=event.type not in ENDS)
