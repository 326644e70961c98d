"""Every file operation of a night, its vault and its site fails once, in each of four ways; then comes a clean night.

What was not made must show in exit code, ``last-run.json``, log and stderr alike. Prints operations and what broke.

Run: python -m bench.faults [--processes N]
     python -m bench.faults --merge          those of ``research merge DIR``, over two workspaces with branches
     python -m bench.faults --command NAME   those of ``research ask``, ``prune`` or ``forget``
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
from tests.faults.night import Workspace, workspace
from tests.faults.test_command_operations import Scene, done, scene
from tests.faults.test_merge_operations import Apart, apart, merged
from tests.faults.test_nth_operation import FAULTS, night

Subject = Workspace | Apart | Scene
MEMORY = Path("/dev/shm")  # noqa: S108 - a folder of its own is made there


def main() -> None:
    """Print for each way to fail how many operations were tried, and what broke; exit 1 if anything did."""
    options = argparse.ArgumentParser()
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options.add_argument("--merge", action="store_true")
    options.add_argument("--command", choices=["ask", "prune", "forget"])
    given = options.parse_args()
    with tempfile.TemporaryDirectory(dir=MEMORY if os.access(MEMORY, os.W_OK) else None) as scratch:
        place = Path(scratch) / "evening"
        named = scene(given.command, place) if given.command else None
        subject = named or (apart(place) if given.merge else workspace(place))
        with ProcessPoolExecutor(given.processes) as pool:
            broken = sum([_all(pool, subject, Path(scratch), fault) for fault in FAULTS])
    sys.exit(1 if broken else 0)


def _all(pool: ProcessPoolExecutor, subject: Subject, scratch: Path, fault: Fault) -> int:
    start, broken = time.perf_counter(), 0
    count, _ = pool.submit(_one, subject, scratch, fault, 0).result()
    numbers = range(1, count + 2)
    for at, (_, wrong) in zip(numbers, pool.map(partial(_one, subject, scratch, fault), numbers, chunksize=4), strict=True):
        broken += len(wrong)
        for what in wrong:
            print(f"{fault} at operation {at}: {what}", flush=True)
    print(f"{fault}: each of {count} operations, {broken} violations, {time.perf_counter() - start:.0f} s", flush=True)
    return broken


def _one(subject: Subject, scratch: Path, fault: Fault, at: int) -> tuple[int, list[str]]:
    folder = scratch / f"{fault}-{at}"
    try:
        if isinstance(subject, Scene):
            system, wrong = done(subject, folder, at, fault)
        elif isinstance(subject, Apart):
            system, wrong = merged(subject, folder, at, fault)
        else:
            system, wrong = night(subject, folder, at, fault)
        return len(system.operations), wrong
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
