"""Learn: the passive-aggressive rule, Eq. 13, 14 and 29 of the paper, exact and in blocks.

For each sample z (a base code for P, features for R) and its target g, all bits at once:

    s = Mᵀz                                    the scores
    τ = min{C, max{0, margin - g∘s} / ⟨z, z⟩}   the steps
    M = M + z (τ∘g)ᵀ

The chain of rank-1 updates is the same thing done with matrix products, a block at a time: with
S = Z M₀ and the Gram matrix G = Z Zᵀ, sample i of the block sees the scores S_i + Σ_{j<i} G_ij a_j,
where a_j = τ_j∘g_j are the steps so far. The recursion over the block runs on (block × bits)
numbers; then M = M₀ + Zᵀa. Nothing is approximated: it equals the loop up to rounding.

The mean of all iterates, M₀ (the start) among them, is carried along. Over a span of n samples
their sum is n M₀ + Zᵀ(w∘a), where w_j is how many of the span's iterates sample j has a part in.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.kernels.gram import lower_gram
from onlinehash.kernels.panels import add_product

Floats = npt.NDArray[np.float32]
Rule = Literal["paper", "released", "floored"]

RULES: tuple[Rule, ...] = ("paper", "released", "floored")
_SPAN = 1024  # samples between two updates of the mean


@dataclass(slots=True)
class Learner:
    """One projection that learns: its last iterate M, the mean of all, and how it is going.

    Shapes: M and mean (n_inputs, n_bits) float32; mistakes and losses (n_bits,), the sums over all
    samples that the paper's theorems bound: wrong signs before the step, and hinge losses.
    """

    M: Floats
    C: float
    rule: Rule
    mean: Floats | None  # None where the last iterate is what is used
    mistakes: npt.NDArray[np.int64]
    losses: npt.NDArray[np.float64]
    seen: int = 0

    @classmethod
    def start(cls, M: Floats, C: float, rule: Rule, averaged: bool) -> Learner:
        """A learner that has seen nothing and starts from M."""
        n_bits = M.shape[1]
        mean = M.copy() if averaged else None
        return cls(M, C, rule, mean, np.zeros(n_bits, np.int64), np.zeros(n_bits))

    def copy(self) -> Learner:
        """An independent learner that goes on from here."""
        return deepcopy(self)

    def progress(self) -> tuple[float, float]:
        """The share of mistakes and the mean loss, over all bits of all samples; NaN before any."""
        bits = self.seen * self.M.shape[1] or np.nan
        return float(self.mistakes.sum() / bits), float(self.losses.sum() / bits)

    @property
    def projection(self) -> Floats:
        """What codes are made with: the mean of all iterates, or the last one."""
        return self.M if self.mean is None else self.mean

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """The arrays that make it up, by the names of their fields."""
        parts: dict[str, npt.NDArray[Any]] = {"M": self.M, "mistakes": self.mistakes, "losses": self.losses}
        return parts if self.mean is None else parts | {"mean": self.mean}

    def learn(self, Z: Floats, targets: Floats) -> None:
        """Learn from samples Z (n, n_inputs) with targets (n, n_bits) of ±1 (0: unknown), in order."""
        for start in range(0, len(Z), _SPAN):
            self._span(Z[start : start + _SPAN], targets[start : start + _SPAN])

    def _span(self, Z: Floats, targets: Floats) -> None:
        n, block = len(Z), block_size(self.M.shape[1])
        before = self.M if self.mean is None or n <= block else self.M.copy()
        steps = np.zeros((n, self.M.shape[1]), np.float32)
        for start in range(0, n, block):
            rows = Z[start : start + block]
            of_block = steps[start : start + block]
            add_product(of_block, rows, self.M)
            _recursion(
                of_block, lower_gram(rows), targets[start : start + block], self.C,
                self.rule == "paper", self.rule != "released", self.mistakes, self.losses,
            )  # fmt: skip
            if self.mean is not None and start + block >= n:
                self._average(self.mean, before, Z, steps)  # before M moves on, for a span of one block
            add_product(self.M, rows.T, of_block)
        self.seen += n

    def _average(self, mean: Floats, before: Floats, Z: Floats, steps: Floats) -> None:
        n = len(Z)
        total = self.seen + 1 + n  # the start counts as the first iterate
        weighted = steps * (np.arange(n, 0, -1, dtype=np.float32)[:, None] / np.float32(total))
        mean *= np.float32((self.seen + 1) / total)
        mean += np.float32(n / total) * before
        add_product(mean, Z.T, weighted)


def block_size(n_bits: int) -> int:
    """Samples a block, as measured for 64 to 4,096 inputs.

    The products cost 4·n_inputs·n_bits operations a sample and the Gram matrix n_inputs·block, so
    a smaller block saves work where there are few bits; larger ones make better matrix products.
    """
    return 48 if n_bits <= 48 else 64


@njit(nogil=True, cache=True)
def _recursion(
    S: Floats, gram: Floats, targets: Floats, C: float, unit_margin: bool, floored: bool,
    mistakes: npt.NDArray[np.int64], losses: npt.NDArray[np.float64],
) -> None:  # fmt: skip
    """Turn the block's scores before it, S, into its steps a = τ∘g, in place."""
    n, n_bits = S.shape
    for i in range(n):
        scores = S[i]
        for j in range(i):
            weight = gram[i, j]
            for k in range(n_bits):
                scores[k] += weight * S[j, k]
        squared = gram[i, i]
        margin = np.float32(1) if unit_margin else squared
        inverse = np.float32(1) / squared if squared > 0 else np.float32(0)
        for k in range(n_bits):
            agreement = targets[i, k] * scores[k]
            known = targets[i, k] != 0  # a target of 0 asks for nothing
            mistakes[k] += known & ((scores[k] >= 0) != (targets[i, k] > 0))
            losses[k] += known * max(np.float32(0), np.float32(1) - agreement)
            step = min(np.float32(C), (margin - agreement) * inverse)
            if floored:
                step = max(np.float32(0), step)
            scores[k] = step * targets[i, k]


def learn_numpy(
    M: npt.NDArray[np.float64],
    Z: npt.NDArray[np.float64],
    targets: npt.NDArray[np.float64],
    C: float,
    rule: Rule,
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The plain twin: one sample after another. Returns the last iterate and the mean of all."""
    M = M.copy()
    mean = M.copy()
    for t, (z, g) in enumerate(zip(Z, targets, strict=True)):
        m, q = g * (z @ M), z @ z
        if q > 0:
            tau = np.minimum(C, np.maximum(0, 1 - m) / q) if rule == "paper" else np.minimum(C, 1 - m / q)
            if rule == "floored":
                tau = np.maximum(0, tau)
            M += np.outer(z, tau * g)
        mean += (M - mean) / (t + 2)
    return M, mean
