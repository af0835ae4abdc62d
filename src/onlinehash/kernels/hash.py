"""Hash: sgn(Wᵀz + b) as packed codes, the same bits in every batch and on every machine.

A matrix product in float32 rounds differently with the number of rows, the BLAS and the CPU, and a
score next to 0 may then fall on either side. Such scores, about one in ten thousand, are computed
again in float64. So an item's base code does not depend on the batch that it came in.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Packed, n_bytes
from onlinehash.kernels.panels import add_product
from onlinehash.memory import aligned_empty

Floats = npt.NDArray[np.float32]

_ROWS = 4096
# float32 products were seen to err by up to 2e-8 of |z||w| at 4,096 inputs; this is 50 times that.
_DOUBT = np.float32(2.0**-20)


def centred(X: Floats, centre: Floats, unit_norm: bool) -> Floats:
    """X (n, D) less its centre (D,), rows scaled to unit length where asked; a zero row stays zero."""
    Z: Floats = aligned_empty(X.shape, np.float32)
    _centred(X, centre, unit_norm, Z)
    return Z


def centred_numpy(X: Floats, centre: Floats, unit_norm: bool) -> Floats:
    """The plain twin."""
    Z = X - centre
    if unit_norm:
        norms = np.sqrt((Z.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
        Z *= np.where(norms > 0, 1 / np.where(norms > 0, norms, 1), 0).astype(np.float32)
    return Z


# Sums may be taken in any order: that is what lets them run on vectors.
@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"}, error_model="numpy")
def _norm(row: Any) -> float:
    total = 0.0
    for d in range(row.shape[0]):
        total += np.float64(row[d]) * np.float64(row[d])
    return float(np.sqrt(total))


@njit(nogil=True, cache=True)
def _centred(X: Floats, centre: Floats, unit_norm: bool, Z: Floats) -> None:
    for i in range(X.shape[0]):
        row = Z[i]
        for d in range(X.shape[1]):
            row[d] = X[i, d] - centre[d]
        if unit_norm:
            norm = _norm(row)
            scale = np.float32(1 / norm) if norm > 0 else np.float32(0)
            for d in range(X.shape[1]):
                row[d] *= scale


@njit(nogil=True, cache=True)
def _norms(Z: Floats, norms: Any) -> None:
    for i in range(Z.shape[0]):
        norms[i] = _norm(Z[i])


def sign_of_product(Z: Floats, W: Floats, b: Floats | None = None) -> Packed:
    """Packed codes of rows Z (n, D) under W (D, n_bits) and thresholds -b (n_bits)."""
    n_bits = W.shape[1]
    codes = np.empty((len(Z), n_bytes(n_bits)), np.uint8)
    norms_of_W = np.sqrt(np.einsum("dk,dk->k", W, W)) + (0 if b is None else np.abs(b))
    for start in range(0, len(Z), _ROWS):
        rows = Z[start : start + _ROWS]
        scores = np.zeros((len(rows), n_bits), np.float32)
        add_product(scores, rows, W)
        if b is not None:
            scores += b
        norms = np.empty(len(rows), np.float32)
        _norms(rows, norms)
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
