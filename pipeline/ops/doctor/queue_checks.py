"""Checks of the queue that several machines share: its clock, and the workers that were seen lately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pipeline.config.settings import Workspace, store_address
from pipeline.errors import ResearchError
from pipeline.ops.doctor.finding import Finding, note, ok, problem
from pipeline.text.normalise import counted

if TYPE_CHECKING:
    from pipeline.domain.distribution.jobs import SeenWorker

_ABOUT = "machines"
MOST_APART_S = 5.0  # events of several machines are ordered by their clocks wherever one list shows them all
_MOST_LISTED = 10


def queue_findings(workspace: Workspace) -> Iterator[Finding]:
    """Yield the findings on clock and workers; none if the log is in files."""
    from pipeline.wiring.queue_adapters import queue_of

    if not store_address(workspace.folder):
        return
    try:
        dispatcher, _budget = queue_of(workspace.folder)
        ahead_s, workers = dispatcher.seconds_ahead(), dispatcher.workers()
    except ResearchError as error:
        yield problem(_ABOUT, error.message, error.hint, error.exit_code)
        return
    yield clock_finding(ahead_s)
    yield from worker_findings(workers)


def clock_finding(ahead_s: float) -> Finding:
    """Return what is to be said of a database's clock that is so many seconds ahead of this machine's."""
    if abs(ahead_s) <= MOST_APART_S:
        return ok(_ABOUT, "the clocks of this machine and of the database agree")
    word = "ahead of" if ahead_s > 0 else "behind"
    todo = "let both set their clocks by NTP; the times in notes and logs are those of the machine that did the work"
    return note(_ABOUT, f"the database's clock is {abs(ahead_s):.0f} s {word} this machine's", todo)


def worker_findings(workers: Sequence[SeenWorker]) -> Iterator[Finding]:
    """Yield a finding for each worker that was seen within a day."""
    for seen in workers[:_MOST_LISTED]:
        name, jobs = seen.worker.machine, counted(seen.jobs, "session")
        if seen.lost:
            todo = "others take over its sessions; if it should run: research work"
            yield note(_ABOUT, f"the worker on {name} was last seen {seen.silent_s:.0f} s ago, with {jobs}", todo)
        else:
            yield ok(
                _ABOUT, f"a worker on {name}: {jobs} of up to {seen.worker.sessions}, seen {max(0.0, seen.silent_s):.0f} s ago"
            )
    if len(workers) > _MOST_LISTED:
        yield ok(_ABOUT, f"{len(workers) - _MOST_LISTED} further workers")
