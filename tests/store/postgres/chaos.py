"""Writers that append while server, connections and they themselves are killed, and the count of what was lost or doubled.

Run as ``python -m tests.store.postgres.chaos ADDRESS FOLDER STREAM``, one writer: it goes on with the stream where it
ends, and prints ``STREAM VERSION`` after each append that was acknowledged, never before.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import psycopg

from pipeline.errors import StoreUnreachable, WorkspaceLocked
from pipeline.store.postgres import PostgresStore
from pipeline.store.verification import findings_in
from tests.postgres_server import PostgresServer
from tests.store.samples import record

ROOT = Path(__file__).parent.parent.parent.parent.parent


def write(url: str, folder: Path, stream: str) -> None:
    """Append to the stream until killed: each record says how many came before it, so a doubled one shows."""
    store = PostgresStore(url, folder)
    while True:
        try:
            version = len(store.load(stream))
            while True:
                version = store.append(stream, [record(version + 1, stream, note=version)], version)
                print(stream, version, flush=True)
        except (StoreUnreachable, WorkspaceLocked):
            time.sleep(0.05)  # its predecessor's connection may still be open


@dataclass
class Count:
    """What happened: appends acknowledged, kills by kind, and of the acknowledged appends those lost or stored twice."""

    acknowledged: int = 0
    stored: int = 0
    lost: int = 0
    doubled: int = 0
    findings: list[str] = field(default_factory=list)
    kills: dict[str, int] = field(default_factory=dict)


class Writers:
    """Writer processes, one for each stream; one that dies is started again."""

    def __init__(self, url: str, folder: Path, number: int) -> None:
        self.url, self.folder = url, folder
        self.streams = [f"s-{n}" for n in range(number)]
        self.acknowledged: dict[str, set[int]] = {stream: set() for stream in self.streams}
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self.threads: list[threading.Thread] = []

    def start(self, stream: str) -> None:
        """Start the stream's writer."""
        command = [sys.executable, "-m", "tests.store.postgres.chaos", self.url, str(self.folder), stream]
        self.processes[stream] = process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        thread = threading.Thread(target=self._note, args=(process, stream), daemon=True)
        thread.start()
        self.threads.append(thread)

    def _note(self, process: subprocess.Popen[str], stream: str) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                self.acknowledged[stream].add(int(line.split()[1]))

    def kill(self, stream: str) -> None:
        """Kill the stream's writer and wait for all that it printed."""
        self.processes[stream].kill()
        self.processes[stream].wait()

    def count(self) -> int:
        """Return how many appends were acknowledged so far."""
        return sum(map(len, self.acknowledged.values()))

    def wait_for(self, more: int) -> None:
        """Wait until so many more appends were acknowledged."""
        until, wanted = time.monotonic() + 120, self.count() + more
        while self.count() < wanted:
            if time.monotonic() > until:
                raise TimeoutError(f"{self.count()} appends were acknowledged, and no more")
            if all(process.poll() is not None for process in self.processes.values()):
                raise ChildProcessError("all writers have ended")
            time.sleep(0.01)


def run(
    server: PostgresServer, url: str, folder: Path, writers: int, kills: dict[str, int], seed: int, between: int = 10
) -> Count:
    """Let ``writers`` append while server, connections and writers are killed as often as ``kills`` says, in random order.

    ``between`` is the mean number of appends that must be acknowledged between two kills.
    """
    chance = Random(seed)
    team = Writers(url, folder, writers)
    acts: dict[str, Callable[[], None]] = {
        "server": lambda: _restart(server),
        "connections": lambda: _cut(url),
        "writer": lambda: _replace(team, chance.choice(team.streams)),
    }
    for stream in team.streams:
        team.start(stream)
    order = [name for name, number in kills.items() for _ in range(number)]
    chance.shuffle(order)
    for name in order:
        team.wait_for(chance.randint(1, 2 * between))
        acts[name]()
    team.wait_for(between)
    for stream in team.streams:
        team.kill(stream)
    for thread in team.threads:
        thread.join()
    return _counted(url, folder, team, kills)


def _restart(server: PostgresServer) -> None:
    server.kill()
    server.start()


def _cut(url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        others = "datname = current_database() AND pid <> pg_backend_pid()"
        connection.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE {others}")  # noqa: S608


def _replace(team: Writers, stream: str) -> None:
    team.kill(stream)
    team.start(stream)


def _counted(url: str, folder: Path, team: Writers, kills: dict[str, int]) -> Count:
    store = PostgresStore(url, folder)
    count = Count(kills=dict(kills), acknowledged=team.count())
    for stream in team.streams:
        records = list(store.load(stream))
        count.stored += len(records)
        count.lost += len(team.acknowledged[stream] - {one.version for one in records})
        count.doubled += sum(one != record(one.version, stream, note=one.version - 1) for one in records)
    count.findings = [str(finding) for finding in findings_in(store)]
    store.close()
    return count


if __name__ == "__main__":
    write(sys.argv[1], Path(sys.argv[2]), sys.argv[3])
