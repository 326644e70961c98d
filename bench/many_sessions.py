"""A night of 50 deep sessions by the extractive reasoner over the sample documents, as cron would start it. Prints figures.

Run: python -m bench.many_sessions [--sessions 50]
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent.parent
SUBJECTS = ("an append-only log", "a write-ahead log", "a full-text index", "a static site", "a citation", "a vault of notes")
QUESTIONS = (
    "How does {} survive a crash?",
    "What does {} cost?",
    "When should one use {}?",
    "What goes wrong with {}?",
    "How is {} tested?",
    "What do people disagree on about {}?",
    "Which limits does {} have?",
    "How does {} grow with its size?",
    "What is {} made of?",
)


def main() -> None:
    """Print wall time, processor time and their ratio to what all processors together could do."""
    options = argparse.ArgumentParser()
    options.add_argument("--sessions", type=int, default=50)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        shutil.copytree(ROOT / "corpus", folder / "corpus")
        asked = [question.format(subject) for question in QUESTIONS for subject in SUBJECTS][: given.sessions]
        (folder / "queries.yaml").write_text("queries:\n" + "".join(f"  - {question!r}\n" for question in asked))
        start = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "pipeline", "-C", str(folder), "-q", "run"])
        _, status, usage = os.wait4(process.pid, 0)
        wall, busy = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
        processors = len(os.sched_getaffinity(0))
        print(f"{len(asked)} sessions, exit {os.waitstatus_to_exitcode(status)}: wall {wall:.1f} s, processor {busy:.1f} s")
        ratio = wall / (busy / processors)
        print(f"wall ÷ (processor ÷ {processors}): {ratio:.2f} (target 1.3 on 2); {usage.ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
