"""Ranking by meaning: how long it takes, how much is lost by comparing one bit a number first, and the size on disk.

    python bench/embeddings.py [PASSAGES]

Vectors are drawn at random around 50 subjects, in 384 and in 1,536 numbers. Times are of the processor.
"""

from __future__ import annotations

import sys
import tempfile
import time
from array import array
from pathlib import Path
from random import Random

from pipeline.search.vector_cache import VectorCache
from pipeline.search.vectors import cosine, nearest, packed, signature

SUBJECTS, QUERIES, BEST = 50, 3, 100


def main() -> None:
    passages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    print(f"{passages:,} passages        wanted: search <= 50 ms at 10,000 passages, 95% of the nearest 100 found")
    for dimensions in (384, 1_536):
        _measure(passages, dimensions)


def _measure(passages: int, dimensions: int) -> None:
    draw = Random(1)
    subjects = [[draw.gauss(0, 1) for _ in range(dimensions)] for _ in range(SUBJECTS)]
    vectors = [packed(array("f", [value + draw.gauss(0, 0.8) for value in draw.choice(subjects)])) for _ in range(passages)]
    with tempfile.TemporaryDirectory() as folder:
        cache = VectorCache(Path(folder) / "embeddings.sqlite", "made up")
        digests = [number.to_bytes(32, "big") for number in range(passages)]
        began = time.process_time()
        for start in range(0, passages, 32):
            cache.put(dict(zip(digests[start : start + 32], vectors[start : start + 32], strict=True)))
        writing = time.process_time() - began
        began = time.process_time()
        signatures = [(signature(vector), number) for number, (_, vector) in enumerate(cache.all())]
        loading = time.process_time() - began

        searching, shares = 0.0, []
        for query in draw.sample(vectors, QUERIES):
            began = time.process_time()
            found = nearest(query, signatures, dict(enumerate(vectors)), BEST)
            searching += time.process_time() - began
            exact = sorted(range(passages), key=lambda number: (-cosine(query, vectors[number]), number))[:BEST]
            shares.append(len(set(found) & set(exact)) / BEST)
        size = sum(path.stat().st_size for path in Path(folder).iterdir()) / passages
    print(
        f"{dimensions:>6} numbers: search {1_000 * searching / QUERIES:.0f} ms, loaded once in {1_000 * loading:.0f} ms, "
        f"written at {passages / writing:,.0f}/s, {size:,.0f} bytes a passage, found {sum(shares) / QUERIES:.1%}"
    )


if __name__ == "__main__":
    main()
