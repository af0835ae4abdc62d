"""Drift: what comes, or what labels mean, changes half way. What is followed, what forgotten?

``half_life`` weighs a row half as much as one that came so many rows later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from benchmarks.beyond.learners import passive_aggressive, with_constant
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed

ABOUT = "mAP along streams that change, and how well the next rows are predicted"
FIGURE, AXES = "curves", {"xlabel": "share of the stream learnt", "ylabel": ""}
SEEDS = 1
N_BITS = 64
NEXT = 500  # rows
SHARES = (0.25, 0.5, 0.6, 0.75, 1.0)

Labels = npt.NDArray[np.bool_]


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """All items are stored from the start, and ranked by what the labels mean at that time."""
    for case in cases(("no-person",), seeds, quick=quick):
        for title, change in CHANGES.items():
            changed, before, after = change(case)
            yield from _along(title, changed, before, after)


def _along(title: str, case: Case, before: Labels, after: Labels) -> Iterator[Record]:
    """``before``: what the queries' and items' labels mean in the first half of the stream, if it differs."""
    U, Z, _, Z_asked = case.inputs()
    Z, Z_asked = with_constant(Z), with_constant(Z_asked)
    targets = case.targets(N_BITS)
    n, asked = len(U), len(case.Y_asked)
    for share in SHARES:
        until = round(share * n)
        meant = before if share <= 0.5 else after
        now = replace(case, Y=meant[:n], Y_asked=meant[n : n + asked])
        for name, (of_codes, of_features) in LEARNERS.items():
            P, R = of_codes(U[:until], targets[:until]), of_features(Z[:until], targets[:until])
            yield Record(title, name, share, [now.score(packed(Z_asked @ R), packed(U @ P), N_BITS)])
            if until < n and name.startswith("ridge"):
                following, to_come = U[until : until + NEXT] @ P, targets[until : until + NEXT]
                wrong = ((following >= 0) != (to_come > 0))[to_come != 0].mean()
                yield Record(f"{title}: wrong bits of the next {NEXT} rows", name, share, [float(wrong)])


Change = Callable[[Case], tuple[Case, Labels, Labels]]


def _none(case: Case) -> tuple[Case, Labels, Labels]:
    whole = np.concatenate([case.Y, case.Y_asked])
    return case, whole, whole


def _sorted(case: Case) -> tuple[Case, Labels, Labels]:
    """Rows in the order of the first label that they have."""
    order = np.argsort(case.Y.argmax(axis=1), kind="stable")
    return _none(replace(case, X=case.X[order], Y=case.Y[order]))


def _late(case: Case) -> tuple[Case, Labels, Labels]:
    """Rows with one of the odd-numbered labels all come in the second half."""
    order = np.argsort(case.Y[:, 1::2].any(axis=1), kind="stable")
    return _none(replace(case, X=case.X[order], Y=case.Y[order]))


def _meaning(case: Case) -> tuple[Case, Labels, Labels]:
    """Names stand for random groups of things, and half way for other groups."""
    rng = np.random.default_rng(case.seed)
    whole = np.concatenate([case.Y, case.Y_asked])
    things, names = whole.shape[1], 6
    before, after = (
        whole.astype(int) @ np.eye(names, dtype=int)[rng.permutation(things) % names] > 0 for _ in range(2)
    )
    half = len(case.Y) // 2
    Y = np.concatenate([before[:half], after[half : len(case.Y)]])
    return replace(case, Y=Y, Y_asked=after[len(case.Y) :]), before, after


CHANGES: dict[str, Change] = {
    "nothing changes": _none,
    "sorted by label": _sorted,
    "half of the labels come late": _late,
    "names change their meaning": _meaning,
}


def forgetting_ridge(penalty: float, of_pairs: float, half_life: float) -> Callable[[Floats, Floats], Floats]:
    """The default learner with a weight for each row."""

    def learn(U: Floats, targets: Floats) -> Floats:
        weights = np.exp2(-np.arange(len(U))[::-1] / half_life).astype(np.float32)[:, None]
        G = (U.T @ (weights * U)).astype(np.float64)
        G[np.diag_indices(len(G))] += np.where(np.arange(len(G)) < 512, penalty, of_pairs)
        solution: Floats = np.linalg.solve(G, (U.T @ (weights * targets)).astype(np.float64)).astype(
            np.float32
        )
        return solution

    return learn


def _ridges(half_life: float) -> tuple[Callable[[Floats, Floats], Floats], ...]:
    return forgetting_ridge(2500, 10000, half_life), forgetting_ridge(3, 3, half_life)


LEARNERS = {
    "ridge (default)": _ridges(np.inf),
    "ridge, half-life of 5,000 rows": _ridges(5000),
    "ridge, half-life of 1,000 rows": _ridges(1000),
    "PA, last": (passive_aggressive(0.3, "floored", "last"),) * 2,
    "PA, mean of all": (passive_aggressive(0.3, "floored", "all"),) * 2,
    "PA, forgetting mean": (passive_aggressive(0.3, "floored", "forgetting"),) * 2,
}
