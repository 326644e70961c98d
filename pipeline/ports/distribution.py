"""The ports of a batch that several machines work on: the queue of jobs, and the money that all of them share."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from pipeline.domain.distribution.jobs import Claim, Job, JobResult, JobState, Night, SeenWorker, Share, WorkerProcess
from pipeline.domain.values import Cost


class Dispatcher(Protocol):
    """A queue of jobs between one process that makes them and workers on any machine. All times are by the queue's own clock.

    A job is taken by one worker at a time. A worker that was not heard of for its lease loses its jobs to whoever claims next.
    Each method may raise ``QueueUnavailable``: the queue cannot be reached; the call may or may not have taken effect. Each may
    be called from any thread.
    """

    def enqueue(self, night: Night, jobs: Sequence[Job]) -> None:
        """Add jobs to a night, behind those that wait already. A session that is queued already gets a new, waiting job.

        The first call for a night sets its end and its caps.
        """
        ...

    def claim(self, worker: WorkerProcess, most: int, without: Collection[str] = ()) -> Sequence[Claim]:
        """Take at most ``most`` jobs, oldest first: such that wait, or whose worker is lost. It is also a sign of life.

        Jobs for another machine, about other documents than the worker's, and of the sessions ``without`` are left.
        """
        ...

    def beat(self, worker: WorkerProcess, sessions: Collection[str]) -> Mapping[str, str]:
        """Give a sign of life for these sessions; return those that are still the worker's, each with why it must stop, or "".

        A session that is missing is no longer the worker's: another may work on it. A job that is the worker's without its
        knowledge, since the answer to its claim was lost, is not named, and so goes to others when its lease ends.
        """
        ...

    def release(self, worker: WorkerProcess, session: str, result: JobResult | None = None, refused: str = "") -> bool:
        """End a job with its result; without one put it back, first in line, for others alone if it was ``refused``.

        Return False if the job was no longer this worker's; then nothing is changed.
        """
        ...

    def jobs(self, batch: str) -> Sequence[JobState]:
        """Return the jobs of a night, oldest first. Those whose worker is lost have the status ``lost``."""
        ...

    def stop(self, batch: str, reason: str, *, waiting_only: bool = False) -> None:
        """End jobs that wait, as stopped; ask the workers of all others to stop, unless ``waiting_only``."""
        ...

    def close(self, batch: str = "") -> None:
        """Remove a night with its jobs and its budget, whoever works on them; without a name all nights."""
        ...

    def workers(self, seen_within_s: float = 86_400.0) -> Sequence[SeenWorker]:
        """Return the workers that gave a sign of life within that time, by machine and id."""
        ...

    def leave(self, worker: WorkerProcess) -> None:
        """Remove a worker that ends, and put back the jobs that it still has."""
        ...


class SharedBudget(Protocol):
    """What all workers of a night may spend together. A call's worst case is reserved before it is sent, and settled after.

    Each method may raise ``QueueUnavailable``, and may be called from any thread.
    """

    def take_over(self, batch: str, session: str, so_far: Cost) -> Share:
        """Free what is reserved for a session, set what it spent in this night from its cost ``so_far``, and return its share.

        At the first call for a session, ``so_far`` is what it had cost before this night. Shares returned before are void.
        """
        ...

    def reserve(self, share: Share, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call; ``calls`` is 1 for a model call, 0 for another.

        Raises:
            BudgetSpent: it would exceed a cap of the night; nothing is reserved.
            VersionConflict: the share is void.
        """
        ...

    def settle(self, share: Share, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost; None: it was never sent. Of a void share nothing is changed."""
        ...
