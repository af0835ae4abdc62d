"""Hash: sgn(Wᵀz + b) as packed codes, the same bits in every batch and on every machine.

A matrix product in float32 rounds differently with the number of rows, the BLAS and the CPU, and a
score next to 0 may then fall on either side. Such scores, about one in ten thousand, are computed
again in float64. So an item's base code does not depend on the batch that it came in.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed, n_bytes

Floats = npt.NDArray[np.float32]

_ROWS = 4096
# float32 products were seen to err by up to 2e-8 of |z||w| at 4,096 inputs; this is 50 times that.
_DOUBT = np.float32(2.0**-20)


def sign_of_product(Z: Floats, W: Floats, b: Floats | None = None) -> Packed:
    """Packed codes of rows Z (n, D) under W (D, n_bits) and thresholds -b (n_bits)."""
    n_bits = W.shape[1]
    codes = np.empty((len(Z), n_bytes(n_bits)), np.uint8)
    norms_of_W = np.sqrt(np.einsum("dk,dk->k", W, W)) + (0 if b is None else np.abs(b))
    for start in range(0, len(Z), _ROWS):
        rows = Z[start : start + _ROWS]
        scores = rows @ W
        if b is not None:
            scores += b
        norms = np.sqrt(np.einsum("nd,nd->n", rows, rows))
        doubtful = np.abs(scores) <= _DOUBT * norms[:, None] * norms_of_W
        for row, bit in zip(*np.nonzero(doubtful), strict=True):
            exact = rows[row].astype(np.float64) @ W[:, bit].astype(np.float64)
            scores[row, bit] = exact if b is None else exact + np.float64(b[bit])
        codes[start : start + _ROWS] = np.packbits(scores >= 0, axis=1)
    return codes


def sign_of_product_numpy(Z: Floats, W: Floats, b: Floats | None = None) -> Packed:
    """The plain twin, in float64 throughout."""
    scores = Z.astype(np.float64) @ W.astype(np.float64)
    return np.packbits(scores + (0 if b is None else b.astype(np.float64)) >= 0, axis=1)
