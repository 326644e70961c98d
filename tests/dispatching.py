"""A queue of jobs in memory, by the contract of the real one."""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from pipeline.domain.distribution.jobs import Claim, Job, JobResult, JobState, JobStatus, Night, SeenWorker, WorkerProcess
from pipeline.errors import QueueUnavailable

STOPPED = JobResult(message="stopped", stopped=True)


@dataclass
class Row:
    job: Job
    batch: str
    worker: WorkerProcess | None = None
    leased_until: float = 0.0
    machine: str = ""
    stop: str = ""
    refused: dict[str, str] = field(default_factory=dict)
    taken: int = 0
    result: JobResult | None = None

    @property
    def lost(self) -> bool:
        return self.worker is not None and self.leased_until < time.monotonic()

    def end(self, result: JobResult | None) -> None:
        self.worker, self.result = None, result


class MemoryDispatcher:
    """``down`` is why the queue cannot be reached, or ""."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.nights: dict[str, Night] = {}
        self.seen: dict[str, tuple[WorkerProcess, float]] = {}
        self.down = ""
        self._lock = threading.RLock()

    def _reach(self) -> threading.RLock:
        if self.down:
            raise QueueUnavailable(self.down)
        return self._lock

    def enqueue(self, night: Night, jobs: Sequence[Job]) -> None:
        with self._reach():
            self.nights.setdefault(night.batch, night)
            for job in jobs:
                self.rows.pop(job.session, None)
                self.rows[job.session] = Row(job, night.batch)

    def claim(self, worker: WorkerProcess, most: int, without: Collection[str] = ()) -> Sequence[Claim]:
        with self._reach():
            self._see(worker)
            free = [row for row in self.rows.values() if self._is_free(row, worker) and row.job.session not in without][:most]
            for row in free:
                row.worker, row.machine, row.taken = worker, worker.machine, row.taken + 1
                row.leased_until = time.monotonic() + worker.lease_s
            return [Claim(row.job, self.nights[row.batch], row.taken) for row in free]

    def _is_free(self, row: Row, worker: WorkerProcess) -> bool:
        fits = row.job.machine in ("", worker.machine) and row.job.documents in ("", worker.documents)
        return fits and row.result is None and not row.stop and (row.worker is None or row.lost) and worker.id not in row.refused

    def _see(self, worker: WorkerProcess) -> None:
        self.seen[worker.id] = (worker, time.monotonic())

    def _row_of(self, worker: WorkerProcess, session: str) -> Row | None:
        row = self.rows.get(session)
        return row if row and row.worker and row.worker.id == worker.id else None

    def beat(self, worker: WorkerProcess, sessions: Collection[str]) -> Mapping[str, str]:
        with self._reach():
            self._see(worker)
            mine = {name: row for name, row in self.rows.items() if name in sessions and self._row_of(worker, name)}
            for row in mine.values():
                row.leased_until = time.monotonic() + worker.lease_s
            return {name: row.stop for name, row in mine.items()}

    def release(self, worker: WorkerProcess, session: str, result: JobResult | None = None, refused: str = "") -> bool:
        with self._reach():
            if not (row := self._row_of(worker, session)):
                return False
            row.end(result or (STOPPED if row.stop else None))
            row.refused |= {worker.id: refused} if refused else {}
            return True

    def jobs(self, batch: str) -> Sequence[JobState]:
        with self._reach():
            return [
                JobState(row.job, self._status(row), row.machine, dict(row.refused), row.result, row.taken)
                for row in self.rows.values()
                if row.batch == batch
            ]

    def _status(self, row: Row) -> JobStatus:
        return "done" if row.result else "waiting" if row.worker is None else "lost" if row.lost else "taken"

    def stop(self, batch: str, reason: str, *, waiting_only: bool = False) -> None:
        with self._reach():
            for row in (row for row in self.rows.values() if row.batch == batch and row.result is None):
                if row.worker is None or row.lost:
                    row.stop = reason
                    row.end(JobResult(message=reason, stopped=True))
                elif not waiting_only:
                    row.stop = row.stop or reason

    def close(self, batch: str = "") -> None:
        with self._reach():
            self.rows = {name: row for name, row in self.rows.items() if batch not in ("", row.batch)}
            self.nights = {name: night for name, night in self.nights.items() if batch not in ("", name)}

    def workers(self, seen_within_s: float = 86_400.0) -> Sequence[SeenWorker]:
        with self._reach():
            now = time.monotonic()
            found = [SeenWorker(one, now - at, self._count(one)) for one, at in self.seen.values() if now - at < seen_within_s]
            return sorted(found, key=lambda seen: (seen.worker.machine, seen.worker.id))

    def _count(self, worker: WorkerProcess) -> int:
        return sum(self._row_of(worker, name) is not None for name in self.rows)

    def leave(self, worker: WorkerProcess) -> None:
        with self._reach():
            self.seen.pop(worker.id, None)
            for row in [row for name in self.rows if (row := self._row_of(worker, name))]:
                row.end(STOPPED if row.stop else None)
