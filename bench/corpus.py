"""Index and query figures of the embedded search over a given folder.

    python bench/corpus.py /usr/share/doc/postgresql-doc-15/html [query …]

Prints pages a second, seconds, peak memory, and the time of a query, first and repeated refreshes included.
"""

from __future__ import annotations

import asyncio
import resource
import statistics
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pipeline.domain.values import Hit
from pipeline.search.passage_search import PassageSearch

QUERIES = (
    "How does write-ahead logging survive a power failure?",
    "default value of checkpoint_timeout",
    "os.replace atomic rename",
    "when are dead rows removed by vacuum",
    "difference between a list and a tuple",
    "how to read a JSON file",
)
ROUNDS = 5


def main(arguments: list[str]) -> None:
    """Measure the folder that the first argument names; further arguments are queries."""
    folder, queries = Path(arguments[0]), tuple(arguments[1:]) or QUERIES
    with tempfile.TemporaryDirectory() as place:
        corpus = PassageSearch(Path(place, "passages.sqlite"), folder)
        _index(corpus)
        size = sum(file.stat().st_size for file in Path(place).iterdir())
        print(f"cache {size / 1e6:.1f} MB, peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")
        _query(corpus, queries)
        corpus.close()


def _index(corpus: PassageSearch) -> None:
    start = time.perf_counter()
    report = corpus.refresh()
    first = time.perf_counter() - start
    print(f"first refresh {first:.2f} s: {report.files} documents ({report.files / first:.0f}/s), {report.passages} passages")
    for reason, count in Counter(problem.reason for problem in report.problems).most_common(6):
        print(f"  skipped {count}: {reason}")
    start = time.perf_counter()
    again = corpus.refresh()
    print(f"second refresh {1000 * (time.perf_counter() - start):.0f} ms: {again.changed} changed")


def _query(corpus: PassageSearch, queries: tuple[str, ...]) -> None:
    for query in queries:
        times: list[float] = []
        hits: tuple[Hit, ...] = ()
        for _ in range(ROUNDS):
            start = time.perf_counter()
            hits = asyncio.run(corpus.search(query, 5)).hits
            times.append(1000 * (time.perf_counter() - start))
        print(f"{statistics.median(times):6.1f} ms  {query}")
        for hit in hits:
            print(f"      {hit.score:.2f}  {hit.url}  {hit.title} / {hit.heading}")


if __name__ == "__main__":
    main(sys.argv[1:])
