"""Learners: how P and R follow the targets, all on the same inputs and towards the same targets."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed
from onlinehash.kernels.learn import Learner, Rule

ABOUT = "mAP by learner"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 1
N_BITS = 64

Learn = Callable[[Floats, Floats], Floats]  # inputs of the stream, targets → projection


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Every learner learns P from 512 bits with their pairs, and R from features.

    Once from all of the stream; once from its first half, and only the other half is ranked: items that
    nobody has labelled.
    """
    for case in cases(("no-person",), seeds, quick=quick):
        for name, (of_codes, of_features) in LEARNERS.items():
            for learnt, ranked, x in _halves(len(case.X)):
                value = _score(case, learnt, ranked, of_codes, of_features)
                yield Record(case.name, name, x, [value])


def _halves(n: int) -> Iterator[tuple[slice, slice, str]]:
    yield slice(n), slice(n), "items learnt from"
    yield slice(n // 2), slice(n // 2, n), "items never labelled"


def _score(case: Case, learnt: slice, ranked: slice, of_codes: Learn, of_features: Learn) -> float:
    U, Z, _, Z_asked = case.inputs()
    targets = case.targets(N_BITS)[learnt]
    P, R = of_codes(U[learnt], targets), of_features(with_constant(Z[learnt]), targets)
    stored = replace(case, Y=case.Y[ranked])
    return stored.score(packed(with_constant(Z_asked) @ R), packed(U[ranked] @ P), N_BITS)


def with_constant(Z: Floats) -> Floats:
    """Features, and a small number that gives queries a threshold."""
    return np.concatenate([Z, np.full((len(Z), 1), 0.1, np.float32)], axis=1)


def ridge(penalty: float, of_pairs: float | None = None) -> Learn:
    """All rows at once, which is what the sums of ``hashers/ridge.py`` come to."""

    def learn(U: Floats, targets: Floats) -> Floats:
        G = (U.T @ U).astype(np.float64)
        of = np.full(len(G), penalty)
        if of_pairs is not None:
            of[512:] = of_pairs
        G[np.diag_indices(len(G))] += of
        solution: Floats = np.linalg.solve(G, (U.T @ targets).astype(np.float64)).astype(np.float32)
        return solution

    return learn


def passive_aggressive(C: float, rule: Rule, which: str) -> Learn:
    """The paper's rule; ``which`` of its iterates is used: "last", the mean of "all", of the "tail", or
    an average that is "forgetting" within 2,000 rows."""

    def learn(U: Floats, targets: Floats) -> Floats:
        learner = Learner.start(
            np.zeros((U.shape[1], targets.shape[1]), np.float32), C, rule, which != "last"
        )
        half, total, recent = len(U) // 2, len(U) + 1, learner.M.copy()
        before = learner.M
        for start in range(0, len(U), 256):
            if which == "tail" and start <= half < start + 256:
                half, before = learner.seen + 1, learner.projection.copy()
            learner.learn(U[start : start + 256], targets[start : start + 256])
            recent += (learner.M - recent) * np.float32(min(1, 256 / min(2000, learner.seen)))
        if which == "tail":
            scaled: Floats = np.float32(total) * learner.projection - np.float32(half) * before
            scaled /= np.float32(total - half)
            return scaled
        return recent if which == "forgetting" else learner.projection

    return learn


def one_by_one(step: Callable[[Floats, Floats, Floats, Floats], None]) -> Learn:
    """The mean iterate of a rule that is said for one row: step(M, state, u, g) moves M and its state."""

    def learn(U: Floats, targets: Floats) -> Floats:
        M = np.zeros((U.shape[1], targets.shape[1]), np.float32)
        state, mean = np.ones_like(M), M.copy()
        for t, (u, g) in enumerate(zip(U, targets, strict=True)):
            step(M, state, u[:, None], g)
            mean += (M - mean) * np.float32(1 / (t + 1))
        return mean

    return learn


def arow(r: float) -> Callable[[Floats, Floats, Floats, Floats], None]:
    """AROW with a variance for each input and bit: sure inputs move little (Crammer and others, 2009)."""

    def step(M: Floats, variance: Floats, u: Floats, g: Floats) -> None:
        spread = variance * u
        beta = 1 / ((u * spread).sum(axis=0) + np.float32(r))
        alpha = np.maximum(0, 1 - g * (u * M).sum(axis=0)) * beta * np.abs(g)
        M += spread * (alpha * g)
        variance -= spread * spread * (beta * (alpha > 0))

    return step


def pa_two(C: float) -> Callable[[Floats, Floats, Floats, Floats], None]:
    """PA-II: the loss counts squared, so no step is cut off (Crammer and others, 2006)."""

    def step(M: Floats, _: Floats, u: Floats, g: Floats) -> None:
        loss = np.maximum(0, 1 - g * (u * M).sum(axis=0)) * np.abs(g)
        M += u * (g * loss / (np.float32((u * u).sum()) + np.float32(0.5 / C)))

    return step


def logistic(rate: float) -> Callable[[Floats, Floats, Floats, Floats], None]:
    """Logistic loss, with each weight's step as long as its slopes so far were small (AdaGrad)."""

    def step(M: Floats, squares: Floats, u: Floats, g: Floats) -> None:
        slope = u * (np.abs(g) * ((1 + np.tanh((u * M).sum(axis=0) / 2)) / 2 - (g + 1) / 2))
        squares += slope * slope
        M -= np.float32(rate) * slope / np.sqrt(squares)

    return step


LEARNERS: dict[str, tuple[Learn, Learn]] = {
    "PA, paper's margin, last": (
        passive_aggressive(0.003, "paper", "last"),
        passive_aggressive(0.1, "paper", "last"),
    ),
    "PA, last": (passive_aggressive(0.3, "floored", "last"),) * 2,
    "PA, mean of all": (passive_aggressive(0.3, "floored", "all"),) * 2,
    "PA, mean of the tail": (passive_aggressive(0.3, "floored", "tail"),) * 2,
    "PA, forgetting mean": (passive_aggressive(0.3, "floored", "forgetting"),) * 2,
    "PA-II, mean of all": (one_by_one(pa_two(0.0003)), one_by_one(pa_two(0.1))),
    "AROW, diagonal": (one_by_one(arow(1000.0)), one_by_one(arow(1.0))),
    "logistic, adaptive steps": (one_by_one(logistic(0.01)), one_by_one(logistic(0.3))),
    "ridge (default)": (ridge(2500, 10000), ridge(3)),
    "ridge, ten times the penalty": (ridge(25000, 100000), ridge(30)),
    "ridge, a tenth of the penalty": (ridge(250, 1000), ridge(0.3)),
}
