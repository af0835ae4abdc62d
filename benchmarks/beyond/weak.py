"""Weak supervision: few labels, wrong labels, and clicks, which say only "this is like that"."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, cases
from onlinehash import OHWEU

ABOUT = "mAP of the whole database by what was said about it"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 1
N_BITS = 64

KINDS: dict[str, Callable[[int], OHWEU]] = {
    "defaults": lambda seed: OHWEU(N_BITS, random_state=seed),
    "PA, mean of all": lambda seed: OHWEU(N_BITS, learner="pa", pairs=False, random_state=seed),
    "the paper's letter": lambda seed: OHWEU.as_published(N_BITS, random_state=seed),
}


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Every item is stored; labels come for some, or are wrong for some, or there are only clicks."""
    for case in cases(("no-person", "all"), seeds, quick=quick):
        for name, make in KINDS.items():
            for said, Y in _said(case):
                hasher = make(case.seed).initialize(case.X[:1000]).partial_fit(case.X, Y)
                yield Record(case.name, name, said, [case.score_of(hasher)])
        for count in (1000, 10_000):
            clicks = _clicks(case, count)
            for name, learn in CLICKS.items():
                yield Record(case.name, name, f"{count:,} clicks", [case.score_of(learn(case, clicks))])
        for said, Y in list(_said(case))[1:3]:
            hasher = case.hasher(N_BITS).partial_fit(case.X, Y)
            hasher.learn_pairs(case.X[clicks[:, 0]], case.X[clicks[:, 1]])
            yield Record(case.name, "defaults, then 10,000 clicks", said, [case.score_of(hasher)])


def _said(case: Case) -> Iterator[tuple[str, list[list[int]]]]:
    rng = np.random.default_rng(case.seed)
    true = [np.flatnonzero(row).tolist() for row in case.Y]
    for words, share in (("all labels", 1.0), ("10% of them", 0.1), ("1% of them", 0.01)):
        some = rng.random(len(true)) < share
        yield words, [row if has else [] for row, has in zip(true, some, strict=True)]
    others, wrong = rng.permutation(len(true)), rng.random(len(true)) < 0.2
    yield (
        "20% wrong",
        [true[other] if is_wrong else row for row, other, is_wrong in zip(true, others, wrong, strict=True)],
    )


def _clicks(case: Case, n: int) -> npt.NDArray[np.int64]:
    """(n, 2): random items, each with another that shares a label."""
    rng = np.random.default_rng(case.seed)
    found: list[tuple[int, int]] = []
    while len(found) < n:
        i = int(rng.integers(len(case.Y)))
        j = int(rng.integers(len(case.Y)))
        if i != j and (case.Y[i] & case.Y[j]).any():
            found.append((i, j))
    return np.array(found)


def _as_labels(case: Case, pairs: npt.NDArray[np.int64]) -> OHWEU:
    """Each click is a label of its own, which both have."""
    hasher = case.hasher(N_BITS, targets="gaussian")
    Y = np.arange(len(pairs)).repeat(2)
    return hasher.partial_fit(case.X[pairs.ravel()], Y)


def _towards_each_other(case: Case, pairs: npt.NDArray[np.int64]) -> OHWEU:
    return case.hasher(N_BITS).learn_pairs(case.X[pairs[:, 0]], case.X[pairs[:, 1]])


def _none(case: Case, _: npt.NDArray[np.int64]) -> OHWEU:
    return case.hasher(N_BITS)


CLICKS: dict[str, Callable[[Case, npt.NDArray[np.int64]], OHWEU]] = {
    "nothing learnt from clicks": _none,
    "each click a label": _as_labels,
    "learn_pairs: what both agree on": _towards_each_other,
}
