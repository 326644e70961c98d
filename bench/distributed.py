"""Several machines on one queue, as processes on this one: promises under kills, throughput, subscribers, claims.

Run: python -m bench.distributed [kills|sessions|throughput|subscribers|claims]...
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from pipeline.adapters.dispatch.connections import Connections
from pipeline.adapters.dispatch.job_queue import PostgresDispatcher
from pipeline.domain.distribution.jobs import Job, JobResult, Night, WorkerProcess
from tests.postgres_server import PostgresServer, running
from tests.simulation.machines.feeds import write_and_follow
from tests.simulation.machines.night import Simulation
from tests.simulation.machines.trouble import Trouble


def kills(given: argparse.Namespace, folder: Path) -> list[str]:
    """Nights with kills of workers, server and connections until there were enough; each with a cap that it reaches."""
    struck: Counter[str] = Counter()
    faults: list[str] = []
    nights = calls = repeated = acknowledged = 0
    with running(durable=True) as server:
        while sum(struck.values()) < given.kills:
            nights += 1
            cap = 0.02 * given.sessions  # about two thirds of what the night would cost
            night = Simulation.over(server, folder / str(nights), given.sessions, latency_s=0.05, lease_s=1.5, cap_usd=cap)
            with night.crew() as crew:
                left = given.kills - sum(struck.values())
                trouble = Trouble(server, crew, random.Random(given.seed + nights), min(left, given.a_night), 0.35)
                result = night.research(trouble)
            found, account = night.broken(), night.account()
            reasons = {event.reason for event in result.ended if event.status == "failed"}
            struck, faults = struck + trouble.struck, faults + found
            calls, repeated = calls + account.calls, repeated + account.repeated()
            acknowledged += sum(map(len, account.acks.values()))
            states = Counter(event.status for event in result.ended)
            print(
                f"night {nights}: {dict(trouble.struck)}, {dict(states)}, {account.billed_nano / 1e9:.3f} of {cap:.3f} USD",
                *found,
                *reasons,
            )
    print(
        f"{sum(struck.values())} kills ({dict(struck)}) in {nights} nights, {acknowledged} events acknowledged (wanted: 0 broken)"
    )
    print(f"{len(faults)} broken promises; {repeated} of {calls} calls were cut by a kill and repeated ({repeated / calls:.1%})")
    return faults


def sessions(given: argparse.Namespace, folder: Path) -> list[str]:
    """Four workers over many sessions, with some kills and freezes: no recorded answer is asked for again."""
    with running(durable=True) as server:
        night = Simulation.over(server, folder, given.many, at_once=8, latency_s=0.005, lease_s=3.0)
        started = time.monotonic()
        with night.crew() as crew:
            trouble = Trouble(server, crew, random.Random(given.seed), 20, 3.0, ("worker", "worker", "frozen"))
            result = night.research(trouble)
        took, account = time.monotonic() - started, night.account()
        faults = night.broken()
    states = Counter(event.status for event in result.ended)
    print(f"{given.many} sessions by 4 workers in {took:.0f} s: {dict(states)}; {dict(trouble.struck)}")
    print(f"{account.calls} calls, {account.repeated()} repeated; {len(faults)} promises broken (wanted: 0)")
    return faults if states["complete"] == given.many else [*faults, f"only {states['complete']} complete"]


def throughput(given: argparse.Namespace, folder: Path) -> list[str]:
    """One worker and four, each call taking 200 ms: how many times as fast four are."""
    took = {}
    with running(durable=True) as server:
        for workers in (1, 4):
            took[workers] = _timed(server, folder / str(workers), given.light, workers)
    ratio = took[1] / took[4]
    print(
        f"{given.light} sessions, 200 ms a call: one worker {took[1]:.1f} s, four {took[4]:.1f} s: {ratio:.2f} times (wanted 3.5)"
    )
    return [] if ratio >= 3.5 else [f"four workers are only {ratio:.2f} times as fast"]


def _timed(server: PostgresServer, folder: Path, count: int, workers: int) -> float:
    night = Simulation.over(server, folder, count, workers=workers, at_once=2, latency_s=0.2, lease_s=10.0)
    with night.crew():
        time.sleep(3.0)  # all are connected
        started = time.monotonic()
        result = night.research()
        assert all(event.status == "complete" for event in result.ended), night.said
        return time.monotonic() - started


def subscribers(given: argparse.Namespace, folder: Path) -> list[str]:
    """Eight writers, three subscribers: no event is missed, none comes twice."""
    with running(durable=True) as server:
        url = Simulation.over(server, folder, 0).url
        started = time.monotonic()
        faults = write_and_follow(url, folder, writers=8, events=given.events, subscribers=3)
    print(f"{given.events} events, 8 writers, 3 subscribers, {time.monotonic() - started:.0f} s: {len(faults)} faults (wanted 0)")
    return faults


def claims(given: argparse.Namespace, folder: Path) -> list[str]:
    """How many jobs a second one worker can claim and end, one at a time, beside a bare insert and commit."""
    with running(durable=True) as server:
        url = Simulation.over(server, folder, 0).url
        connections = Connections(url)
        queue, worker = PostgresDispatcher(connections), WorkerProcess("w", "here", 1, 60.0)
        queue.enqueue(Night("n"), [Job(f"s{number:05}") for number in range(given.jobs)])
        started = time.monotonic()
        while found := queue.claim(worker, 1):
            queue.release(worker, found[0].job.session, JobResult())
        ours = given.jobs / (time.monotonic() - started)
        bare = given.jobs / _bare(connections, given.jobs)
    print(f"{ours:.0f} jobs a second claimed and ended, one at a time; {bare:.0f} bare inserts with commit a second")
    return []


def _bare(connections: Connections, count: int) -> float:
    with connections.one() as connection:
        connection.execute("create table bare (n int)")
        started = time.monotonic()
        for number in range(count):
            connection.execute("insert into bare values (%s)", (number,))
        return time.monotonic() - started


PARTS: tuple[Callable[[argparse.Namespace, Path], list[str]], ...] = (kills, sessions, throughput, subscribers, claims)


def main() -> None:
    """Run the parts that are named, or all; exit 1 if a promise was broken or a wanted figure missed."""
    options = argparse.ArgumentParser()
    names = [part.__name__ for part in PARTS]
    options.add_argument("parts", nargs="*", choices=[*names, []], default=[])
    options.add_argument("--kills", type=int, default=200)
    options.add_argument("--a-night", type=int, default=25)
    options.add_argument("--sessions", type=int, default=60)
    options.add_argument("--many", type=int, default=1_000)
    options.add_argument("--light", type=int, default=24)
    options.add_argument("--events", type=int, default=100_000)
    options.add_argument("--jobs", type=int, default=1_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    faults = []
    for part in [part for part in PARTS if not given.parts or part.__name__ in given.parts]:
        with tempfile.TemporaryDirectory() as scratch:
            faults += part(given, Path(scratch))
    print(*faults[:20], sep="\n")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
