"""What the event store in PostgreSQL costs and survives: ``python -m bench.postgres [append] [chaos] [workers] [bill]``.

- ``append``: appends beside a bare insert + commit of the same line, by one writer and by eight, turn by turn in one run.
- ``chaos``: server, connections and writers are killed 200 times while two writers append.
- ``workers``: a night of own documents and a model that takes 200 ms, by four workers beside one. Wants a quiet machine.
- ``bill``: what a night costs at the server whose run is killed twice, with the log in files and in the database.

The server is a private one, with PostgreSQL's own settings for durability, in the folder for temporary files.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from pathlib import Path
from unittest.mock import patch
from uuid import uuid4

import psycopg

from bench.store import sample
from pipeline.domain.events.json_codec import decode_all
from pipeline.domain.events.session_events import CallSent
from pipeline.search.providers import Brave
from pipeline.store.nights import PostgresNights
from pipeline.store.postgres import PostgresStore
from pipeline.store.postgres_database import Database, check_schema, migrate
from pipeline.store.record_chain import ZEROS, seal
from pipeline.text.times import moment_of
from pipeline.wiring.store_adapters import store_of
from tests.integration.stage import KEYS, queue_text
from tests.postgres_server import PostgresServer, running
from tests.standin.fixtures import hosted
from tests.standin.options import Options
from tests.standin.server import Standin
from tests.store.postgres import chaos

PROGRAM = (sys.executable, "-m", "pipeline")
PARTS = ("append", "chaos", "workers", "bill")
TURNS, TURN_S = 5, 1.5
BATCH = 16
QUESTIONS, LATENCY_S = 24, 0.2
CAP_USD, KILLED_AFTER_S, CALLS = 0.80, (8.0, 8.0), 2
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


@contextmanager
def workspaces(names: Sequence[str], standin: Standin, limits: str, *, search: str = "local") -> Iterator[dict[str, Path]]:
    """Make workspaces with the same questions and documents; without vectors, so that whoever works there begins at once."""
    topics = ("heat pumps", "stone kilns", "river locks", "tidal mills", "sand filters", "glass roofs")
    queries = "".join(f"  - How do {topics[n % 6]} of kind {n} behave?\n" for n in range(QUESTIONS))
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            subprocess.run([*PROGRAM, "-C", f"{scratch}/{name}", "init"], check=True, capture_output=True)
            text = queue_text(standin, search=search, queries=queries, limits=limits, settings="  embeddings: off\n")
            Path(scratch, name, "queries.yaml").write_text(text)
        yield {name: Path(scratch, name) for name in names}


@contextmanager
def at_work(folders: Mapping[str, Path], url: str) -> Iterator[None]:
    """Run a worker in each workspace but the first; all are connected when the block begins."""
    with ExitStack() as stack:
        for machine, folder in list(folders.items())[1:]:
            command, environment = [*PROGRAM, "-q", "work", "--sessions", "2"], on(url, machine)
            process = stack.enter_context(subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL))
            stack.callback(process.terminate)
        nights = PostgresNights(Database(url, check_schema))
        while len(nights.workers()) < len(folders) - 1:
            time.sleep(0.1)
        yield


def on(url: str, machine: str) -> dict[str, str]:
    """Return the environment of a process on one of the machines; ``url`` is "files" for a log in files."""
    return {**os.environ, **KEYS, "RESEARCH_STORE": url, "RESEARCH_MACHINE": machine}


def working(server: PostgresServer) -> None:
    """Print how long one worker and four need for the same night, from its first event to its last."""
    took: dict[int, float] = {}
    for number in (1, 4):
        url, machines = prepared(server), ["here", *(f"worker-{n}" for n in range(number))]
        with hosted(Options(latency_s=LATENCY_S)) as standin, workspaces(machines, standin, "concurrency: 2") as folders:
            with at_work(folders, url):
                run = [*PROGRAM, "-q", "run", "--distribute"]
                subprocess.run(run, cwd=folders["here"], env=on(url, "here"), check=True, stdout=subprocess.DEVNULL)
            store = PostgresStore(url, folders["here"] / "events")
            times = [moment_of(record.at) for name in store.ids("session") for record in store.load(name)]
            store.close()
        took[number] = (max(times) - min(times)).total_seconds()
        print(
            f"{number} worker(s), 2 sessions each: {QUESTIONS} questions in {took[number]:.1f} s, load {os.getloadavg()[0]:.1f}"
        )
    print(f"4 workers / 1: {took[1] / took[4]:.2f} times as fast (wanted >= 3.5)")


def billing(server: PostgresServer) -> None:
    """Print what the server charged for a night whose run was killed twice."""
    for where in ("files", prepared(server)):
        machines = ["here"] if where == "files" else ["here", "north", "south"]
        limits = f"cost_usd: {CAP_USD}, concurrency: {CALLS}"
        with hosted(Options(latency_s=LATENCY_S)) as standin, workspaces(machines, standin, limits, search="brave") as folders:
            command = [*PROGRAM, "-q", "run", *(["--distribute", "--worker-wait", "10s"] if where != "files" else [])]
            with at_work(folders, where) if where != "files" else nullcontext():
                for wait_s in (*KILLED_AFTER_S, 600.0):
                    silent = subprocess.DEVNULL
                    with subprocess.Popen(command, cwd=folders["here"], env=on(where, "here"), stderr=silent) as run:
                        with suppress(subprocess.TimeoutExpired):
                            run.wait(wait_s)
                        run.kill()
            charged = standin.log.charged().usd + Brave.price * len(standin.log.of("brave"))
            with patch.dict(os.environ, RESEARCH_STORE=where):
                store = store_of(folders["here"])
            events = (event for name in store.ids("session") for event in decode_all(one.data for one in store.load(name)))
            worst = max(event.worst.usd for event in events if isinstance(event, CallSent))
        most, place = CAP_USD + max(1, len(machines) - 1) * worst, "files" if where == "files" else "PostgreSQL"
        print(f"{place}, cap {CAP_USD:.2f} USD, two kills: the bill is {charged:.3f} (wanted <= {most:.3f})")


def prepared(server: PostgresServer) -> str:
    """Return the address of a new database with the store's tables."""
    url = server.new_database()
    with psycopg.connect(url, autocommit=True) as connection:
        migrate(connection)
    return url


def main() -> None:
    parts = dict(zip(PARTS, (appends, killed, working, billing), strict=True))
    with running(durable=True, on_disk=True, max_wal_size="2GB") as server:
        for name in sys.argv[1:] or PARTS:
            parts[name](server)


if __name__ == "__main__":
    main()
