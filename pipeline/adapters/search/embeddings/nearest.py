"""Vectors in one byte a number, and the nearest of them to a query's vector. Pure Python, without a numeric library.

The nearest are found in two passes: each vector's *signature*, one bit a number, selects some hundred, and these are compared
number by number. Over 10,000 passages that takes a few milliseconds.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Sequence
from heapq import nsmallest
from operator import mul

from pipeline.adapters.search.embeddings.wire_format import Vector

# A byte of a vector → the digit of its sign: bytes are two's complement, so those from 128 on are negative.
_SIGNS = bytes(b"1"[0] if 0 < byte < 128 else b"0"[0] for byte in range(256))
_OVERSAMPLED = 4  # signatures selected for each passage wanted: 98% of the nearest hundred are among them


def packed(vector: Vector) -> bytes:
    """Return the vector in one signed byte a number, the largest number as 127. Its direction is kept, its length is not."""
    scale = 127.0 / max(abs(value) for value in vector)
    return array("b", [round(value * scale) for value in vector]).tobytes()


def signature(vector: bytes) -> int:
    """Return one bit for each number of a packed vector: whether it is positive."""
    return int(vector.translate(_SIGNS), 2)


def cosine(one: bytes, other: bytes) -> float:
    """Return the cosine of the angle between two packed vectors, -1 to 1; 0 if one is all zeros or they differ in length."""
    return _Direction(one).cosine(other)


class _Direction:
    """A packed vector with what comparing it with many others needs only once."""

    def __init__(self, vector: bytes) -> None:
        self._values = array("b", vector)
        self._square = sum(map(mul, self._values, self._values))

    def cosine(self, other: bytes) -> float:
        values = array("b", other)
        lengths = math.sqrt(self._square * sum(map(mul, values, values)))
        return sum(map(mul, self._values, values)) / lengths if lengths and len(values) == len(self._values) else 0.0


def nearest(
    query: bytes,
    signatures: Iterable[tuple[int, int]],
    vectors: Callable[[Sequence[int]], Iterable[tuple[int, bytes]]],
    limit: int,
) -> list[int]:
    """Return the numbers of the ``limit`` passages whose vectors are nearest to ``query``, the nearest first.

    ``signatures`` are pairs of a signature and a passage's number; ``vectors`` returns the vectors of some passages by number.
    Of equally near ones the lower number comes first.
    """
    wanted, direction = signature(query), _Direction(query)
    selected = nsmallest(_OVERSAMPLED * limit, (((wanted ^ bits).bit_count(), number) for bits, number in signatures))
    compared = [(-direction.cosine(vector), number) for number, vector in vectors([number for _, number in selected])]
    return [number for _, number in sorted(compared)[:limit]]
