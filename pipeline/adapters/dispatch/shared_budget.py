"""The budget that all workers of a night share: one row per night, which is locked while a reservation is compared with the caps.

The sums in that row are those of the sessions' shares. What a session has spent is set from its log whenever a worker takes it
over, so that a worker which is killed leaves no reservation behind, and no call that was sent is left out. Each take-over begins
a new turn; a worker that wakes up in an old one can neither reserve nor free anything.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import psycopg

from pipeline.adapters.dispatch.connections import Connections
from pipeline.domain.budget import budget_spent, nano_usd
from pipeline.domain.distribution.jobs import Share
from pipeline.domain.values import Cost
from pipeline.errors import BudgetSpent, VersionConflict

_LOCK = """
select cap_nano, cap_tokens, cap_calls, spent_nano, spent_tokens, spent_calls, reserved_nano, reserved_tokens, reserved_calls
from nights where batch = %s for update
"""
_RESERVE_SHARE = """
update night_shares set reserved_nano = reserved_nano + %(nano)s, reserved_tokens = reserved_tokens + %(tokens)s,
    reserved_calls = reserved_calls + %(calls)s
where batch = %(batch)s and session = %(session)s and turn = %(turn)s
"""
_RESERVE = """
update nights set reserved_nano = reserved_nano + %(nano)s, reserved_tokens = reserved_tokens + %(tokens)s,
    reserved_calls = reserved_calls + %(calls)s
where batch = %(batch)s
"""
_SETTLE_SHARE = """
update night_shares set reserved_nano = reserved_nano - %(nano)s, reserved_tokens = reserved_tokens - %(tokens)s,
    reserved_calls = reserved_calls - %(calls)s, spent_nano = spent_nano + %(paid_nano)s,
    spent_tokens = spent_tokens + %(paid_tokens)s, spent_calls = spent_calls + %(paid_calls)s
where batch = %(batch)s and session = %(session)s and turn = %(turn)s
"""
_SETTLE = """
update nights set reserved_nano = reserved_nano - %(nano)s, reserved_tokens = reserved_tokens - %(tokens)s,
    reserved_calls = reserved_calls - %(calls)s, spent_nano = spent_nano + %(paid_nano)s,
    spent_tokens = spent_tokens + %(paid_tokens)s, spent_calls = spent_calls + %(paid_calls)s
where batch = %(batch)s
"""
_FIRST_TURN = """
insert into night_shares (batch, session, before_nano, before_tokens, before_calls)
values (%(batch)s, %(session)s, %(nano)s, %(tokens)s, %(calls)s) on conflict (batch, session) do nothing
"""
_TAKE_OVER = """
with old as (
    select * from night_shares where batch = %(batch)s and session = %(session)s
), mine as (
    update night_shares as share set turn = share.turn + 1, reserved_nano = 0, reserved_tokens = 0, reserved_calls = 0,
        spent_nano = greatest(0, %(nano)s - share.before_nano), spent_tokens = greatest(0, %(tokens)s - share.before_tokens),
        spent_calls = greatest(0, %(calls)s - share.before_calls)
    where share.batch = %(batch)s and share.session = %(session)s
    returning share.turn, share.spent_nano, share.spent_tokens, share.spent_calls
)
update nights set reserved_nano = nights.reserved_nano - old.reserved_nano,
    reserved_tokens = nights.reserved_tokens - old.reserved_tokens, reserved_calls = nights.reserved_calls - old.reserved_calls,
    spent_nano = nights.spent_nano + mine.spent_nano - old.spent_nano,
    spent_tokens = nights.spent_tokens + mine.spent_tokens - old.spent_tokens,
    spent_calls = nights.spent_calls + mine.spent_calls - old.spent_calls
from old, mine where nights.batch = old.batch returning mine.turn
"""


class _Sums(NamedTuple):
    """The caps of a night (None: no cap), and what is spent and reserved."""

    cap_nano: int | None
    cap_tokens: int | None
    cap_calls: int | None
    spent_nano: int
    spent_tokens: int
    spent_calls: int
    reserved_nano: int
    reserved_tokens: int
    reserved_calls: int

    def refusal(self, nano: int, tokens: int, calls: int) -> BudgetSpent | None:
        """Return which cap a call with that worst case would exceed, if one."""
        if _exceeds(self.cap_nano, self.spent_nano + self.reserved_nano + nano):
            return budget_spent("night", "usd", f"{(self.cap_nano or 0) / 1e9:.2f}", f"{self.spent_nano / 1e9:.4f}")
        if _exceeds(self.cap_tokens, self.spent_tokens + self.reserved_tokens + tokens):
            return budget_spent("night", "tokens", str(self.cap_tokens), str(self.spent_tokens))
        if _exceeds(self.cap_calls, self.spent_calls + self.reserved_calls + calls):
            return budget_spent("night", "calls", str(self.cap_calls), str(self.spent_calls))
        return None


def _exceeds(cap: int | None, amount: int) -> bool:
    return cap is not None and amount > cap


class PostgresBudget:
    """The port ``SharedBudget`` in the database of ``connections``. Each method is one transaction."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def take_over(self, batch: str, session: str, so_far: Cost) -> Share:
        """Begin a new turn: free what is reserved for a session, and set what it spent in this night from its cost so far.

        Raises:
            QueueUnavailable: the database cannot be reached.
        """
        values = _amounts(so_far, so_far.calls) | {"batch": batch, "session": session}
        with self._connections.one() as connection, connection.transaction():
            _locked(connection, batch)
            connection.execute(_FIRST_TURN, values)
            row = connection.execute(_TAKE_OVER, values).fetchone()
        return Share(batch, session, row[0] if row else 0)

    def reserve(self, share: Share, worst: Cost, calls: int) -> None:
        """Reserve the worst case of one call.

        Raises:
            BudgetSpent: it would exceed a cap of the night.
            VersionConflict: the share is void.
            QueueUnavailable: the database cannot be reached.
        """
        amounts = _amounts(worst, calls)
        with self._connections.one() as connection, connection.transaction():
            sums = _locked(connection, share.batch)
            if sums is None or not connection.execute(_RESERVE_SHARE, amounts | share._asdict()).rowcount:
                raise VersionConflict(f"{share.session} was taken over by another worker, or its run has ended")
            if refusal := sums.refusal(**amounts):
                raise refusal
            connection.execute(_RESERVE, amounts | share._asdict())

    def settle(self, share: Share, worst: Cost, calls: int, actual: Cost | None) -> None:
        """Replace a reservation by what the call cost; in an old turn nothing is changed.

        A settlement that a crash of the server loses only leaves more reserved, so that nobody waits for its disk.

        Raises:
            QueueUnavailable: the database cannot be reached.
        """
        paid = _amounts(actual or Cost(), calls if actual is not None else 0)
        values = _amounts(worst, calls) | {f"paid_{name}": amount for name, amount in paid.items()} | share._asdict()
        with self._connections.one() as connection, connection.transaction():
            connection.execute("set local synchronous_commit = off")
            _locked(connection, share.batch)
            if connection.execute(_SETTLE_SHARE, values).rowcount:
                connection.execute(_SETTLE, values)


def _locked(connection: psycopg.Connection, batch: str) -> _Sums | None:
    row = connection.execute(_LOCK, (batch,)).fetchone()
    return _Sums(*row) if row else None


def _amounts(cost: Cost, calls: int) -> dict[str, Any]:
    return {"nano": nano_usd(cost.usd), "tokens": cost.total_tokens, "calls": calls}
