"""Targets: which code a row's labels ask for, under the default learner."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.beyond.learners import ridge, with_constant
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed
from onlinehash.targets import label_row, orthogonal_row

ABOUT = "mAP by rule of targets"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 1
BITS = (32, 64)


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """All rules share the inputs, whose sums are solved once for all of them."""
    for case in cases(("no-person", "all", "tags"), seeds, quick=quick):
        U, Z, _, Z_asked = case.inputs()
        Z, Z_asked = with_constant(Z), with_constant(Z_asked)
        asked = {(name, n_bits): rule(case, n_bits) for name, rule in RULES.items() for n_bits in BITS}
        together = np.concatenate(list(asked.values()), axis=1)
        P, R = ridge(2500, 10000)(U, together), ridge(3)(Z, together)
        start = 0
        for name, n_bits in asked:
            bits = slice(start, start + n_bits)
            codes, queries = packed(U @ P[:, bits]), packed(Z_asked @ R[:, bits])
            yield Record(case.name, name, f"{n_bits} bits", [case.score(queries, codes, n_bits)])
            start += n_bits


def _rows(case: Case, n_bits: int, orthogonal: bool) -> Floats:
    """L, for all labels."""
    n = range(case.Y.shape[1])
    if orthogonal:
        return np.stack([orthogonal_row(j, n_bits, case.seed) for j in n])
    return np.stack([label_row(j, n_bits, case.seed) for j in n])


def _sums(
    weigh: Callable[[npt.NDArray[np.bool_]], Floats], orthogonal: bool = True
) -> Callable[[Case, int], Floats]:
    return lambda case, n_bits: np.sign(weigh(case.Y) @ _rows(case, n_bits, orthogonal)).astype(np.float32)


def _as_they_are(Y: npt.NDArray[np.bool_]) -> Floats:
    return Y.astype(np.float32)


def _rare_first(Y: npt.NDArray[np.bool_]) -> Floats:
    """Labels weighted by how much they say: the logarithm of one over their frequency."""
    weights = -np.log(np.maximum(Y.mean(axis=0), 1 / len(Y)))
    return np.asarray(Y * weights, np.float32)


def _from_the_mean(Y: npt.NDArray[np.bool_]) -> Floats:
    return np.asarray(Y - Y.mean(axis=0), np.float32)


def _unsigned(case: Case, n_bits: int) -> Floats:
    """Lᵀy itself: inner products of targets are then the numbers of shared labels."""
    return _as_they_are(case.Y) @ _rows(case, n_bits, True)


def _balanced(case: Case, n_bits: int) -> Floats:
    """Each bit's threshold at the median of Lᵀy, so that half of the rows are on either side."""
    sums = _as_they_are(case.Y) @ _rows(case, n_bits, False)
    return np.asarray(np.sign(sums - np.median(sums, axis=0)), np.float32)


RULES: dict[str, Callable[[Case, int], Floats]] = {
    "Gaussian rows, sgn(Lᵀy) (paper)": _sums(_as_they_are, orthogonal=False),
    "Gaussian rows, balanced bits": _balanced,
    "Gaussian rows, rare labels weigh more": _sums(_rare_first, orthogonal=False),
    "orthogonal rows, 0 where labels disagree (default)": _sums(_as_they_are),
    "orthogonal rows, rare labels weigh more": _sums(_rare_first),
    "orthogonal rows, less the mean": _sums(_from_the_mean),
    "orthogonal rows, Lᵀy without its sign": _unsigned,
}
