"""Mutual: MIHash's ascent on mutual information, against a reservoir of past samples.

With relaxed codes Φ_k = 2σ(A w_kᵀz) - 1 and distances d_r = (K - Φ(z)ᵀΦ(r)) / 2 to the R samples r of
the reservoir, soft histograms p⁺ and p⁻ of the distances to similar and to other ones, over centres
lΔ, Δ = K / bins, the objective is

    I = H(p) - π⁺H(p⁺) - π⁻H(p⁻),   p = π⁺p⁺ + π⁻p⁻

and, the reservoir's codes held constant, with ρ±(l) = log₂(p±_l / p_l) and l = ⌊d_r / Δ⌋,

    ∂I/∂Φ = -½ Σ_r v_r Φ(r),   v_r = [ρ(l+1) - ρ(l)] / (R Δ)
    W += η z uᵀ,   u_k = 2A σ_k (1 - σ_k) (∂I/∂Φ)_k

A step moves W by a matrix of rank 1, so the reservoir's scores X_R W move by (X_R z) uᵀ: with the
inner products of a block's samples among themselves and with the reservoir, the recursion runs on
R × K numbers, and X_R W is worked out anew only once a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.kernels import vectors
from onlinehash.kernels.gram import lower_gram

Floats = npt.NDArray[np.float32]

_BLOCK = 64
_STEEPEST = 42.0  # what A wᵀz is clipped to


@dataclass(frozen=True, slots=True)
class Rule:
    """A, η and the number of bins; ``released`` is the published program's gradient.

    That one takes the reservoir's codes as 0…1 instead of -1…1 and lacks the 2 of 2A: much the same
    direction, at a quarter of the length.
    """

    sharpness: float
    step: float
    bins: int
    released: bool


def learn_mutual(
    W: Floats, Z: Floats, masks: Any, reservoir: Floats, reservoir_masks: Any, slots: Any, filled: int,
    rule: Rule,
) -> None:  # fmt: skip
    """Learn in place from rows Z. After its step, row t takes the reservoir's slot ``slots[t]``, if ≥ 0.

    Masks are bit masks of labels, one row each; ``filled`` slots of the reservoir are in use.
    """
    for start in range(0, len(Z), _BLOCK):
        of = slice(start, start + _BLOCK)
        rows, placed = Z[of], slots[of]
        scores, steps = reservoir @ W, rows @ W
        products = reservoir @ rows.T
        _recursion(
            steps, lower_gram(rows), masks[of], scores, products, reservoir_masks, placed, filled,
            np.float32(rule.sharpness), np.float32(rule.step), rule.bins, rule.released,
        )  # fmt: skip
        W += rows.T @ steps
        for t in np.flatnonzero(placed >= 0):
            reservoir[placed[t]] = rows[t]
            filled = max(filled, int(placed[t]) + 1)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _relax(scores: Any, sharpness: Any, relaxed: Any) -> None:
    """Φ = 2σ(A s) - 1, with an exponential that runs on vectors (2e-7 off at most)."""
    for k in range(len(scores)):
        x = -sharpness * scores[k]
        x = min(max(x, np.float32(-_STEEPEST)), np.float32(_STEEPEST))
        whole = np.floor(x * np.float32(1.4426950408889634) + np.float32(0.5))
        r = x - whole * np.float32(0.693359375) + whole * np.float32(2.12194440e-4)
        p = np.float32(1.9875691500e-4)
        for c in (1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1):
            p = p * r + np.float32(c)
        exponential = (p * r * r + r + np.float32(1)) * vectors.power_of_two(np.int32(whole))
        relaxed[k] = np.float32(2) / (np.float32(1) + exponential) - np.float32(1)


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})
def _distance(one: Any, other: Any) -> Any:
    product = np.float32(0)
    for k in range(len(one)):
        product += one[k] * other[k]
    return (np.float32(len(one)) - product) / np.float32(2)


@njit(nogil=True, cache=True)
def _recursion(
    S: Any, gram: Any, masks: Any, scores: Any, products: Any, reservoir_masks: Any, slots: Any, filled: int,
    sharpness: Any, step: Any, bins: int, released: bool,
) -> None:  # fmt: skip
    """Turn the block's scores before it, S, into its steps ηu, in place; move the reservoir's scores."""
    n, n_bits = S.shape
    size = len(scores)
    own, relaxed = np.empty(n_bits, np.float32), np.empty(n_bits, np.float32)
    codes = np.empty((size, n_bits), np.float32)
    bin_of, share = np.empty(size, np.int64), np.empty(size, np.float64)
    similar = np.empty(size, np.bool_)
    slopes = np.empty((2, bins))
    pull = np.empty(n_bits, np.float32)
    for t in range(n):
        own[:] = S[t]
        for j in range(t):
            weight = gram[t, j]
            for k in range(n_bits):
                own[k] += weight * S[j, k]
        _relax(own, sharpness, relaxed)
        for r in range(filled):
            _relax(scores[r], sharpness, codes[r])
            at = max(np.float64(_distance(relaxed, codes[r])) * bins / n_bits, 0.0)
            bin_of[r] = min(int(at), bins - 1)
            share[r] = min(at - bin_of[r], 1.0)
            similar[r] = False
            for w in range(masks.shape[1]):
                similar[r] |= (masks[t, w] & reservoir_masks[r, w]) != 0
        S[t] = 0
        if _slopes(bin_of[:filled], share[:filled], similar[:filled], bins, slopes):
            pull[:] = 0
            for r in range(filled):
                v = slopes[1 if similar[r] else 0, bin_of[r]] * bins / (filled * n_bits)
                weight = np.float32(-0.5 * v)
                for k in range(n_bits):
                    code = codes[r, k]
                    pull[k] += weight * ((code + np.float32(1)) / np.float32(2) if released else code)
            for k in range(n_bits):
                bend = sharpness * (1 - relaxed[k] * relaxed[k]) / (4 if released else 2)
                S[t, k] = step * bend * pull[k]
            for r in range(filled):
                weight = products[r, t]
                for k in range(n_bits):
                    scores[r, k] += weight * S[t, k]
        if slots[t] >= 0:
            r = slots[t]
            filled = max(filled, r + 1)
            reservoir_masks[r] = masks[t]
            for k in range(n_bits):
                scores[r, k] = own[k] + gram[t, t] * S[t, k]
            for later in range(t + 1, n):
                products[r, later] = gram[later, t]


@njit(nogil=True, cache=True)
def _slopes(bin_of: Any, share: Any, similar: Any, bins: int, slopes: Any) -> bool:
    """ρ(l+1) - ρ(l) of both histograms; False where all or none are similar: there is no gradient."""
    n, alike = len(similar), np.sum(similar)
    if alike in (0, n):
        return False
    histogram = np.zeros((2, bins + 1))
    for r in range(n):
        of = histogram[1 if similar[r] else 0]
        of[bin_of[r]] += 1 - share[r]
        of[bin_of[r] + 1] += share[r]
    for which, count in ((0, n - alike), (1, alike)):
        for l in range(bins):  # noqa: E741
            rho = np.zeros(2)
            for end in range(2):
                mass = histogram[which, l + end]
                if mass > 0:
                    both = histogram[0, l + end] + histogram[1, l + end]
                    rho[end] = np.log2((mass / count) / (both / n))
            slopes[which, l] = rho[1] - rho[0]
    return True


def learn_mutual_numpy(
    W: Any, Z: Any, masks: Any, reservoir: Any, reservoir_masks: Any, slots: Any, filled: int, rule: Rule
) -> None:
    """The plain twin, as published: the whole reservoir is projected anew for every sample."""
    for t, z in enumerate(Z):
        similar = (reservoir_masks[:filled] & masks[t]).any(axis=1)
        W += rule.step * np.outer(z, _gradient(W, z, reservoir[:filled], similar, rule))
        if slots[t] >= 0:
            reservoir[slots[t]], reservoir_masks[slots[t]] = z, masks[t]
            filled = max(filled, int(slots[t]) + 1)


def relaxed_numpy(scores: Any, sharpness: float) -> Any:
    """Φ of scores wᵀz."""
    return 2 / (1 + np.exp(np.clip(-sharpness * scores, -_STEEPEST, _STEEPEST))) - 1


def information_numpy(W: Any, z: Any, reservoir: Any, similar: Any, rule: Rule) -> float:
    """The objective I, to look at; its gradient in W is ``np.outer(z, _gradient(…))``."""
    histogram = _histogram(relaxed_numpy(z @ W, rule.sharpness), reservoir @ W, similar, rule)[0]
    counts = histogram.sum(axis=1)
    p = histogram / np.maximum(counts, 1)[:, None]
    both = histogram.sum(axis=0) / counts.sum()
    return float(_entropy(both) - (counts / counts.sum()) @ [_entropy(p[0]), _entropy(p[1])])


def _entropy(p: Any) -> float:
    return float(-(p[p > 0] * np.log2(p[p > 0])).sum())


def _histogram(relaxed: Any, scores: Any, similar: Any, rule: Rule) -> tuple[Any, Any, Any]:
    """Soft histograms (other, similar), the reservoir's relaxed codes, and the bins they lie in."""
    codes = relaxed_numpy(scores, rule.sharpness)
    at = np.maximum((len(relaxed) - codes @ relaxed) / 2 * rule.bins / len(relaxed), 0)
    bin_of = np.minimum(at.astype(int), rule.bins - 1)
    share = np.minimum(at - bin_of, 1)
    histogram = np.zeros((2, rule.bins + 1))
    np.add.at(histogram, (similar.astype(int), bin_of), 1 - share)
    np.add.at(histogram, (similar.astype(int), bin_of + 1), share)
    return histogram, codes, bin_of


def _gradient(W: Any, z: Any, reservoir: Any, similar: Any, rule: Rule) -> Any:
    n, n_bits = len(similar), W.shape[1]
    if similar.sum() in (0, n):
        return np.zeros(n_bits)
    relaxed = relaxed_numpy(z @ W, rule.sharpness)
    histogram, codes, bin_of = _histogram(relaxed, reservoir @ W, similar, rule)
    p = histogram / histogram.sum(axis=1, keepdims=True)
    both = histogram.sum(axis=0) / n
    rho = np.where(p > 0, np.log2(np.where(p > 0, p, 1) / np.where(both > 0, both, 1)), 0)
    v = np.diff(rho, axis=1)[similar.astype(int), bin_of] * rule.bins / (n * n_bits)
    pull = -0.5 * v @ ((codes + 1) / 2 if rule.released else codes)
    return rule.sharpness * (1 - relaxed**2) / (4 if rule.released else 2) * pull
