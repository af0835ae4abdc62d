"""Codewords: OSupH's update, bit by bit towards a label's codeword, exact and in blocks.

For a sample z and each of its labels' codewords g in turn, with the scores s = Wᵀz as they are then:

    hinge   a_k = η g_k  where g_k s_k < 1, else 0
    boost   a_k = η exp(-Σ_{j<k} g_j s_j) exp(-g_k s_k) g_k, bit after bit, s_j as updated just before
    W += z aᵀ, so s += ⟨z, z⟩ a

The program that its authors published works out all earlier bits' scores again for every bit, which
costs O(D K²) a codeword. Scores are updated here instead, O(D K); and blocks of samples are worked
through with matrix products and their Gram matrix, as in ``learn.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.kernels.gram import lower_gram

Reals = npt.NDArray[Any]  # float32 as hashers use it

_BLOCK = 64
_LARGEST = 40.0  # exponents are clipped: weights multiply from bit to bit and overflow otherwise


def learn_codewords(
    W: Reals, Z: Reals, codewords: Reals, of_row: Any, starts: Any, step: float, boost: bool
) -> None:
    """Learn in place. Row i of Z has ``codewords[j] for j in of_row[starts[i]:starts[i+1]]``, in order."""
    for start in range(0, len(Z), _BLOCK):
        rows = Z[start : start + _BLOCK]
        steps = rows @ W
        of_block = starts[start : start + len(rows) + 1]
        _recursion(steps, lower_gram(rows), codewords, of_row, of_block, W.dtype.type(step), boost)
        W += rows.T @ steps


@njit(nogil=True, cache=True)
def _recursion(
    S: Reals, gram: Reals, codewords: Reals, of_row: Any, starts: Any, step: float, boost: bool
) -> None:
    """Turn the block's scores before it, S, into its steps, in place."""
    n, n_bits = S.shape
    scores = np.empty(n_bits, S.dtype)
    for i in range(n):
        scores[:] = S[i]
        for j in range(i):
            weight = gram[i, j]
            for k in range(n_bits):
                scores[k] += weight * S[j, k]
        squared = gram[i, i]
        S[i] = 0
        for c in range(starts[i], starts[i + 1]):
            g = codewords[of_row[c]]
            ensemble = 0.0
            for k in range(n_bits):
                margin = g[k] * scores[k]
                if boost:
                    size = step * np.exp(min(max(-ensemble - margin, -_LARGEST), _LARGEST))
                else:
                    size = step if margin < 1 else 0 * step
                S[i, k] += size * g[k]
                scores[k] += squared * size * g[k]
                ensemble += g[k] * scores[k]


def learn_codewords_numpy(
    W: npt.NDArray[Any], Z: npt.NDArray[Any], codewords: npt.NDArray[Any], of_row: Any, starts: Any,
    step: float, boost: bool,
) -> None:  # fmt: skip
    """The plain twin, as published: sample after sample, every bit's ensemble worked out anew."""
    for i, z in enumerate(Z):
        for g in codewords[of_row[starts[i] : starts[i + 1]]]:
            if not boost:
                W += np.outer(z, step * g * (g * (z @ W) < 1))
                continue
            for k in range(len(g)):
                ensemble = g[:k] @ (W[:, :k].T @ z)
                exponent = np.clip(-ensemble - g[k] * (W[:, k] @ z), -_LARGEST, _LARGEST)
                W[:, k] += step * np.exp(exponent) * g[k] * z
