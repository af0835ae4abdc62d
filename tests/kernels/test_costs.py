from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError
from onlinehash.codes import allocate_words, bits_to_packed, packed_to_words
from onlinehash.kernels.costs import cost_distances, cost_distances_numpy


def made(n: int, n_bits: int, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    return bits_to_packed(rng.integers(0, 2, (n, n_bits), np.uint8)), rng


@given(n_bits=st.sampled_from([1, 7, 8, 31, 64, 65, 200]), n=st.integers(1, 300), m=st.integers(0, 40))
def test_equals_its_numpy_twin(n_bits: int, n: int, m: int) -> None:
    packed, rng = made(n, n_bits, n)
    queries, _ = made(5, n_bits, m)
    costs = rng.random((5, n_bits), np.float32)
    slots = rng.integers(0, n, (5, m))
    memory = allocate_words(n_bits, n + 10)
    words = memory[:, 3 : 3 + n]
    words[...] = packed_to_words(packed, n_bits)
    found = cost_distances(words, queries, costs, slots)
    assert found == pytest.approx(cost_distances_numpy(packed, queries, costs, slots), rel=1e-5)
    ones = cost_distances(words, queries, np.ones_like(costs), slots)
    assert (ones == np.bitwise_count(packed[slots] ^ queries[:, None]).sum(axis=2)).all()


def test_slots_that_are_not_there_are_refused() -> None:
    packed, _ = made(10, 16, 0)
    words = packed_to_words(packed, 16)
    costs = np.ones((1, 16), np.float32)
    for slots in ([[10]], [[-1]]):
        with pytest.raises(InvalidInputError, match="below 10"):
            cost_distances(words, packed[:1], costs, np.array(slots))
    with pytest.raises(InvalidInputError, match="2 queries"):
        cost_distances(words, packed[:2], costs, np.array([[1]]))
