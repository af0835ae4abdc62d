"""Costs: the asymmetric distance of chosen codes to a query.

    d = Σ over the bits that differ of |s_bit|,   s = Rᵀz, of which the query code is the sign

It is (Σ|s| - ⟨s, g⟩) / 2: the Hamming distance where every bit of the query is as sure as another.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Packed, Words, check_packed, check_words, packed_to_bits, packed_to_words
from onlinehash.errors import InvalidInputError
from onlinehash.kernels import vectors

Floats = npt.NDArray[np.float32]
Slots = npt.NDArray[np.int64]


def cost_distances(words: Words, queries: Packed, costs: Floats, slots: Slots) -> Floats:
    """Distances (queries, m) to the codes in ``slots`` (queries, m); ``costs`` (queries, n_bits) ≥ 0."""
    n_queries, n_bits = costs.shape
    words = check_words(words, n_bits)
    rows = np.ascontiguousarray(packed_to_words(check_packed(queries, n_bits, "queries"), n_bits).T)
    if len(rows) != n_queries or len(slots) != n_queries:
        raise InvalidInputError(f"expected slots and costs for {len(rows)} queries")
    if slots.size and not 0 <= slots.min() <= slots.max() < words.shape[1]:
        raise InvalidInputError(f"slots: expected them below {words.shape[1]}, got up to {slots.max()}")
    lanes = np.zeros((n_queries, 64 * words.shape[0]), np.float32)
    lanes[:, np.arange(n_bits) ^ 7] = costs  # as the bits of a word lie: a byte's first is its highest
    distances = np.empty(slots.shape, np.float32)
    address, stride = words.ctypes.data, words.strides[0]
    _cost_distances(address, stride, rows, lanes, np.ascontiguousarray(slots), distances)
    return distances


@njit(nogil=True, cache=True)
def _cost_distances(
    words: Any, stride: Any, queries: Words, lanes: Floats, slots: Slots, distances: Floats
) -> None:
    for q in range(slots.shape[0]):
        for i in range(slots.shape[1]):
            total = np.float32(0)
            for w in range(queries.shape[1]):
                left = vectors.load_word(words + w * stride + slots[q, i] * 8) ^ queries[q, w]
                while left:
                    total += lanes[q, 64 * w + np.int64(vectors.lowest_bit(left))]
                    left &= left - np.uint64(1)
            distances[q, i] = total


def cost_distances_numpy(packed: Packed, queries: Packed, costs: Floats, slots: Slots) -> Floats:
    """The plain twin, over packed codes; its sums may round otherwise."""
    n_bits = costs.shape[1]
    differing = packed_to_bits(packed, n_bits)[slots] ^ packed_to_bits(queries, n_bits)[:, None]
    distances: Floats = np.einsum("qmb,qb->qm", differing, costs, dtype=np.float32)
    return distances
