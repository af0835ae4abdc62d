"""Pairs: OKH's update of W from pairs of samples that are alike or not.

With f = Wᵀz, h = sgn f and Δ the Hamming distance of a pair's codes, the loss is max(0, Δ - α) where
they are alike and max(0, βK - Δ) where they are not. If it is above 0, the ⌈loss⌉ cheapest of the
bits that are wrong are turned, each on the side where |f| is smaller. That gives target codes g, and
the step towards them is passive-aggressive in the structured loss:

    W += τ [z_i (g_i - h_i)ᵀ + z_j (g_j - h_j)ᵀ],   τ = min{C, ℓ / ‖·‖²}
    ℓ = (h_i - g_i)ᵀ f_i + (h_j - g_j)ᵀ f_j + √loss
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

Floats = npt.NDArray[np.float32]


@njit(nogil=True, cache=True)
def learn_pairs(W: Any, Z: Any, alike: Any, C: float, alpha: float, beta: float) -> None:
    """Learn in place from the pairs (Z[0], Z[1]), (Z[2], Z[3]), …; ``alike`` says which are."""
    n_bits = W.shape[1]
    f = np.empty((2, n_bits), W.dtype)
    turn = np.empty((2, n_bits), W.dtype)  # g - h of both
    cost = np.empty(n_bits, W.dtype)
    for pair in range(len(alike)):
        f[:] = 0
        squared = np.zeros(2, np.float64)
        for side in range(2):
            z = Z[2 * pair + side]
            for d in range(len(z)):
                squared[side] += z[d] * z[d]
                for k in range(n_bits):
                    f[side, k] += z[d] * W[d, k]
        distance = 0
        for k in range(n_bits):
            differ = (f[0, k] >= 0) != (f[1, k] >= 0)
            distance += differ
            wrong = differ == alike[pair]
            cost[k] = min(abs(f[0, k]), abs(f[1, k])) if wrong else np.inf
        loss = max(0.0, distance - alpha if alike[pair] else beta * n_bits - distance)
        if loss == 0:
            continue
        turn[:] = 0
        structured, norm = np.sqrt(loss), 0.0
        order = np.argsort(cost, kind="mergesort")
        for k in order[: int(np.ceil(loss))]:
            if cost[k] == np.inf:
                break
            side = 0 if abs(f[0, k]) <= abs(f[1, k]) else 1
            turn[side, k] = -2 if f[side, k] >= 0 else 2
            structured += 2 * abs(f[side, k])
            norm += 4 * squared[side]
        if norm == 0:
            continue
        tau = min(C, structured / norm)
        for side in range(2):
            z = Z[2 * pair + side]
            for d in range(len(z)):
                weight = tau * z[d]
                for k in range(n_bits):
                    W[d, k] += weight * turn[side, k]


def learn_pairs_numpy(W: Any, Z: Any, alike: Any, C: float, alpha: float, beta: float) -> None:
    """The plain twin."""
    n_bits = W.shape[1]
    for pair, same in enumerate(alike):
        z = Z[2 * pair : 2 * pair + 2]
        f = z @ W
        h = np.where(f >= 0, 1.0, -1.0)
        differ = h[0] != h[1]
        loss = max(0.0, differ.sum() - alpha if same else beta * n_bits - differ.sum())
        if loss == 0:
            continue
        wrong = np.flatnonzero(differ if same else ~differ)
        cheapest = wrong[np.argsort(np.abs(f[:, wrong]).min(axis=0), kind="stable")][: int(np.ceil(loss))]
        g = h.copy()
        side = np.where(np.abs(f[0, cheapest]) <= np.abs(f[1, cheapest]), 0, 1)
        g[side, cheapest] *= -1
        structured = ((h - g) * f).sum() + np.sqrt(loss)
        direction = z.T @ (g - h)
        norm = (((g - h) ** 2).sum(axis=1) * (z**2).sum(axis=1)).sum()
        if norm > 0:
            W += min(C, structured / norm) * direction
