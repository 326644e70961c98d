"""Reads streams from the tables: as records, and as the segments that they are as files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from psycopg.pq import TransactionStatus

from pipeline.adapters.store.layout import segment_path
from pipeline.adapters.store.postgres.connection import Connection
from pipeline.adapters.store.record_chain import join, refuse_damage
from pipeline.adapters.store.segment_format import ZEROS, Finding, Line, Segment, open_line, parse
from pipeline.domain.events.records import Record
from pipeline.errors import LogDamaged

# One statement, so that both are of one moment: the stream's row and the state of the prunes come first, then the lines.
_LOAD = """
SELECT 0 AS version, s.head AS line, s.version AS last, coalesce(p.mark, '') AS prunes
FROM (SELECT string_agg(stream || ':' || version, ',' ORDER BY stream) AS mark FROM streams WHERE kind = 'prune') p
LEFT JOIN streams s ON s.stream = %(stream)s
UNION ALL (SELECT version, line, NULL, NULL FROM events WHERE stream = %(stream)s AND version >= %(first)s ORDER BY version)
"""


class Loaded(NamedTuple):
    """Records of a stream, and the mark of all prunes at the same moment."""

    records: list[Record]
    prunes: str


def load(connection: Connection, stream: str, after: int) -> Loaded:
    """Return the records of versions above ``after``.

    Raises:
        LogDamaged: a record was altered, or is missing.
    """
    rows = connection.execute(_LOAD, {"stream": stream, "first": max(after, 1)}, binary=True).fetchall()
    _, head, last, prunes = rows[0]
    lines = _chained(rows[1:], stream, max(after, 1), last or 0, (head or b"").hex().encode())
    if lines is None:
        segments = read_segments(connection, stream)
        refuse_damage(join(segments), stream)
        raise LogDamaged(f"the log of {stream} is damaged: it was changed while it was read", hint="run `research verify`")
    return Loaded([line.record for line in lines if line.record.version > after], prunes)


def record_of(raw: bytes) -> Record:
    """Return the record of one stored line.

    Raises:
        LogDamaged: it was altered.
    """
    if (line := open_line(raw)) is None:
        raise LogDamaged(f"a record is damaged: {raw[:120]!r}", hint="run `research verify`")
    return line.record


def _chained(rows: Iterable[Sequence[object]], stream: str, first: int, last: int, head: bytes) -> list[Line] | None:
    """Return the lines if they verify and continue each other from version ``first`` to the stream's last one, else None."""
    lines: list[Line] = []
    prev = ZEROS if first == 1 else b""
    for version, (_, raw, *_) in enumerate(rows, first):
        line = open_line(raw) if isinstance(raw, bytes) else None
        if line is None or (prev and line.prev != prev) or line.record.version != version or line.record.session_id != stream:
            return None
        lines.append(line)
        prev = line.hash
    is_whole = len(lines) == max(0, last - first + 1) and (not lines or prev == head)
    return lines if is_whole else None


def read_segments(connection: Connection, stream: str) -> list[Segment]:
    """Return the stream's segments as they are as files, each as far as it is sound.

    A stream whose row names another end than its last line has lost lines, or has some too many: that is damage.
    """
    if connection.info.transaction_status == TransactionStatus.INTRANS:
        return _segments(connection, stream)
    with connection.transaction():  # else an append between two queries would look like damage
        connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        return _segments(connection, stream)


def _segments(connection: Connection, stream: str) -> list[Segment]:
    segments = [parse(segment_path(stream, name), content, stream) for name, content in segment_contents(connection, stream)]
    row = connection.execute("SELECT version, head FROM streams WHERE stream = %s", (stream,)).fetchone()
    query = "SELECT version, hash FROM events WHERE stream = %s ORDER BY version DESC LIMIT 1"
    end = connection.execute(query, (stream,)).fetchone()
    if segments and not any(segment.finding for segment in segments) and (row or (0, b"")) != end:
        message = f"the stream's row ends with version {row[0] if row else 0}, its records with version {end[0] if end else 0}"
        segments[-1].finding = Finding(segments[-1].path, len(segments[-1].lines), "corrupt", message)
    elif not segments and row and row[0] > 0:
        message = f"all of its {row[0]} records are missing"
        segments.append(Segment(segment_path(stream, ""), finding=Finding(segment_path(stream, ""), 0, "corrupt", message)))
    return segments


def segment_contents(connection: Connection, stream: str) -> Iterator[tuple[str, bytes]]:
    """Yield name and content of each segment of a stream, sorted by name."""
    query = """
        SELECT segment, version, line FROM events WHERE stream = %(stream)s
        UNION ALL SELECT segment, version, line FROM branch_events WHERE stream = %(stream)s
        ORDER BY 1, 2
    """
    found: dict[str, list[bytes]] = {}
    for name, _, line in connection.execute(query, {"stream": stream}, binary=True):
        found.setdefault(name, []).append(line)
    for name in sorted(found):
        yield name, b"".join(b"%b\n" % line for line in found[name])


def beside(connection: Connection, stream: str) -> list[Record]:
    """Return the records of branches that were joined into a stream, by version."""
    query = """
        SELECT DISTINCT ON (b.hash) b.line FROM branch_events b WHERE b.stream = %(stream)s
        AND NOT EXISTS (SELECT FROM events e WHERE e.stream = b.stream AND e.version = b.version AND e.hash = b.hash)
    """
    lines = (open_line(row[0]) for row in connection.execute(query, {"stream": stream}, binary=True))
    return sorted((line.record for line in lines if line), key=lambda record: (record.version, record.id))
