"""All that is too long for every day, to be run by hand before a release: an hour or two on two cores. Prints figures.

Run: python -m bench.release [suite lives operations kills]      without a name, all four

suite        every test, with the products of cases whole (``SUITE=full``) and a thousand simulated lives
lives        20,000 simulated lives with faults, kills, power cuts and signals (``bench.simulate``)
operations   each file operation of a night failed in each of four ways (``bench.faults``)
kills        200 kills of nights with a model (``bench.deaths``)

What each prints while it works goes on as it is; the table at the end has its last line, and its minutes of clock and processor.
Exit code 1 if anything was found.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
STAGES = {
    "suite": "pytest",
    "lives": "bench.simulate",
    "operations": "bench.faults",
    "kills": "bench.deaths",
}


def main() -> None:
    """Run the stages named on the command line, or all; exit 1 if one of them failed."""
    chosen = sys.argv[1:] or list(STAGES)
    if unknown := [name for name in chosen if name not in STAGES]:
        sys.exit(f"there is no stage {unknown[0]!r}; there are: {', '.join(STAGES)}")
    ended = {name: _run(STAGES[name]) for name in chosen}
    print()
    for name, (code, figures) in ended.items():
        print(f"{name:<11} {'sound' if code == 0 else f'FAILED ({code})'}  {figures}")
    sys.exit(1 if any(code for code, _ in ended.values()) else 0)


def _run(module: str) -> tuple[int, str]:
    """Run a module, show what it prints; return its exit code, and its time and last line."""
    start, before, last = time.perf_counter(), _processor_s(), ""
    command, environment = [sys.executable, "-m", module], {**os.environ, "SUITE": "full" if module == "pytest" else ""}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout or ():
            print(line, end="", flush=True)
            last = line.strip() or last
    clock, processor = time.perf_counter() - start, _processor_s() - before
    return process.returncode, f"{clock / 60:.1f} min, processor {processor / 60:.1f} min: {last}"


def _processor_s() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
