"""LAPACK's posv, called so that other threads go on meanwhile.

SciPy's wrappers of LAPACK hold the GIL, here for tenths of a second, in which no search could begin or
end. The routine is SciPy's all the same, at the address that it gives to compiled code; ctypes lets the
GIL go while it runs.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import OnlineHashError

Doubles = npt.NDArray[np.float64]


def solve_positive(G: Doubles, right: Doubles) -> Doubles:
    """The solution M of G M = right, with G symmetric and positive definite.

    Of G the lower triangle is read, and G is overwritten: it must be C-contiguous.
    """
    n, k = right.shape
    if not (G.shape == (n, n) and G.flags.c_contiguous and G.dtype == np.float64):
        raise ValueError(f"G: expected C-contiguous float64 ({n}, {n}), got {G.dtype} {G.shape}")
    M = np.array(right, np.float64, order="F")
    sizes = [ctypes.c_int(size) for size in (n, k, max(n, 1), max(n, 1), 0)]
    rows, columns, of_G, of_M, info = (ctypes.byref(size) for size in sizes)
    # LAPACK walks down columns, so what is the lower triangle here is the upper one there
    _posv()(b"U", rows, columns, G.ctypes.data, of_G, M.ctypes.data, of_M, info)
    if sizes[-1].value:
        raise OnlineHashError(f"expected a positive definite matrix; minor {sizes[-1].value} is not")
    return M


@cache
def _posv() -> Callable[..., Any]:
    from numba.extending import get_cython_function_address

    pointer = ctypes.c_void_p
    prototype = ctypes.CFUNCTYPE(None, ctypes.c_char_p, *[pointer] * 7)
    return prototype(get_cython_function_address("scipy.linalg.cython_lapack", "dposv"))
