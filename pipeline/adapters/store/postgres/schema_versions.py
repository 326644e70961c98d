"""The tables' versions: numbered SQL files that are applied in order, each once. Also who may do what with the tables."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from pipeline.adapters.store.postgres.connection import Connection
from pipeline.errors import LogUnreadable, SchemaTooNew
from pipeline.system.files import read_text

_LOCK = "SELECT pg_advisory_xact_lock(hashtext('night-research schema ' || current_schema()))"
_TABLE = "CREATE TABLE IF NOT EXISTS store_migrations (version int PRIMARY KEY, name text NOT NULL, at timestamptz DEFAULT now())"
_STATE = """
SELECT to_regclass('store_migrations') IS NOT NULL,
       to_regclass('events') IS NOT NULL AND has_table_privilege(to_regclass('events'), 'SELECT')
"""
# Rows that another server wrote and a backup brought here: no transaction of this server can have such a number yet, and a
# subscriber would wait until one has.
_FOREIGN = "SELECT coalesce((SELECT max(xid) FROM events) >= pg_snapshot_xmax(pg_current_snapshot()), false)"
_RENUMBER = "UPDATE events SET xid = '3' WHERE xid >= pg_snapshot_xmin(pg_current_snapshot())"


class Migration(NamedTuple):
    """One step of the schema."""

    version: int
    name: str
    sql: str


def migrations() -> list[Migration]:
    """Return all that this program knows, in order."""
    files = sorted((Path(__file__).parent / "schema").glob("*.sql"))
    return [Migration(int(path.name[:4]), path.stem, read_text(path)) for path in files]


def newest() -> int:
    """Return the version of the schema that this program needs."""
    return migrations()[-1].version


def version(connection: Connection) -> int:
    """Return the version of the schema, 0 if there is none."""
    row = connection.execute(_STATE).fetchone()
    if not row or not row[0]:
        return 0
    found = connection.execute("SELECT coalesce(max(version), 0) FROM store_migrations").fetchone()
    return int(found[0]) if found else 0


def check(connection: Connection) -> None:
    """Refuse a database whose tables this program cannot use.

    Raises:
        LogUnreadable: there are none, or those of an older program, or a backup was restored and not prepared yet.
        SchemaTooNew: those of a newer program.
    """
    found, wanted = version(connection), newest()
    name = connection.info.dbname
    if found == 0:
        raise LogUnreadable(
            f"the database {name} has no event store yet",
            hint=f"create it: research store init, with the address of {name} if the setting names another database",
        )
    if found > wanted:
        raise _too_new(name, found, wanted)
    if found < wanted:
        hint = "upgrade it with `research store init`, as the role that owns the tables"
        raise LogUnreadable(f"the event store in {name} has schema {found}, and this program needs {wanted}", hint=hint)
    row = connection.execute(_FOREIGN).fetchone()
    if row and row[0]:
        hint = "prepare it with `research store init`, as the role that owns the tables"
        raise LogUnreadable(f"the database {name} was restored from the backup of another server", hint=hint)


def migrate(connection: Connection) -> list[str]:
    """Create or upgrade the tables; return the names of the steps that were done. Two that do it at once wait for each other.

    Raises:
        SchemaTooNew: the tables are those of a newer program.
    """
    with connection.transaction():
        connection.execute(_LOCK)
        connection.execute(_TABLE)
        found, known = version(connection), migrations()
        if found > known[-1].version:
            raise _too_new(connection.info.dbname, found, known[-1].version)
        steps = [step for step in known if step.version > found]
        for step in steps:
            connection.execute(step.sql.encode())
            connection.execute("INSERT INTO store_migrations (version, name) VALUES (%s, %s)", (step.version, step.name))
        if not _has_queue(connection):
            from pgqueuer.adapters.persistence.qb import QueryBuilderEnvironment

            connection.execute(QueryBuilderEnvironment().build_install_query(create_schema=False).encode())
        done = [step.name for step in steps]
        row = connection.execute(_FOREIGN).fetchone()
        if row and row[0]:
            connection.execute(_RENUMBER)
            done.append("events of a restored backup were numbered again")
        return done


def _has_queue(connection: Connection) -> bool:
    row = connection.execute("SELECT to_regclass('pgqueuer') IS NOT NULL").fetchone()
    return bool(row and row[0])


def _too_new(name: str, found: int, known: int) -> SchemaTooNew:
    return SchemaTooNew(
        f"the event store in {name} has schema {found}, and this program knows schemas up to {known}",
        hint="upgrade night-research on this machine",
    )


def roles() -> str:
    """Return the SQL that makes a role for research and a role for maintenance, with their rights."""
    return read_text(Path(__file__).with_name("roles.sql"))
