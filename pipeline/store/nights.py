"""The rows of nights: one a night with its money, one a session of its batch, one a host or provider whose pace all keep.

A call's worst case counts as spent in the night's row before it is sent, and is replaced by its price afterwards. That of a
worker that was killed stays: its calls may have been sent. Each take-over of a session begins a new turn; who wakes up in an old
one can end nothing.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from pgqueuer.adapters.drivers.psycopg import SyncPsycopgDriver
from pgqueuer.queries import SyncQueries
from psycopg.types.json import Jsonb

from pipeline.domain.budget import Budget, Caps, nano_usd
from pipeline.domain.research_values import Cost
from pipeline.errors import BudgetSpent, LogError, VersionConflict
from pipeline.ports.night_jobs import BUILD, CLOSE, WORKER, Night, NightJob
from pipeline.store.postgres_database import Connection, Database

LOOK_S = 0.5  # at most, between two looks whether a turn is free
_log = logging.getLogger("pipeline.store.nights")


_OPEN = """
insert into nights (day, batch, ends_at, writing_s, cap_nano, cap_tokens, cap_calls, max_failures)
values (%s, %s, clock_timestamp() + make_interval(secs => %s), %s, %s, %s, %s, %s)
"""
_JOB = "insert into night_jobs (batch, place, session, query_id, query, entry) values (%s, %s, %s, %s, %s, %s)"
_UNFINISHED = "from nights where state <> 'built' order by day limit 1"
_NIGHT = f"""
select day, batch, extract(epoch from ends_at - clock_timestamp())::float8, writing_s,
    cap_nano / 1e9::float8, cap_tokens, cap_calls, halt_cause, halt {_UNFINISHED}
"""  # noqa: S608 - no value from outside
# Nothing more may start in such a night.
_OVER = "(halt <> '' or coalesce(ends_at - make_interval(secs => writing_s) <= clock_timestamp(), false))"
_TAKE = f"""
with log as (select coalesce(max(version), 0) as last from streams where stream = %(session)s)
update night_jobs set turn = turn + 1, version = last,
    fruitless = case when turn > 0 and last <= version + 1 then fruitless + 1 else 0 end
from log where session = %(session)s and result is null
    and batch in (select batch from nights where state = 'open' and not {_OVER})
returning turn, fruitless, session, query_id, query, entry, result, refused
"""  # noqa: S608 - no value from outside
_MINE = """where batch = %s and session = %s and turn = %s and result is null
    and batch in (select batch from nights where state = 'open')"""
_SPENT = "select spent_nano / 1e9::float8, spent_tokens, spent_calls from nights where batch = %s and state = 'open' for update"
_SPEND = """
update nights set spent_nano = spent_nano + %s, spent_tokens = spent_tokens + %s, spent_calls = spent_calls + %s where batch = %s
"""
_HALT_IF_MANY_FAILED = """
update nights set halt_cause = 'failures', halt = 'too many failures in this night'
where state = 'open' and halt = '' and max_failures <= (
    select count(*) from night_jobs where night_jobs.batch = nights.batch and result ->> 'status' = 'failed')
"""
_UNDER_WAY = """
select 1 from night_jobs join pgqueuer on dedupe_key = session
where batch = %s and result is null and status = 'picked' and heartbeat > now() - interval '5 minutes'
"""


@dataclass
class PostgresShare:
    """The port ``Share``: a session in one ``turn``, from its take-over until it ends or is taken over again."""

    database: Database
    night: Night
    job: NightJob
    turn: int
    fruitless: int
    refusal: str = ""

    async def reserve(self, worst: Cost, calls: int) -> None:
        """Count the worst case of one call as spent; ``calls`` is 1 for a model call, 0 for another.

        Raises:
            BudgetSpent: it would exceed a cap of the night; nothing is reserved.
            StoreUnreachable: the database does not answer, so nothing may be spent.
            VersionConflict: the night has ended.
        """

        def work(connection: Connection) -> None:
            row = connection.execute(_SPENT, (self.night.batch,)).fetchone()
            if row is None:
                raise VersionConflict(f"the night of {self.job.session} has ended")
            spent = Cost(usd=row[0], total_tokens=row[1], calls=row[2])
            Budget(self.night.caps, name="night", spent=spent).check(worst, calls)
            connection.execute(_SPEND, (nano_usd(worst.usd), worst.total_tokens, calls, self.night.batch))

        try:
            await asyncio.to_thread(self.database.transaction, work)
        except BudgetSpent as error:
            self.refusal = error.message
            raise

    def settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost; None: it was never sent.

        It is done in the background and tried once: if nobody can say whether that was stored, the worst case counts.
        """
        paid, uncounted = (Cost(), -calls) if actual is None else (actual, 0)
        change = (nano_usd(paid.usd) - nano_usd(worst.usd), paid.total_tokens - worst.total_tokens, uncounted, self.night.batch)
        unsent = [change]

        def once(connection: Connection) -> None:
            if unsent:
                connection.execute(_SPEND, unsent.pop())

        def settle() -> None:
            try:
                self.database.run(once)
            except LogError as error:
                _log.info("a call of %s could not be settled: %s", self.job.session, error.message)

        asyncio.get_running_loop().run_in_executor(None, settle)

    def end(self, result: Mapping[str, Any]) -> None:
        """End the job with its result."""
        self._change("result = %s", Jsonb(result))

    def refuse(self, machine: str, why: str) -> Mapping[str, str]:
        """Note that a machine is not set up for the session, which is no loss; return all such machines, and why."""
        self._change("fruitless = 0, refused = refused || %s", Jsonb({machine: why}))
        return {**self.job.refused, machine: why}

    def _change(self, change: str, value: Jsonb) -> None:
        query = f"update night_jobs set {change} {_MINE}"  # noqa: S608 - no value from outside
        if not _changed(self.database, query, value, self.night.batch, self.job.session, self.turn):
            raise VersionConflict(f"{self.job.session} was taken over by another worker, or its night has ended")


class PostgresNights:
    """The ports ``Nights`` and ``SharedPace``. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, night: Night, jobs: Sequence[NightJob]) -> None:
        """Begin a night's batch."""
        usd, tokens, calls = night.caps
        caps = (None if usd is None else nano_usd(usd), tokens, calls, night.max_failures)
        rows = [(night.batch, place, *job[:4]) for place, job in enumerate(jobs)]

        def work(connection: Connection) -> None:
            connection.execute("delete from night_jobs")  # no other night is under way
            connection.execute("delete from nights where day = %s", (night.day,))
            connection.execute(_OPEN, (night.day, night.batch, night.ends_in_s, night.writing_s, *caps))
            connection.cursor().executemany(_JOB, rows)
            _advance(connection)

        self._database.transaction(work)

    def unfinished(self) -> Night | None:
        """Return the night whose batch is not built yet, if there is one."""
        return self._database.run(_unfinished)

    def advance(self) -> None:
        """Put in the queue what a night waits for and the queue lacks: sessions, else the closing, else the building."""
        self._database.transaction(_advance)

    def take(self, session: str) -> PostgresShare | None:
        """Take a session; None if it or its night is over. Earlier shares of it are void."""

        def work(connection: Connection) -> PostgresShare | None:
            row, night = connection.execute(_TAKE, {"session": session}).fetchone(), _unfinished(connection)
            return PostgresShare(self._database, night, NightJob(*row[2:]), row[0], row[1]) if row and night else None

        return self._database.transaction(work)

    def halt(self, batch: str, cause: str, reason: str) -> None:
        """Let nothing more start in a batch. The first reason counts."""
        query = "update nights set halt_cause = %s, halt = %s where batch = %s and halt = ''"
        _changed(self._database, query, cause, reason, batch)

    def close(self, batch: str, *, built: bool = False) -> None:
        """Note that the outcome of a batch is in the log; or that it is built, which ends it."""
        query = "update nights set state = %s where batch = %s"
        _changed(self._database, query, "built" if built else "closed", batch)

    def jobs(self, batch: str) -> Sequence[NightJob]:
        """Return the sessions of a batch in order."""
        query = "select session, query_id, query, entry, result, refused from night_jobs where batch = %s order by place"
        return [NightJob(*row) for row in self._database.rows(query, batch)]

    def queue(self) -> Mapping[str, tuple[int, int]]:
        """Return by entry point how many jobs could be taken now and how many are under way."""
        query = """select entrypoint, count(*) filter (where status = 'queued' and execute_after <= now()),
            count(*) filter (where status = 'picked' and heartbeat > now() - interval '5 minutes')
            from pgqueuer group by 1 order by 1"""
        return {entry: (waiting, running) for entry, waiting, running in self._database.rows(query)}

    def workers(self) -> Sequence[str]:
        """Return the names of the workers that are connected, sorted."""
        query = """select substr(application_name, %s) from pg_stat_activity
            where datname = current_database() and application_name like %s"""
        return sorted(unquote(row[0]) for row in self._database.rows(query, len(WORKER) + 1, f"{WORKER}%"))

    def take_turn(self, name: str, hold_s: float) -> float:
        """Take the turn at a host or provider for ``hold_s`` seconds, if it is free; return 0, else in how many seconds it is."""
        take = """insert into pace (name, next_at) values (%s, clock_timestamp() + make_interval(secs => %s))
            on conflict (name) do update set next_at = excluded.next_at where pace.next_at <= clock_timestamp() returning 1"""
        left = "select extract(epoch from next_at - clock_timestamp())::float8 from pace where name = %s"
        if self._database.rows(take, name, hold_s):
            return 0.0
        return max(0.001, float(self._database.rows(left, name)[0][0]))

    async def turn(self, name: str, hold_s: float) -> None:
        """Return when it is this process's turn at a host or provider."""
        while (wait_s := await asyncio.to_thread(self.take_turn, name, hold_s)) > 0:
            await asyncio.sleep(min(wait_s, LOOK_S))

    async def rest(self, name: str, pause_s: float) -> None:
        """End a turn: the next may be taken after ``pause_s`` seconds."""
        query = "update pace set next_at = clock_timestamp() + make_interval(secs => %s) where name = %s"
        await asyncio.to_thread(self._database.rows, query, pause_s, name)


def _unfinished(connection: Connection) -> Night | None:
    row = connection.execute(_NIGHT).fetchone()
    if row is None:
        return None
    day, batch, ends_in_s, writing_s, *caps, cause, reason = row
    return Night(day, batch, ends_in_s, writing_s, Caps(*caps), halt=(cause, reason))


def _changed(database: Database, query: str, *values: object) -> int:
    """Change rows, and queue what their night waits for then; return how many rows were changed."""

    def work(connection: Connection) -> int:
        changed = connection.execute(query.encode(), values).rowcount
        _advance(connection)
        return changed

    return database.transaction(work)


def _advance(connection: Connection) -> None:
    """Queue the jobs that the unfinished night waits for; those that are queued or under way are left.

    Where nothing more may start, sessions in the queue leave it, and the batch is closed once none is under way.
    """
    connection.execute(_HALT_IF_MANY_FAILED)
    row = connection.execute(f"select batch, state, {_OVER} {_UNFINISHED} for update").fetchone()
    if row is None:
        return
    batch, state, is_over = row
    jobs: list[tuple[str, str, str, int]] = []
    if state == "open" and is_over:
        query = "delete from pgqueuer using night_jobs where dedupe_key = session and batch = %s and status = 'queued'"
        connection.execute(query, (batch,))
        if connection.execute(_UNDER_WAY, (batch,)).fetchone():
            return
    elif state == "open":
        query = "select entry, session, session, place from night_jobs where batch = %s and result is null order by place"
        jobs = connection.execute(query, (batch,)).fetchall()
    last = CLOSE if state == "open" else BUILD
    entries, subjects, keys, places = zip(*(jobs or [(last, batch, f"{last} {batch}", 0)]), strict=True)
    payloads, priorities = [subject.encode() for subject in subjects], [-place for place in places]
    SyncQueries(SyncPsycopgDriver(connection)).enqueue(
        list(entries), payloads, priorities, dedupe_key=list(keys), on_conflict="skip"
    )
