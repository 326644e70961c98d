"""Progress output of a run: a live display with bars on a terminal, lines with a time elsewhere."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, TextIO, cast

from pipeline.cli.presentation import happened
from pipeline.domain.agenda import progress as steps_of
from pipeline.domain.events.session_events import (
    NO_EVIDENCE,
    Answered,
    EventBase,
    ResearchFailed,
    RunStarted,
)
from pipeline.domain.state import SessionState
from pipeline.ops.console_output import PRINTED, Console, SafeStderr
from pipeline.text.normalise import counted, one_line

if TYPE_CHECKING:
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

_log = logging.getLogger("pipeline.night")

BEGINNINGS = {"research.started", "settings.changed", "plan.created", "plan.extended", "contradictions.found", "report.written"}
ENDS = {"research.completed", "research.failed", "research.cancelled", "step.failed", "budget.exhausted", "worker.failed"}
STEPS = {"search.completed", "page.read", "step.failed", "analysis.started", "gaps.found"}


@dataclass
class Tally:
    """Totals of this run's events: finished steps, money and tokens; and the state of each session."""

    steps: int = 0
    sessions: dict[str, SessionState] = field(default_factory=dict)
    _before: dict[str, tuple[float, int]] = field(default_factory=dict)
    _last: dict[str, str] = field(default_factory=dict)

    def take(self, event: EventBase, state: SessionState) -> None:
        """Count an event and remember its session."""
        self._before.setdefault(state.id, (state.spent.usd, state.spent.total_tokens))
        self.sessions[state.id] = state
        step = event.step if isinstance(event, Answered) else ""
        same_step = bool(step) and self._last.get(state.id) == step and event.type not in STEPS  # a step may have several events
        self._last[state.id] = step
        self.steps += (isinstance(event, Answered) and not same_step) or event.type in STEPS

    @property
    def usd(self) -> float:
        """What this run has spent on its sessions, in USD."""
        return sum(state.spent.usd - self._before[name][0] for name, state in self.sessions.items())

    @property
    def tokens(self) -> int:
        """Count the tokens of this run."""
        return sum(state.spent.total_tokens - self._before[name][1] for name, state in self.sessions.items())

    def line(self, due: int) -> str:
        """Return the totals in one line. ``due`` counts the sessions of the run."""
        ended = sum(state.ended for state in self.sessions.values())
        cost = [f"{self.usd:.4f} USD"] if self.usd else [counted(self.tokens, "token")] if self.tokens else []
        return ", ".join([f"{ended} of {counted(due, 'session')}", counted(self.steps, "step"), *cost])


class Progress(Protocol):
    """Shows every stored event. Use it as a context manager."""

    def __enter__(self) -> Progress: ...

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None: ...

    def listen(self, event: EventBase, state: SessionState) -> None:
        """Show an event; ``state`` is the session's state after it."""


def progress_on(console: Console, due: int, term: str, *, machines: bool = False) -> Progress:
    """Return bars for a terminal, lines otherwise. ``term`` is the value of the environment variable TERM.

    ``machines``: also show which machine works on a session.
    """
    if console.terminal and not console.quiet and not console.verbose and term not in {"", "dumb"}:
        return Live(due, color=console.color, machines=machines)
    return Lines(console, machines=machines)


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


def logged(event: EventBase, state: SessionState) -> None:
    """Write the start and end of sessions, and failures, to the log file."""
    if event.type in BEGINNINGS | ENDS:
        _log.log(logging.WARNING if is_failure(event) else logging.INFO, "%s", line_of(event, state)[22:], extra=PRINTED)


@dataclass
class Lines:
    """A line for each start, end and failure; with ``-v`` for each event."""

    console: Console
    machines: bool = False

    def __enter__(self) -> Lines:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        pass

    def listen(self, event: EventBase, state: SessionState) -> None:
        """Print the event, if it matters."""
        logged(event, state)
        takes = self.machines and isinstance(event, RunStarted)
        if self.console.verbose or takes or event.type in BEGINNINGS | ENDS:
            self.console.say(line_of(event, state), fg=_colour(event), dim=event.type not in ENDS)


class Live:
    """One bar for the run and one for each running session, drawn on stderr; failures are printed above them."""

    def __init__(self, due: int, *, color: bool, machines: bool = False) -> None:
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
        from rich.table import Column

        self._due, self._tally = due, Tally()
        self._terminal = Terminal(file=cast(TextIO, SafeStderr()), no_color=not color, highlight=False, markup=False, emoji=False)
        columns = (
            TextColumn("{task.description}", markup=False, table_column=Column(no_wrap=True, max_width=30)),
            BarColumn(bar_width=12),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=5)),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
            TextColumn("{task.fields[about]}", markup=False, table_column=Column(no_wrap=True, ratio=1, overflow="ellipsis")),
        )
        self._bars: Bars = Progress(*columns, console=self._terminal, transient=True, refresh_per_second=4, expand=True)
        self._night: TaskID = self._bars.add_task("run", total=due, about="")
        self._rows: dict[str, TaskID] = {}
        self._machines: dict[str, str] | None = {} if machines else None

    def __enter__(self) -> Live:
        self._bars.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._bars.stop()

    def listen(self, event: EventBase, state: SessionState) -> None:
        """Update the bars; print failures."""
        logged(event, state)
        if self._machines is not None and isinstance(event, RunStarted):
            self._machines[state.id] = one_line(event.agent or event.host, 30)
        self._tally.take(event, state)
        if event.type in {"step.failed", "research.failed", "budget.exhausted"}:
            self._terminal.print(" ".join(line_of(event, state).split()), style=_colour(event) or "")
        ended = sum(known.ended for known in self._tally.sessions.values())
        self._bars.update(self._night, completed=ended, about=self._tally.line(self._due))
        self._row(state)

    def _row(self, state: SessionState) -> None:
        if state.ended:
            if state.id in self._rows:
                self._bars.remove_task(self._rows.pop(state.id))
            return
        if state.id not in self._rows:
            self._rows[state.id] = self._bars.add_task(one_line(state.query_id, 30), total=None, about="")
        done, in_all = steps_of(state)
        where = f", {self._machines[state.id]}" if self._machines and state.id in self._machines else ""
        about = f"{state.status}, {counted(len(state.facts), 'fact')}{where}"
        self._bars.update(self._rows[state.id], completed=done, total=in_all if state.nodes else None, about=about)
