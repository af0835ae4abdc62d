"""The cold start: from no label to all, beside PCA-ITQ of as many bits, a start from zero, and raw cosine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.beyond.query_side import _ranked
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, cases
from onlinehash import ITQ, OHWEU

ABOUT = "mAP by the number of labelled rows"
FIGURE, AXES = "curves", {"xlabel": "labelled rows", "xscale": "symlog", "ylabel": "mAP"}
SEEDS = 1
N_BITS = 64
LABELLED = (0, 50, 100, 300, 1000, 3000)
OURS, ZERO, FIXED, COSINE = "defaults", "from zero, no prior", "PCA-ITQ", "raw cosine"


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """The whole database is ranked, whatever has been labelled."""
    for case in cases(("no-person", "all"), seeds, quick=quick):
        yield from curves(case)


def curves(case: Case, n_bits: int = N_BITS) -> Iterator[Record]:
    """All four lines for one case."""
    marks = [*(n for n in LABELLED if n < len(case.X)), len(case.X)]
    panel = f"{case.name}, {n_bits} bits"
    fixed = ITQ(n_bits, n_init=1000, random_state=case.seed).fit(case.X)
    itq = case.score(fixed.encode(case.X_asked), fixed.encode(case.X), n_bits)
    features = case.hasher(n_bits).features_
    cosine = _ranked(case, features(case.X_asked), features(case.X))
    for name, hasher in ((OURS, case.hasher(n_bits)), (ZERO, from_zero(case.hasher(n_bits)))):
        base, done = hasher.hash(case.X), 0
        for n in marks:
            if n > done:
                hasher.partial_fit(case.X[done:n], case.Y[done:n])
                done = n
            if n or name == OURS:
                yield Record(panel, name, n, [case.score_of(hasher, base)])
    for n in marks:
        yield Record(panel, FIXED, n, [itq])
        yield Record(panel, COSINE, n, [cosine])


def from_zero(hasher: OHWEU) -> OHWEU:
    """The same without what it knows before any label."""
    for learner in (hasher._P, hasher._R):
        learner.sums.prior = np.zeros_like(learner.sums.prior)  # type: ignore[union-attr]
    return hasher
