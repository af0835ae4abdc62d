"""Panels: matrix products with a few dozen columns, the shape that learning and hashing have.

BLAS is made for square matrices, and may not know a new CPU: it was seen to run at half of what a core
can do. Here a panel of sums, 8 rows by 32 columns, stays in registers while one operand passes by.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.kernels import vectors
from onlinehash.kernels.threads import in_parts, n_cores

Floats = npt.NDArray[np.float32]

_TALL, _WIDE = vectors.PANEL
_DEEP = 512  # inner terms whose part of the right operand stays in cache while rows pass by
_WORTH_A_THREAD = 1 << 24  # multiplications


def add_product(out: Floats, A: Floats, B: Floats) -> None:
    """``out += A @ B`` for A (n, m), of any strides, B (m, k) and out (n, k)."""
    (n, m), k = A.shape, B.shape[1]
    whole = n - n % _TALL
    if k % _WIDE or not whole or not (B.flags.c_contiguous and out.flags.c_contiguous):
        out += A @ B
        return
    if whole < n:
        out[whole:] += A[whole:] @ B
    parts = min(n_cores(), max(1, n * m * k // _WORTH_A_THREAD))

    def part(_: int, first: int, last: int) -> None:
        _add(A.ctypes.data, *A.strides, B.ctypes.data, out.ctypes.data, first, last, m, k)

    in_parts(part, whole, parts, _TALL)


@njit(nogil=True, cache=True)
def _add(A: int, down: int, along: int, B: int, out: int, first: int, last: int, m: int, k: int) -> None:
    row = 4 * k
    for start in range(0, m, _DEEP):
        steps = min(_DEEP, m - start)
        for i in range(first, last, _TALL):
            for j in range(0, k, _WIDE):
                left, right = A + i * down + start * along, B + start * row + 4 * j
                vectors.add_panel(left, along, down, right, row, steps, out + i * row + 4 * j, row)
