"""Ridge: the best answer to every labelled row so far, from two sums that each row is added to.

    M = (G + Λ)⁻¹ (C + Λ w(n) M₀),    G = Σ u uᵀ,  C = Σ u gᵀ

with u the inputs of a row, g its target and Λ a penalty. One pass, and memory that does not grow;
rows may come in any order and sums may be added up across machines. For P the inputs are ±1 and the
sums integers, so P is the same whatever the order and the chunks. M is solved for when it is asked
for after something was learnt.

M₀ is where search starts before any label: the same regression towards the PCA-ITQ codes of the
initial sample. Its weight w(n) = 8 / (25 + n) fades faster than the evidence of n rows grows.

With a half-life, a row weighs half as much as one that came so many rows later: sums are made smaller
after every 1,024 rows, whatever the chunks that they came in.

Penalties are in units of rows. They were chosen on validation queries, where factors of 2 hardly
matter; pairs of bits, of which there are more and which say less, have four times that of bits.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.kernels.inputs import columns, input_columns, input_signs, n_inputs
from onlinehash.kernels.posv import solve_positive
from onlinehash.kernels.products import add_products

Floats = npt.NDArray[np.float32]
Arrays = dict[str, npt.NDArray[Any]]

_ROWS = 1024  # rows whose sums are taken at once
_OF_BITS, _OF_PAIRS = 2500.0, 10000.0
_OF_FEATURES = 3.0  # times the mean ⟨z, z⟩
_CONSTANT = 0.1  # the input that gives queries a threshold, small so that it is learnt with caution
_FEATURES, _DIRECTIONS = 1536, 1024  # features beyond which R is learnt in as many directions of them
_WEIGHT, _ROWS_TO_FADE = 8.0, 25.0
_LOOK = 32  # rows of a slice whose mistakes are counted


@dataclass(slots=True)
class Ridge:
    """The sums. Shapes: gram (n_inputs, n_inputs), of which the lower triangle counts; cross and
    prior (n_inputs, n_bits); penalty (n_inputs,); tally (3,): mistakes, hinge losses and bits looked at.
    """

    gram: npt.NDArray[Any]
    cross: npt.NDArray[Any]
    penalty: npt.NDArray[np.float64]
    prior: Floats
    seen: int = 0
    half_life: float | None = None
    tally: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(3))
    _solution: Floats = field(init=False)  # the last one; the prior at first
    _solved: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        self._solution = self.prior.copy()

    @classmethod
    def empty(
        cls, penalty: npt.NDArray[np.float64], n_bits: int, dtype: Any, half_life: float | None
    ) -> Self:
        """Sums over no rows, and nothing known beforehand. Sums that fade are no whole numbers."""
        n = len(penalty)
        dtype = dtype if half_life is None else np.float64
        gram, cross = np.zeros((n, n), dtype), np.zeros((n, n_bits), dtype)
        return cls(gram, cross, penalty, np.zeros((n, n_bits), np.float32), half_life=half_life)

    def slices(self, n: int) -> Iterator[slice]:
        """The next ``n`` rows in parts that are to be added at once; what came before fades meanwhile."""
        start = 0
        while start < n:
            stop = min(n, start + _ROWS - (self.seen % _ROWS if self.half_life else 0))
            yield slice(start, stop)
            self.seen += stop - start
            self._solved = False
            if self.half_life and self.seen % _ROWS == 0:
                self.gram *= 0.5 ** (_ROWS / self.half_life)
                self.cross *= 0.5 ** (_ROWS / self.half_life)
            start = stop

    def solution(self) -> Floats:
        """M (n_inputs, n_bits)."""
        if not self._solved:
            self._solution = self._solve() if self.seen else self.prior.copy()
            self._solved = True
        return self._solution

    def look(self, inputs: Floats, targets: Floats) -> None:
        """Count how wrong the solution last in use is about rows that are about to be learnt from."""
        scores = inputs @ self._solution
        known = targets != 0
        wrong = known & ((scores >= 0) != (targets > 0))
        losses = np.maximum(0, 1 - targets * scores)[known]
        self.tally += (np.count_nonzero(wrong), losses.sum(dtype=np.float64), np.count_nonzero(known))

    def progress(self) -> tuple[float, float]:
        """The share of mistakes and the mean loss a bit; NaN before any."""
        mistakes, losses, bits = self.tally
        return (float(mistakes / bits), float(losses / bits)) if bits else (np.nan, np.nan)

    def copy(self) -> Self:
        """Independent sums that go on from here."""
        twin = copy(self)
        twin.gram, twin.cross, twin.tally = self.gram.copy(), self.cross.copy(), self.tally.copy()
        return twin

    def become_prior(self) -> None:
        """Forget the rows, and take what they taught, scaled to scores of variance 1, as M₀."""
        M = self.solution().astype(np.float64)
        G = np.tril(self.gram) + np.tril(self.gram, -1).T
        spread = np.sqrt(np.maximum(np.einsum("fk,fk->k", M, G @ M) / max(self.seen, 1), 0))
        self.prior = (M / np.where(spread > 0, spread, 1)).astype(np.float32)
        self.gram[...], self.cross[...], self.tally[...] = 0, 0, 0
        self.seen, self._solution, self._solved = 0, self.prior.copy(), False

    def arrays(self) -> Arrays:
        """The arrays that make it up."""
        lower = self.gram[np.tri(len(self.gram), dtype=bool)]
        return {
            "gram": lower, "cross": self.cross, "penalty": self.penalty, "prior": self.prior,
            "tally": self.tally,
        }  # fmt: skip

    @classmethod
    def of(cls, arrays: Arrays, seen: int, half_life: float | None) -> Self:
        """Take back what ``arrays`` gave."""
        n = len(arrays["penalty"])
        gram = np.zeros((n, n), arrays["gram"].dtype)
        gram[np.tri(n, dtype=bool)] = arrays["gram"]
        cross, penalty, prior = arrays["cross"], arrays["penalty"], arrays["prior"]
        return cls(gram, cross, penalty, prior, seen, half_life, arrays["tally"])

    def _solve(self) -> Floats:
        fading = _WEIGHT / (_ROWS_TO_FADE + self.seen)
        G = self.gram.astype(np.float64)
        np.einsum("ff->f", G)[:] += self.penalty
        right = self.cross + (fading * self.penalty)[:, None] * self.prior
        return np.ascontiguousarray(solve_positive(G, right), np.float32)


@dataclass(slots=True)
class CodeRidge:
    """P, from packed base codes."""

    base_bits: int
    pairs: bool
    sums: Ridge

    @classmethod
    def start(cls, base_bits: int, pairs: bool, n_bits: int, half_life: float | None = None) -> CodeRidge:
        """A learner that has seen nothing."""
        penalty = np.full(n_inputs(base_bits, pairs), _OF_PAIRS)
        penalty[:base_bits] = _OF_BITS
        return cls(base_bits, pairs, Ridge.empty(penalty, n_bits, np.int32, half_life))

    @classmethod
    def of(cls, base_bits: int, pairs: bool, sums: Ridge) -> CodeRidge:
        """Take back the sums that it had."""
        return cls(base_bits, pairs, sums)

    def arrays(self) -> Arrays:
        """The arrays that make it up."""
        return self.sums.arrays()

    def learn(self, H: Packed, targets: Floats) -> None:
        """Learn from base codes H (n, bytes) with targets (n, n_bits) of -1, 0 and +1."""
        n_bits = targets.shape[1]
        for part in self.sums.slices(len(H)):
            rows = targets[part]
            self.sums.look(input_signs(H[part][:_LOOK], self.base_bits, self.pairs), rows[:_LOOK])
            inputs = input_columns(H[part], self.base_bits, self.pairs)
            # a target of 0 is the mean of a +1 and a -1
            halves = columns(np.concatenate([rows >= 0, rows > 0], axis=1).T.view(np.uint8))
            twice = np.zeros((inputs.shape[1], 2 * n_bits), np.int32)
            add_products(twice, inputs, halves, len(rows))
            self.sums.cross += (twice[:, :n_bits] + twice[:, n_bits:]) // 2
            if self.sums.half_life is None:
                add_products(self.sums.gram, inputs, inputs, len(rows), lower=True)
            else:
                products = np.zeros(self.sums.gram.shape, np.int32)
                add_products(products, inputs, inputs, len(rows), lower=True)
                self.sums.gram += products

    def copy(self) -> Self:
        """An independent learner that goes on from here."""
        return replace(self, sums=self.sums.copy())

    def progress(self) -> tuple[float, float]:
        """The share of mistakes and the mean loss a bit."""
        return self.sums.progress()

    @property
    def seen(self) -> int:
        """Rows learnt from."""
        return self.sums.seen

    @property
    def projection(self) -> Floats:
        """P (n_inputs, n_bits)."""
        return self.sums.solution()


@dataclass(slots=True)
class FeatureRidge:
    """R and the queries' thresholds, from features.

    Where there are many features the sums are over their coordinates in ``directions``: those that
    the initial sample spreads in most, and then random ones.
    """

    directions: Floats | None  # (features, inputs)
    sums: Ridge
    _projected: tuple[Floats, Floats] | None = field(init=False, default=None)  # a solution, and its R

    @classmethod
    def start(cls, sample: Floats, n_bits: int, seed: int, half_life: float | None = None) -> FeatureRidge:
        """A learner that has seen nothing."""
        squared = float(np.einsum("nd,nd->n", sample, sample, dtype=np.float64).mean()) or 1.0
        width = sample.shape[1]
        directions = None if width <= _FEATURES else principal_first(sample, _DIRECTIONS, seed)
        penalty = np.full((width if directions is None else _DIRECTIONS) + 1, _OF_FEATURES * squared)
        return cls(directions, Ridge.empty(penalty, n_bits, np.float64, half_life))

    @classmethod
    def of(cls, arrays: Arrays, sums: Ridge) -> FeatureRidge:
        """Take back what ``arrays`` gave, and the sums that it had."""
        return cls(arrays.get("directions"), sums)

    def arrays(self) -> Arrays:
        """The arrays that make it up."""
        parts = self.sums.arrays()
        return parts if self.directions is None else parts | {"directions": self.directions}

    def learn(self, Z: Floats, targets: Floats) -> None:
        """Learn from features Z (n, D) with targets (n, n_bits)."""
        for part in self.sums.slices(len(Z)):
            rows = Z[part]
            rows = rows if self.directions is None else rows @ self.directions
            inputs = np.concatenate([rows, np.full((len(rows), 1), self.constant, np.float32)], axis=1)
            self.sums.look(inputs[:_LOOK], targets[part][:_LOOK])
            self.sums.cross += inputs.T @ targets[part]
            self.sums.gram += inputs.T @ inputs

    @property
    def constant(self) -> float:
        """The input that is the same for every row, on the scale of the others."""
        return float(_CONSTANT * np.sqrt(self.sums.penalty[-1] / _OF_FEATURES))

    def copy(self) -> Self:
        """An independent learner that goes on from here."""
        return replace(self, sums=self.sums.copy())

    def progress(self) -> tuple[float, float]:
        """The share of mistakes and the mean loss a bit."""
        return self.sums.progress()

    @property
    def seen(self) -> int:
        """Rows learnt from."""
        return self.sums.seen

    @property
    def projection(self) -> Floats:
        """R (features, n_bits)."""
        solution = self.sums.solution()
        if self.directions is None:
            return solution[:-1]
        if self._projected is None or self._projected[0] is not solution:
            self._projected = solution, self.directions @ solution[:-1]
        return self._projected[1]

    @property
    def offset(self) -> Floats:
        """c (n_bits,) of g_q = sgn(Rᵀz + c)."""
        c: Floats = np.float32(self.constant) * self.sums.solution()[-1]
        return c


def principal_first(sample: Floats, n: int, seed: int) -> Floats:
    """(D, n) orthonormal: the principal directions of the sample, then random ones."""
    _, _, principal = np.linalg.svd(sample - sample.mean(axis=0), full_matrices=False)
    random = np.random.default_rng(seed).standard_normal((sample.shape[1], n))
    Q, _ = np.linalg.qr(np.concatenate([principal[:n].T, random], axis=1)[:, :n])
    return Q.astype(np.float32)
