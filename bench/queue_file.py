"""How long a queue of 10,000 questions takes to be read and checked, valid and full of faults. Prints figures.

Run: python -m bench.queue_file
"""

from __future__ import annotations

import time

from pipeline.config.queue_file import parse

COUNT = 10_000
BARE = "  - Question number {0} about the things of life, is it?\n"
FULL = '  - query: "Question {0} about things?"\n    tags: [a, b{0}]\n    priority: 3\n'
FAULTY = "  - qeury: a{0}\n    tagz: a\n    priority: x\n"


def main() -> None:
    """Print seconds, questions and faults for each kind of queue."""
    for name, entry in (("texts", BARE), ("mappings", FULL), ("faults", FAULTY)):
        data = ("queries:\n" + "".join(entry.format(number) for number in range(COUNT))).encode()
        start = time.perf_counter()
        queue, faults = parse(data)
        seconds = time.perf_counter() - start
        said = f"{len(queue.queries):,} read, {len(faults):,} faults"
        print(f"{name:10} {COUNT:,} entries, {len(data):,} bytes: {seconds:.2f} s, {said}")


if __name__ == "__main__":
    main()
