"""Many simulated lives of a workspace, on all processors: nights with faults, kills, power cuts and signals. Prints what broke.

Run: python -m bench.simulate [--seeds 20000] [--first 0] [--processes N]
     python -m bench.simulate --seed N      one life again
     python -m bench.simulate --pairs …     each life goes on apart, on two machines whose logs are then united
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor

from tests.simulation.branches import lived_apart
from tests.simulation.lives import lived


def main() -> None:
    """Print each seed that breaks a promise, then how many were lived; exit 1 if any did."""
    options = argparse.ArgumentParser()
    options.add_argument("--seeds", type=int, default=20_000)
    options.add_argument("--first", type=int, default=0)
    options.add_argument("--seed", type=int)
    options.add_argument("--pairs", action="store_true")
    options.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    given = options.parse_args()
    if given.seed is not None:
        given.first, given.seeds, given.processes = given.seed, 1, 1
    seeds = range(given.first, given.first + given.seeds)
    sys.exit(1 if _live(seeds, given.processes, _pair if given.pairs else lived) else 0)


def _pair(seed: int) -> list[str]:
    return lived_apart(seed).wrong


def _live(seeds: range, processes: int, lived: Callable[[int], list[str]]) -> int:
    start, broken = time.perf_counter(), 0
    with ProcessPoolExecutor(processes, initializer=_silence) as pool:
        for place, (seed, wrong) in enumerate(zip(seeds, pool.map(lived, seeds, chunksize=20), strict=True), start=1):
            broken += bool(wrong)
            for what in wrong:
                print(f"seed {seed}: {what}", flush=True)
            if place % 1_000 == 0:
                print(f"{place:,} lives, {broken} with a broken promise, {time.perf_counter() - start:.0f} s", flush=True)
    print(f"{len(seeds):,} lives from seed {seeds.start}: {broken} with a broken promise, {time.perf_counter() - start:.0f} s")
    return broken


def _silence() -> None:
    """Of the tasks of a process that is gone nobody hears how they ended, and the loop would complain of each."""
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)


if __name__ == "__main__":
    main()
