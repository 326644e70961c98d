"""Processes that help: how many, and that neither they nor the one that asks outlive what they are for."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.system.worker_pool import processors

ROOT = Path(__file__).parents[2]
POOL = """
import multiprocessing, os, signal, sys, time
from concurrent.futures import ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from pipeline.system.worker_pool import begin, spawning
if __name__ == "__main__":
    with ProcessPoolExecutor(2, spawning(), begin) as pool:
        wait([pool.submit(time.sleep, 0.1) for _ in range(2)])
        helping = sorted(process.pid for process in multiprocessing.active_children())
        os.kill(helping[int(sys.argv[1])], signal.SIGKILL)
        with suppress(BrokenProcessPool):  # the pool has noticed
            while True:
                pool.submit(os.getpid).result()
    print(len(helping))
"""


def test_no_more_processors_than_asked_for_and_at_least_one() -> None:
    assert processors(1) == 1
    assert 1 <= processors(4) <= 4


@pytest.mark.parametrize("victim", ["0", "1"])
def test_a_pool_of_which_a_process_dies_at_rest_comes_to_its_end(victim: str) -> None:
    """The one that died may have held what the other waits for; then that one must be ended."""
    ended = subprocess.run([sys.executable, "-c", POOL, victim], cwd=ROOT, capture_output=True, timeout=60, check=False)
    assert ended.stdout == b"2\n", ended.stderr
