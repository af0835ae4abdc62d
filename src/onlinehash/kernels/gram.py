"""Gram: the lower triangle of Z Zᵀ for the few dozen long rows of one block.

BLAS is made for square matrices: for 64 rows of 4,096 it spends most of its time copying both
operands into the layout that it likes. Here rows lie as they should already, inner products run
along them, and only the triangle that the recursion reads is worked out: 1.3 to 2.5 times as fast.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.kernels import vectors

Floats = npt.NDArray[np.float32]

_FLOATS, _TILE = vectors.FLOATS, vectors.TILE
_LONG = 1024  # floats of a row from which on it pays


def lower_gram(Z: Floats) -> Floats:
    """(n, n) whose lower triangle and diagonal are those of Z Zᵀ; what is above them is undefined."""
    n, width = Z.shape
    if n % _TILE or width % _FLOATS or width < _LONG or not Z.flags.c_contiguous:
        return Z @ Z.T
    gram = np.zeros((n, n), np.float32)
    _fill(Z.ctypes.data, n, width, gram)
    return gram


@njit(nogil=True, cache=True)
def _fill(rows: int, n: int, width: int, gram: Floats) -> None:
    sums, row, step = gram.ctypes.data, 4 * width, 4 * n
    # a chunk of the four rows on the left stays in the first-level cache while the others pass by
    for i in range(0, n, _TILE):
        for start in range(0, width, _LONG):
            steps = min(_LONG, width - start) // _FLOATS
            for j in range(0, i + 1, _TILE):
                left, right = rows + i * row + 4 * start, rows + j * row + 4 * start
                vectors.add_products(left, right, row, steps, sums + i * step + 4 * j, step)
