"""Rank: what evaluation needs of the full Hamming ranking of a database, without sorting it.

Distances are small integers, so a ranking is known by how many items, and how many relevant ones,
lie at each distance (``distance_counts``). Where ties are broken by the database's order, a second
pass gives every relevant item its rank as it goes by (``in_database_order``). Relevant is an item
that shares a label: the ``&`` of two bit masks.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Words
from onlinehash.kernels.threads import in_parts, n_cores
from onlinehash.kernels.vectors import popcount

Counts = npt.NDArray[np.int64]
Masks = npt.NDArray[np.uint64]

_BLOCK = 2048  # items whose distances are worked out together


def distance_counts(
    words: Words, queries: Words, masks: Masks, query_masks: Masks, n_bits: int
) -> tuple[Counts, Counts]:
    """Items and relevant items at each distance, both (queries, n_bits + 1).

    ``words`` are word-major, ``queries`` row by row (queries, n_words); masks are (rows, n).
    """
    counts = np.zeros((len(queries), n_bits + 1), np.int64)
    relevant = np.zeros((len(queries), n_bits + 1), np.int64)

    def work(part: int, first: int, last: int) -> None:
        of = slice(first, last)
        _count(words, queries[of], masks, query_masks[of], counts[of], relevant[of])

    in_parts(work, len(queries), n_cores(), align=1)
    return counts, relevant


def in_database_order(
    words: Words, queries: Words, masks: Masks, query_masks: Masks, counts: Counts, relevant: Counts, top: int
) -> tuple[npt.NDArray[np.float64], Counts]:
    """Of the first ``top`` ranks: the sum of the precisions at relevant items, and their number."""
    sums = np.zeros(len(queries))
    found = np.zeros(len(queries), np.int64)
    starts = np.cumsum(counts, axis=1) - counts
    relevant_starts = np.cumsum(relevant, axis=1) - relevant

    def work(part: int, first: int, last: int) -> None:
        of = slice(first, last)
        _walk(
            words, queries[of], masks, query_masks[of], starts[of], relevant_starts[of], top,
            sums[of], found[of],
        )  # fmt: skip

    in_parts(work, len(queries), n_cores(), align=1)
    return sums, found


@njit(nogil=True, cache=True)
def _look(words: Words, query: Any, masks: Masks, mask: Any, start: int, distances: Any, shared: Any) -> None:
    """Distances and shared labels of one block of items with one query."""
    distances[:] = 0
    shared[:] = 0
    for w in range(words.shape[0]):
        row, word = words[w, start : start + len(distances)], query[w]
        for i in range(len(distances)):
            distances[i] += popcount(row[i] ^ word)
    for i in range(len(shared)):
        for w in range(len(mask)):
            shared[i] |= masks[start + i, w] & mask[w]


@njit(nogil=True, cache=True)
def _count(
    words: Words, queries: Words, masks: Masks, query_masks: Masks, counts: Counts, relevant: Counts
) -> None:
    n = words.shape[1]
    distances, shared = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for q in range(len(queries)):
            _look(words, queries[q], masks, query_masks[q], start, distances[:size], shared[:size])
            for i in range(size):
                counts[q, distances[i]] += 1
                relevant[q, distances[i]] += shared[i] != 0


@njit(nogil=True, cache=True)
def _walk(
    words: Words, queries: Words, masks: Masks, query_masks: Masks, at: Counts, relevant_at: Counts,
    top: int, sums: Any, found: Counts,
) -> None:  # fmt: skip
    """``at`` and ``relevant_at`` count up from where each distance begins in the ranking."""
    n = words.shape[1]
    distances, shared = np.empty(_BLOCK, np.uint64), np.empty(_BLOCK, np.uint64)
    for start in range(0, n, _BLOCK):
        size = min(_BLOCK, n - start)
        for q in range(len(queries)):
            _look(words, queries[q], masks, query_masks[q], start, distances[:size], shared[:size])
            for i in range(size):
                distance = distances[i]
                at[q, distance] += 1
                if shared[i] != 0:
                    relevant_at[q, distance] += 1
                    if at[q, distance] <= top:
                        sums[q] += relevant_at[q, distance] / at[q, distance]
                        found[q] += 1
