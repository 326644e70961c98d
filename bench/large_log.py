"""Commands over a large log: a queue of 10,000 questions of which 9,990 are done, and a log of a million events. Prints figures.

Run: python -m bench.large_log [--events 1000000] [--no-build]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench import made_log

QUEUE, DONE = 10_000, 9_990
NEW = 1


def main() -> None:
    """Print seconds and megabytes of each command."""
    options = argparse.ArgumentParser()
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--no-build", action="store_true", help="leave out the builds; the first makes every note")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        _queue(Path(scratch) / "queue")
        _log(Path(scratch) / "log", given.events, build=not given.no_build)


def _queue(folder: Path) -> None:
    _workspace(folder, QUEUE)
    count = made_log.write(folder / "events", DONE)
    print(f"a queue of {QUEUE:,}, {DONE:,} done, {count:,} events")
    _timed(folder, "list", "list, first time: every log is opened")
    _timed(folder, "list", "list (target 1 s)")
    _timed(folder, "run", "--dry-run", "run --dry-run: what is decided (target 2 s)")


def _log(folder: Path, events: int, *, build: bool) -> None:
    _workspace(folder, 1)
    each = made_log.write(folder / "events", 1)
    count = each + made_log.write(folder / "events", events // each, first=1)
    print(f"a log of {count:,} events in {count // each:,} sessions")
    _timed(folder, "list", "list, first time: every log is opened")
    _timed(folder, "list", "list (target 5 s)")
    _timed(folder, "show", made_log.session_id(7), "show (target 5 s)")
    if build:
        _timed(folder, "build", "build, first time: every note is made")
        made_log.write(folder / "events", NEW, first=events // each + 1)
        _timed(folder, "build", "build with one new session (target 5 s)")
        _timed(folder, "build", "build with nothing new")


def _workspace(folder: Path, questions: int) -> None:
    (folder / "events" / "local").mkdir(parents=True)
    (folder / "corpus").mkdir()
    (folder / "corpus" / "pumps.md").write_text("# Pumps\n\nPumps move water from one place to another.\n")
    entries = (f"  - {{query: {made_log.QUESTION.format(n)!r}, id: {made_log.question_id(n)}}}\n" for n in range(questions))
    (folder / "queries.yaml").write_text("queries:\n" + "".join(entries))


def _timed(folder: Path, *words: str) -> None:
    *arguments, name = words
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "pipeline", "-C", str(folder), *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    )
    said = process.stderr.read() if process.stderr else b""
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    failed = "" if status == 0 else f"  exit {os.waitstatus_to_exitcode(status)}: {said.decode()[-200:]}"
    busy = usage.ru_utime + usage.ru_stime
    print(f"  {name:<50} {seconds:6.2f} s, processor {busy:6.2f} s  {usage.ru_maxrss / 1024:5.0f} MB{failed}", flush=True)


if __name__ == "__main__":
    main()
