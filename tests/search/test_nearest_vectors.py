from __future__ import annotations

import math
from array import array
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.search.vectors import cosine, nearest, packed, signature

numbers = st.floats(-1e6, 1e6, width=32).filter(lambda value: value == 0 or abs(value) > 1e-3)
vectors = st.lists(numbers, min_size=8, max_size=8).filter(any).map(lambda values: array("f", values))


def exact(one: array[float], other: array[float]) -> float:
    length = math.hypot(*one) * math.hypot(*other)
    return sum(a * b for a, b in zip(one, other, strict=True)) / length


@given(vectors, vectors)
def test_one_byte_a_number_keeps_the_angle_between_two_vectors(one: array[float], other: array[float]) -> None:
    assert cosine(packed(one), packed(other)) == pytest.approx(exact(one, other), abs=0.03)


def test_vectors_of_different_lengths_have_nothing_in_common() -> None:
    assert cosine(packed(array("f", [1, 2])), packed(array("f", [1, 2, 3]))) == 0.0


def test_a_signature_has_a_bit_for_each_number_above_zero() -> None:
    assert signature(packed(array("f", [1.0, -1.0, 0.0, 0.5]))) == 0b1001


def test_the_nearest_are_those_that_comparing_all_finds() -> None:
    draw = Random(7)
    subjects = [[draw.gauss(0, 1) for _ in range(256)] for _ in range(20)]
    kept = {
        number: packed(array("f", [value + draw.gauss(0, 0.7) for value in subjects[number % 20]])) for number in range(2_000)
    }
    signatures = [(signature(vector), number) for number, vector in kept.items()]
    shares = []
    for _ in range(5):
        near = draw.choice(list(kept.values()))
        query = packed(array("f", [value + draw.gauss(0, 20) for value in array("b", near)]))
        best = sorted(kept, key=lambda number: (-cosine(query, kept[number]), number))[:20]
        found = list(nearest(query, signatures, kept, 20))
        assert found[0] == best[0]
        shares.append(len(set(found) & set(best)) / 20)
    assert sum(shares) / len(shares) > 0.75


def test_of_equally_near_passages_the_first_by_number_comes_first() -> None:
    one = packed(array("f", [1.0, 2.0]))
    assert list(nearest(one, [(signature(one), 9), (signature(one), 3)], {3: one, 9: one}, 2)) == [3, 9]
    assert nearest(one, [], {}, 5) == {}


def test_passages_that_are_asked_for_are_compared_too_however_far_they_are() -> None:
    one, other = packed(array("f", [1.0, 0.0])), packed(array("f", [0.0, 1.0]))
    assert nearest(one, [(signature(one), 1), (signature(other), 2)], {1: one, 2: other}, 1, [2, 7]) == {1: 1.0, 2: 0.0}
