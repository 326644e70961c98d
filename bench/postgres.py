"""What the event store in PostgreSQL costs and survives: ``python -m bench.postgres [append] [chaos]``.

- ``append``: appends beside a bare insert + commit of the same line, by one writer and by eight, turn by turn in one run.
- ``chaos``: server, connections and writers are killed 200 times while two writers append.

The server is a private one, with PostgreSQL's own settings for durability, in the folder for temporary files.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import uuid4

import psycopg

from bench.store import sample
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import migrate
from pipeline.store.segments import ZEROS, seal
from tests.postgres_server import PostgresServer, running
from tests.store.postgres import chaos

PARTS = ("append", "chaos")
TURNS, TURN_S = 5, 1.5
BATCH = 16
BARE = """CREATE TABLE bare (stream text COLLATE "C", version int, line bytea, PRIMARY KEY (stream, version))"""


def write(kind: str, url: str, go: threading.Barrier) -> int:
    """Append to a new stream for a turn; return the number of events. One writer, with a connection of its own."""
    stream = f"s-{uuid4().hex}"
    store, connection = PostgresStore(url, Path("/nowhere")), psycopg.connect(url, autocommit=True, prepare_threshold=1)
    step = BATCH if kind == "batches" else 1
    store.load(stream)
    go.wait()
    version, until = 0, time.perf_counter() + TURN_S
    while time.perf_counter() < until:
        batch = [sample(version + n, stream) for n in range(1, step + 1)]
        if kind == "bare":
            values = (stream, version + 1, seal(batch[0].data, ZEROS)[0])
            connection.execute("INSERT INTO bare VALUES (%s, %s, %b)", values)
            version += 1
        else:
            version = store.append(stream, batch, version)
    store.close()
    connection.close()
    return version


def rate(kind: str, url: str, writers: int) -> float:
    """Return the events a second of so many writers at once; they are threads, so that starting them takes no processor."""
    go = threading.Barrier(writers)
    with ThreadPoolExecutor(writers) as team:
        return sum(team.map(lambda _: write(kind, url, go), range(writers))) / TURN_S


def appends(server: PostgresServer) -> None:
    """Print appends beside bare inserts."""
    url = prepared(server)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(BARE)
    for writers, wanted in ((1, ""), (8, " (wanted >= 0.70)")):
        rates: dict[str, list[float]] = {"bare": [], "append": [], "batches": []}
        for _ in range(TURNS):
            for kind, found in rates.items():
                found.append(rate(kind, url, writers))
        bare, one, many = (statistics.median(found) for found in rates.values())
        print(f"{writers} writer(s): {bare:.0f} bare inserts/s, {one:.0f} appends/s: append / bare = {one / bare:.2f}{wanted}")
        print(f"{writers} writer(s): in batches of {BATCH}, {many:.0f} events/s: batches / bare = {many / bare:.1f}")


def killed(server: PostgresServer) -> None:
    """Print what was lost or doubled over 200 kills."""
    kills = {"server": 30, "connections": 85, "writer": 85}
    clock = time.perf_counter()
    count = chaos.run(server, prepared(server), Path("/nowhere"), writers=2, kills=kills, seed=1, between=8)
    print(
        f"{sum(kills.values())} kills ({kills}) in {time.perf_counter() - clock:.0f} s: {count.acknowledged} acknowledged, ",
        end="",
    )
    print(f"{count.lost} of them lost, {count.doubled} stored twice (wanted 0 and 0); verify: {count.findings or 'sound'}")


def prepared(server: PostgresServer) -> str:
    """Return the address of a new database with the store's tables."""
    url = server.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
    return url


def main() -> None:
    parts = dict(zip(PARTS, (appends, killed), strict=True))
    with running(durable=True, on_disk=True, max_wal_size="2GB") as server:
        for name in sys.argv[1:] or PARTS:
            parts[name](server)


if __name__ == "__main__":
    main()
