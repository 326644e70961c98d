"""The rows of nights: one a night, one a session of its batch, one a host or provider whose pace all machines keep together.

A session's row holds its part of the night's money. What it has spent is set from its log whenever a worker takes it over, so
that a worker which is killed leaves no reservation behind, and no call that was sent is left out. Each take-over begins a new
turn; who wakes up in an old one can neither reserve nor free anything. The night's row is locked while a sum is compared
with a cap.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.domain.budget import Budget, Caps, nano_usd
from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent, LogError, VersionConflict
from pipeline.ports.distribution import BUILD, CLOSE, WORKER, Night
from pipeline.store.postgres_database import Connection, Database

LOOK_S = 0.5  # at most, between two looks whether a turn is free
_log = logging.getLogger("pipeline.store.nights")


def _each(text: str) -> str:
    """Repeat a part of a statement for money, tokens and calls."""
    return ", ".join(text.replace("*", name) for name in ("nano", "tokens", "calls"))


_CLEAR = """
with old as (delete from nights where day = %s returning batch) delete from night_jobs where batch in (select batch from old)
"""
_OPEN = """
insert into nights (day, batch, ends_at, writing_s, cap_nano, cap_tokens, cap_calls, max_failures)
values (%s, %s, clock_timestamp() + make_interval(secs => %s), %s, %s, %s, %s, %s)
"""
# Nothing more may start in such a night.
_OVER = "(halt <> '' or coalesce(ends_at - make_interval(secs => writing_s) <= clock_timestamp(), false))"
_JOB = "insert into night_jobs (batch, place, session, entry) values (%s, %s, %s, %s)"
_NIGHT = """
select day, batch, extract(epoch from ends_at - clock_timestamp())::float8, writing_s,
    cap_nano / 1e9::float8, cap_tokens, cap_calls, max_failures, halt_cause, halt, state <> 'open' from nights"""
_LOCK = "select from nights where batch = %s for update"
_UNFINISHED = " where state <> 'built' order by day limit 1"
_TAKE = f"""
update night_jobs set turn = turn + 1, {_each("reserved_* = 0")}, {_each("before_* = coalesce(before_*, %(*)s)")},
    {_each("spent_* = greatest(0, %(*)s - coalesce(before_*, %(*)s))")},
    fruitless = case when turn > 0 and %(version)s <= version + 1 then fruitless + 1 else 0 end, version = %(version)s
where session = %(session)s and result is null and batch in (select batch from nights where state = 'open' and not {_OVER})
returning batch, turn, fruitless
"""  # noqa: S608 - no value from outside
_MINE = """where batch = %(batch)s and session = %(session)s and turn = %(turn)s and result is null
    and batch in (select batch from nights where state = 'open')"""
_SUMS = f"""
with jobs as (select * from night_jobs where batch = %s)
select {_each("sum(spent_*)::bigint")} from jobs union all select {_each("sum(reserved_*)::bigint")} from jobs
"""  # noqa: S608
_RESERVE = f"update night_jobs set {_each('reserved_* = reserved_* + %(*)s')} {_MINE}"  # noqa: S608
_SETTLE = f"update night_jobs set {_each('reserved_* = reserved_* - %(*)s, spent_* = spent_* + %(paid_*)s')} {_MINE}"  # noqa: S608
_LEAVE = f"""
update night_jobs set turn = turn + 1, {_each("reserved_* = 0")}, {_each("spent_* = greatest(0, %(*)s - before_*)")},
    result = %(result)s {_MINE}
"""  # noqa: S608
_REFUSE = f"""
update night_jobs set refused = refused || jsonb_build_object(%(machine)s::text, %(why)s::text) {_MINE} returning refused
"""  # noqa: S608
_HALT_IF_MANY_FAILED = """
update nights set halt_cause = 'failures', halt = 'too many failures in this night'
where batch = %(batch)s and halt = '' and max_failures <= (
    select count(*) from night_jobs where batch = %(batch)s and result ->> 'status' = 'failed')
"""
_UNDER_WAY = """
select 1 from night_jobs join nights using (batch) join pgqueuer on dedupe_key = session
where batch = %s and result is null and status = 'picked' and heartbeat > now() - interval '5 minutes'
    and coalesce(ends_at > now() - interval '1 minute', true)
"""


@dataclass
class PostgresShare:
    """The port ``Share``: a session in one ``turn``, from its take-over until it is left or taken over again."""

    database: Database
    night: Night
    session: str
    turn: int
    fruitless: int
    refusal: str = ""

    async def reserve(self, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call; ``calls`` is 1 for a model call, 0 for another.

        Raises:
            BudgetSpent: it would exceed a cap of the night; nothing is reserved.
            StoreUnreachable: the database does not answer, so nothing may be spent.
            VersionConflict: the share is void.
        """

        def work(connection: Connection) -> None:
            connection.execute(_LOCK, (self.night.batch,))
            if not connection.execute(_RESERVE, self._with(_amounts(worst, calls))).rowcount:
                raise VersionConflict(f"{self.session} was taken over by another worker, or its night has ended")
            spent, reserved = (
                Cost(usd=nano / 1e9, total_tokens=tokens, calls=calls)
                for nano, tokens, calls in connection.execute(_SUMS, (self.night.batch,)).fetchall()
            )
            Budget(self.night.caps, name="night", spent=spent).check(reserved, reserved.calls)

        try:
            await asyncio.to_thread(self.database.transaction, work)
        except BudgetSpent as error:
            self.refusal = error.message
            raise

    def settle(self, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost; None: it was never sent.

        It is done in the background and tried once, as the log corrects it when the turn ends.
        """
        paid = _amounts(actual or Cost(), calls if actual is not None else 0)
        values = self._with(_amounts(worst, calls) | {f"paid_{name}": amount for name, amount in paid.items()})
        sent: list[bool] = []

        def once(connection: Connection) -> None:
            if not sent:
                sent.append(True)
                connection.execute(_SETTLE, values)

        def settle() -> None:
            try:
                self.database.run(once)
            except LogError as error:
                _log.info("a call of %s could not be settled: %s", self.session, error.message)

        asyncio.get_running_loop().run_in_executor(None, settle)

    def leave(self, cost: Cost, result: Mapping[str, Any] | None = None) -> bool:
        """End the turn, and the job with it if there is a result."""
        values = self._with(_amounts(cost, cost.calls)) | {"result": json.dumps(result) if result else None}

        def work(connection: Connection) -> bool:
            connection.execute(_LOCK, (self.night.batch,))
            left = connection.execute(_LEAVE, values).rowcount == 1
            if left and result:
                connection.execute(_HALT_IF_MANY_FAILED, values)
                _advance(connection)
            return left

        return self.database.transaction(work)

    def refuse(self, machine: str, why: str) -> Mapping[str, str]:
        """Note that a machine is not set up for the session; return all such machines, and why."""
        rows = self.database.rows(_REFUSE, **self._with({"machine": machine, "why": why}))
        return rows[0][0] if rows else {}

    def _with(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return {**values, "batch": self.night.batch, "session": self.session, "turn": self.turn}


class PostgresNights:
    """The ports ``Nights`` and ``SharedPace``. Each method is one transaction."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def open(self, night: Night, jobs: Mapping[str, str]) -> None:
        """Begin a night's batch."""
        usd, tokens, calls = night.caps
        caps = (None if usd is None else nano_usd(usd), tokens, calls, night.max_failures)
        rows = [(night.batch, place, session, entry) for place, (session, entry) in enumerate(jobs.items())]

        def work(connection: Connection) -> None:
            connection.execute(_CLEAR, (night.day,))
            connection.execute(_OPEN, (night.day, night.batch, night.ends_in_s, night.writing_s, *caps))
            connection.cursor().executemany(_JOB, rows)
            _advance(connection)

        self._database.transaction(work)

    def unfinished(self) -> Night | None:
        """Return the night whose batch is not built yet, if there is one."""
        rows = self._database.rows(_NIGHT + _UNFINISHED)
        return _night_of(rows[0]) if rows else None

    def advance(self) -> None:
        """Put in the queue what a night waits for and the queue lacks."""
        self._database.transaction(_advance)

    def take(self, session: str, so_far: Cost, version: int) -> PostgresShare | None:
        """Begin a new turn of a session."""
        values = _amounts(so_far, so_far.calls) | {"session": session, "version": version}

        def work(connection: Connection) -> PostgresShare | None:
            row = connection.execute(_TAKE, values).fetchone()
            night = row and connection.execute(_NIGHT + " where batch = %s", (row[0],)).fetchone()
            return PostgresShare(self._database, _night_of(night), session, *row[1:]) if row and night else None

        return self._database.transaction(work)

    def halt(self, batch: str, cause: str, reason: str) -> None:
        """Let nothing more start in a batch."""
        query = "update nights set halt_cause = %s, halt = %s where batch = %s and halt = ''"

        def work(connection: Connection) -> None:
            connection.execute(query, (cause, reason, batch))
            _advance(connection)

        self._database.transaction(work)

    def jobs(self, batch: str) -> Sequence[tuple[str, Mapping[str, Any] | None, Mapping[str, str]]]:
        """Return the sessions of a batch in order, each with its result and the machines that are not set up for it."""
        query = "select session, result, refused from night_jobs where batch = %s order by place"
        return self._database.rows(query, batch)

    def close(self, batch: str, *, built: bool = False) -> None:
        """Note that the outcome of a batch is in the log, or that it is built."""

        def work(connection: Connection) -> None:
            connection.execute("update nights set state = %s where batch = %s", ("built" if built else "closed", batch))
            _advance(connection)

        self._database.transaction(work)

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
        return sorted(row[0] for row in self._database.rows(query, len(WORKER) + 1, f"{WORKER}%"))

    def take_turn(self, name: str, hold_s: float) -> float:
        """Take the turn at a host or provider for ``hold_s`` seconds, if it is free; return 0, else in how many seconds it is.

        A row that another machine inserts at this moment is met by the insert and not by the ``select``, which reads what was
        committed before: that a turn was taken is read from the insert alone.
        """
        query = """with taken as (
                insert into pace (name, next_at) values (%(name)s, clock_timestamp() + make_interval(secs => %(hold)s))
                on conflict (name) do update set next_at = excluded.next_at where pace.next_at <= clock_timestamp() returning 1
            ) select exists (select from taken),
                (select extract(epoch from next_at - clock_timestamp())::float8 from pace where name = %(name)s)"""
        ((taken, wait_s),) = self._database.rows(query, name=name, hold=hold_s)
        return 0.0 if taken else max(0.001, wait_s or 0.0)

    async def turn(self, name: str, hold_s: float) -> None:
        """Return when it is this process's turn at a host or provider."""
        while (wait_s := await asyncio.to_thread(self.take_turn, name, hold_s)) > 0:
            await asyncio.sleep(min(wait_s, LOOK_S))

    async def rest(self, name: str, pause_s: float) -> None:
        """End a turn: the next may be taken after ``pause_s`` seconds."""
        query = "update pace set next_at = clock_timestamp() + make_interval(secs => %s) where name = %s"
        await asyncio.to_thread(self._database.rows, query, pause_s, name)

    def seconds_ahead(self) -> float:
        """Return by how many seconds the server's clock is ahead of this machine's, to about the time of an answer."""
        self._database.rows("select 1")  # connected
        asked = time.time()
        ((theirs,),) = self._database.rows("select extract(epoch from clock_timestamp())::float8")
        return float(theirs) - (asked + time.time()) / 2


def _advance(connection: Connection) -> None:
    """Queue the jobs that the unfinished night waits for; those that are queued or under way are left.

    Where nothing more may start, sessions in the queue leave it, and the batch is closed once none is under way.
    """
    row = connection.execute(f"select batch, state, {_OVER} from nights {_UNFINISHED} for update").fetchone()  # noqa: S608
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
    jobs = jobs or [(last, batch, f"{last} {batch}", 0)]
    # Slow to import, and most runs share no night.
    from pgqueuer.adapters.drivers.psycopg import SyncPsycopgDriver
    from pgqueuer.queries import SyncQueries

    SyncQueries(SyncPsycopgDriver(connection)).enqueue(
        [entry for entry, _, _, _ in jobs],
        [subject.encode() for _, subject, _, _ in jobs],
        [-place for _, _, _, place in jobs],
        dedupe_key=[key for _, _, key, _ in jobs],
        on_conflict="skip",
    )


def _night_of(row: Sequence[Any]) -> Night:
    day, batch, ends_in_s, writing_s, *caps, max_failures, cause, reason, closed = row
    return Night(day, batch, ends_in_s, writing_s, Caps(*caps), max_failures, (cause, reason), closed)


def _amounts(cost: Cost, calls: int) -> dict[str, Any]:
    return {"nano": nano_usd(cost.usd), "tokens": cost.total_tokens, "calls": calls}
