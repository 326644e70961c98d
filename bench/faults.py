"""Every file operation of a night, its vault and its site fails once, in each of four ways; then comes a clean night.

What was not made must show in exit code, ``last-run.json``, log and stderr alike. Prints operations and what broke.

Run: python -m bench.faults [--processes N]
     python -m bench.faults --command NAME   those of ``research ask``, ``prune``, ``forget``, or ``merge`` over two workspaces
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from tests.faults.filesystem import Fault
from tests.faults.test_nth_operation import COMMANDS, FAULTS, Scene, done, scene

MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there


def main() -> None:
    """Print for each way to fail how many operations were tried, and what broke; exit 1 if anything did."""
    options = argparse.ArgumentParser()
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--command", choices=COMMANDS, default="night")
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as scratch:
        subject = scene(given.command, Path(scratch) / "evening")
        with ProcessPoolExecutor(given.processes) as pool:
            broken = sum([_all(pool, subject, Path(scratch), fault) for fault in FAULTS])
    sys.exit(1 if broken else 0)


def _all(pool: ProcessPoolExecutor, subject: Scene, scratch: Path, fault: Fault) -> int:
    start, broken = time.perf_counter(), 0
    count, _ = pool.submit(_one, subject, scratch, fault, 0).result()
    numbers = range(1, count + 2)
    for at, (_, wrong) in zip(numbers, pool.map(partial(_one, subject, scratch, fault), numbers, chunksize=4), strict=True):
        broken += len(wrong)
        for what in wrong:
            print(f"{fault} at operation {at}: {what}", flush=True)
    print(f"{fault}: each of {count} operations, {broken} violations, {time.perf_counter() - start:.0f} s", flush=True)
    return broken


def _one(subject: Scene, scratch: Path, fault: Fault, at: int) -> tuple[int, list[str]]:
    folder = scratch / f"{fault}-{at}"
    try:
        system, wrong = done(subject, folder, at, fault)
        return len(system.operations), wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
