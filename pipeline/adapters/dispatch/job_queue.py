"""The queue of jobs in PostgreSQL: rows that are claimed with ``for update skip locked``.

No queue library is used. What is needed is one statement per method; a library would bring a second schema with a migration
tool of its own, and a loop that runs functions by name, where here a job is nothing but a session id. In return a lost worker's
jobs are claimed like waiting ones, so that no periodic task has to put them back.

A job's place is kept when it is put back. Leases are checked against the server's clock alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

from pipeline.adapters.dispatch.connections import Connections
from pipeline.domain.budget import nano_usd
from pipeline.domain.distribution.jobs import Claim, Job, JobResult, JobState, JobStatus, Night, SeenWorker, WorkerProcess

_NIGHT = """
insert into nights (batch, ends_at, writing_s, cap_nano, cap_tokens, cap_calls)
values (%s, clock_timestamp() + %s, %s, %s, %s, %s) on conflict (batch) do nothing
"""
_ENQUEUE = """
insert into jobs (session, batch, documents, machine)
select session, %s, documents, machine
from unnest(%s::text[], %s::text[], %s::text[]) with ordinality as new (session, documents, machine, n) order by n
on conflict (session) do update set batch = excluded.batch, documents = excluded.documents, machine = excluded.machine,
    place = default, worker = null, leased_until = null, worker_machine = '', stop = '', refused = '{}', taken = 0, result = null
"""
_CLAIM = """
with next as (
    select session from jobs
    where result is null and stop = '' and (worker is null or leased_until < clock_timestamp())
        and machine in ('', %(machine)s) and documents in ('', %(documents)s)
        and not refused ? %(id)s and session <> all(%(without)s)
    order by place limit %(most)s for update skip locked
), taken as (
    update jobs set worker = %(id)s, worker_machine = %(machine)s, leased_until = clock_timestamp() + %(lease)s, taken = taken + 1
    from next where jobs.session = next.session
    returning jobs.session, batch, documents, machine, taken, place
)
select session, documents, machine, taken, batch, extract(epoch from ends_at - clock_timestamp())::float8, writing_s,
    cap_nano, cap_tokens, cap_calls
from taken join nights using (batch) order by place
"""
_SEEN = """
insert into workers (id, machine, sessions, documents, lease, seen)
values (%(id)s, %(machine)s, %(sessions)s, %(documents)s, %(lease)s, clock_timestamp())
on conflict (id) do update set machine = excluded.machine, sessions = excluded.sessions, documents = excluded.documents,
    lease = excluded.lease, seen = excluded.seen
"""
_BEAT = """
update jobs set leased_until = clock_timestamp() + %(lease)s
where worker = %(id)s and session = any(%(sessions)s) and result is null returning session, stop
"""
_END = """
update jobs set worker = null, leased_until = null, result = %(result)s
where session = %(session)s and worker = %(id)s and result is null
"""
_PUT_BACK = """
update jobs set worker = null, leased_until = null,
    refused = case when %(refused)s = '' then refused else refused || jsonb_build_object(%(id)s::text, %(refused)s::text) end,
    result = case when stop = '' then null else %(stopped)s::jsonb end
where session = %(session)s and worker = %(id)s and result is null
"""
_JOBS = """
select session, documents, machine, worker_machine, refused, result, taken, worker is not null, leased_until < clock_timestamp()
from jobs where batch = %s order by place
"""
_STOP = "update jobs set stop = %s where batch = %s and result is null and worker is not null and stop = ''"
_STOP_WAITING = """
update jobs set stop = %s, result = %s, worker = null, leased_until = null
where batch = %s and result is null and (worker is null or leased_until < clock_timestamp())
"""
_CLOSE = (
    "delete from jobs where %(batch)s in ('', batch)",
    "delete from nights where %(batch)s in ('', batch)",
    "delete from night_shares where %(batch)s in ('', batch)",
)
_WORKERS = """
select id, machine, sessions, extract(epoch from lease)::float8, documents, extract(epoch from clock_timestamp() - seen)::float8,
    (select count(*) from jobs where worker = workers.id and result is null)
from workers where seen > clock_timestamp() - %s order by machine, id
"""
_LEAVE_JOBS = """
update jobs set worker = null, leased_until = null, result = case when stop = '' then null else %(stopped)s::jsonb end
where worker = %(id)s and result is null
"""


class PostgresDispatcher:
    """The port ``Dispatcher`` in the database of ``connections``. Each method is one short transaction."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def enqueue(self, night: Night, jobs: Sequence[Job]) -> None:
        """Add jobs to a night."""
        ends_in = None if night.ends_in_s is None else timedelta(seconds=night.ends_in_s)
        cap = None if night.cap_usd is None else nano_usd(night.cap_usd)
        columns = [[job.session for job in jobs], [job.documents for job in jobs], [job.machine for job in jobs]]
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_NIGHT, (night.batch, ends_in, night.writing_s, cap, night.cap_tokens, night.cap_calls))
            connection.execute(_ENQUEUE, (night.batch, *columns))

    def claim(self, worker: WorkerProcess, most: int, without: Collection[str] = ()) -> Sequence[Claim]:
        """Take at most ``most`` jobs."""
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_SEEN, _values(worker))
            found = connection.execute(_CLAIM, {**_values(worker), "most": most, "without": list(without)}).fetchall()
        return [_claim_of(*row) for row in found]

    def beat(self, worker: WorkerProcess, sessions: Collection[str]) -> Mapping[str, str]:
        """Give a sign of life; return those sessions that are still the worker's, each with why it must stop or ""."""
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_SEEN, _values(worker))
            return dict(connection.execute(_BEAT, {**_values(worker), "sessions": list(sessions)}).fetchall())

    def release(self, worker: WorkerProcess, session: str, result: JobResult | None = None, refused: str = "") -> bool:
        """End a job, or put it back."""
        values = {"id": worker.id, "session": session, "refused": refused, "stopped": _STOPPED}
        with self._connections.one() as connection:
            if result is not None:
                return connection.execute(_END, {**values, "result": _json(result)}).rowcount == 1
            return connection.execute(_PUT_BACK, values).rowcount == 1

    def jobs(self, batch: str) -> Sequence[JobState]:
        """Return the jobs of a night, oldest first."""
        with self._connections.one() as connection:
            return [_state_of(*row) for row in connection.execute(_JOBS, (batch,)).fetchall()]

    def stop(self, batch: str, reason: str, *, waiting_only: bool = False) -> None:
        """End jobs that wait; ask the workers of others to stop."""
        result = _json(JobResult(message=reason, stopped=True))
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_STOP_WAITING, (reason, result, batch))
            if not waiting_only:
                connection.execute(_STOP, (reason, batch))

    def close(self, batch: str = "") -> None:
        """Remove a night with its jobs and its budget, or all nights."""
        with self._connections.one() as connection, connection.transaction():
            for statement in _CLOSE:
                connection.execute(statement, {"batch": batch})

    def seconds_ahead(self) -> float:
        """Return by how many seconds the server's clock is ahead of this machine's, to about the time of an answer.

        Raises:
            QueueUnavailable: the database cannot be reached.
        """
        with self._connections.one() as connection:
            asked = time.time()
            row = connection.execute("select extract(epoch from clock_timestamp())::float8").fetchone()
            answered = time.time()
        return (row[0] if row else answered) - (asked + answered) / 2

    def workers(self, seen_within_s: float = 86_400.0) -> Sequence[SeenWorker]:
        """Return the workers that were seen lately."""
        with self._connections.one() as connection:
            rows = connection.execute(_WORKERS, (timedelta(seconds=seen_within_s),)).fetchall()
        return [SeenWorker(WorkerProcess(*row[:5]), row[5], row[6]) for row in rows]

    def leave(self, worker: WorkerProcess) -> None:
        """Remove a worker and put back its jobs."""
        with self._connections.one() as connection, connection.transaction():
            connection.execute(_LEAVE_JOBS, {"id": worker.id, "stopped": _STOPPED})
            connection.execute("delete from workers where id = %s", (worker.id,))


def _json(result: JobResult) -> str:
    return json.dumps(asdict(result))


_STOPPED = _json(JobResult(message="stopped", stopped=True))


def _values(worker: WorkerProcess) -> dict[str, Any]:
    return {**asdict(worker), "lease": timedelta(seconds=worker.lease_s)}


def _claim_of(session: str, documents: str, machine: str, taken: int, batch: str, left_s: float | None, *rest: Any) -> Claim:
    writing_s, nano, tokens, calls = rest
    night = Night(batch, left_s, writing_s, None if nano is None else nano / 1e9, tokens, calls)
    return Claim(Job(session, documents, machine), night, taken)


def _state_of(session: str, documents: str, machine: str, where: str, *rest: Any) -> JobState:
    refused, result, taken, held, lost = rest
    status: JobStatus = "done" if result is not None else "waiting" if not held else "lost" if lost else "taken"
    ended = None if result is None else JobResult(**result)
    return JobState(Job(session, documents, machine), status, where, refused, ended, taken)
