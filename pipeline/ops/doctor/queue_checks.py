"""Checks of the queue that several machines share: its clock, and the workers that were seen lately."""

from __future__ import annotations

from collections import Counter
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
        try:
            ahead_s, workers = dispatcher.seconds_ahead(), dispatcher.workers()
        finally:
            dispatcher.disconnect()
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
    """Yield a finding for each worker that was seen within a day.

    A worker that is gone without any session is told only where no other runs on its machine: nothing is to be done about it.
    """
    alive = Counter(seen.worker.machine for seen in workers if not seen.lost)
    told = [seen for seen in workers if not seen.lost or seen.jobs or not alive[seen.worker.machine]]
    for seen in told[:_MOST_LISTED]:
        yield _worker_finding(seen)
    for machine, count in alive.items():
        if count > 1:
            yield ok(_ABOUT, f"{count} workers go by the name {machine}; RESEARCH_MACHINE gives a worker another name")
    if len(told) > _MOST_LISTED:
        yield ok(_ABOUT, f"{len(told) - _MOST_LISTED} further workers")


def _worker_finding(seen: SeenWorker) -> Finding:
    name, jobs = seen.worker.machine, counted(seen.jobs, "session")
    if not seen.lost:
        return ok(_ABOUT, f"a worker on {name}: {jobs} of up to {seen.worker.sessions}, seen {max(0.0, seen.silent_s):.0f} s ago")
    todo = "others take over its sessions; if it should run: research work" if seen.jobs else "if it should run: research work"
    with_jobs = f", with {jobs}" if seen.jobs else ""
    return note(_ABOUT, f"the worker on {name} was last seen {seen.silent_s:.0f} s ago{with_jobs}", todo)
