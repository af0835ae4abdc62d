"""The query side: what is made of a query, which costs no storage and is done once a search."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.beyond.learners import ridge, with_constant
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed
from onlinehash.hashers.ridge import principal_first
from onlinehash.metrics import average_precision, mean

ABOUT = "mAP by what is made of a query"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 1
BITS = (32, 64)


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Stored codes are the same for all; first ways to make query codes, then finer ways to compare."""
    for case in cases(("no-person", "all"), seeds, quick=quick):
        for n_bits in BITS:
            for name, value in _ways(case, n_bits):
                yield Record(case.name, name, f"{n_bits} bits", [value])


def _ways(case: Case, n_bits: int) -> Iterator[tuple[str, float]]:
    U, Z, U_asked, Z_asked = case.inputs()
    Z, Z_asked = with_constant(Z), with_constant(Z_asked)
    targets = case.targets(n_bits)
    P, R = ridge(2500, 10000)(U, targets), ridge(3)(Z, targets)
    live, of_P, of_R = U @ P, U_asked @ P, Z_asked @ R
    codes = packed(live)

    yield "code, from features: R (default)", case.score(packed(of_R), codes, n_bits)
    yield "code, as items have it: P (symmetric)", case.score(packed(of_P), codes, n_bits)
    yield "code, the sum of both", case.score(packed(of_R + of_P), codes, n_bits)
    for n in (256, 1024):
        Q = principal_first(Z[:1000, :-1], n, case.seed)
        less, less_asked = (with_constant(z[:, :-1] @ Q) for z in (Z, Z_asked))
        R_less = ridge(3)(less, targets)
        yield (
            f"code, R in {n:,} directions of the features",
            case.score(packed(less_asked @ R_less), codes, n_bits),
        )
    # features on the scale on which one penalty serves both
    both, both_asked = (np.concatenate([30 * z, u], axis=1) for z, u in ((Z, U), (Z_asked, U_asked)))
    R_both = ridge(2500)(both, targets)
    yield "code, R from base bits, pairs and features", case.score(packed(both_asked @ R_both), codes, n_bits)

    signs = np.where(live >= 0, np.float32(1), np.float32(-1))
    wrong = np.clip(((live >= 0) != (targets > 0)).mean(axis=0), 0.01, 0.49)
    sure = np.log((1 - wrong) / wrong).astype(np.float32)
    margin = np.abs(live).mean(axis=0)
    query_signs = np.where(of_R >= 0, np.float32(1), np.float32(-1))
    yield "bits weighted by how often they are right", _ranked(case, query_signs * sure, signs)
    yield "bits weighted by their mean margin", _ranked(case, query_signs * margin, signs)
    yield "scores of the query, codes of items (the index's)", _ranked(case, of_R, signs)
    yield "scores, of the sum of both", _ranked(case, of_R + of_P, signs)
    yield "scores on both sides (not stored)", _ranked(case, of_R, live)


def _ranked(case: Case, asked: Floats, stored: Floats) -> float:
    """MAP of a ranking by inner products."""
    values = []
    for start in range(0, len(asked), 100):
        relevant = case.Y_asked[start : start + 100].astype(np.float32) @ case.Y.T.astype(np.float32) > 0
        values.append(average_precision(-(asked[start : start + 100] @ stored.T), relevant))
    return mean(np.concatenate(values))
