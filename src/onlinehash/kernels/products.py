"""Products: sums of products of signs over many rows, exact, by counting where bits differ.

Of n rows, two columns of ±1 that differ in d have the inner product n - 2d. The columns lie as bits,
64 rows a word, so that 64 multiplications are an exclusive or and a population count: some twenty
times as fast as a product of float matrices, in integers, hence the same in any order of the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Words
from onlinehash.kernels.vectors import popcount

Sums = npt.NDArray[np.int32]


def add_products(sums: Sums, left: Words, right: Words, n: int, lower: bool = False) -> None:
    """Add Σ l r over n rows to ``sums`` (columns of left, columns of right), in place.

    ``left`` and ``right`` are word-major, (n_words, columns), with padding of 0. ``lower``: only the
    lower triangle, where both are the same.
    """
    _add(sums, np.ascontiguousarray(left.T), right, n, lower)


@njit(nogil=True, cache=True)
def _add(sums: Sums, left: Words, right: Words, n: int, lower: bool) -> None:
    differing = np.empty(right.shape[1], np.uint64)
    for i in range(left.shape[0]):
        stop = i + 1 if lower else right.shape[1]
        for j in range(stop):
            differing[j] = 0
        for w in range(left.shape[1]):
            word = left[i, w]
            for j in range(stop):
                differing[j] += popcount(word ^ right[w, j])
        for j in range(stop):
            sums[i, j] += n - 2 * np.int64(differing[j])


def products_numpy(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The plain twin, on ±1 (n, columns)."""
    return left.astype(np.int64).T @ right.astype(np.int64)
