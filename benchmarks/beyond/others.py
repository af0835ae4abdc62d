"""Sets of another kind, so that nothing is tuned to photographs: genes, digits, words of captions, texts."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.beyond.query_side import _ranked
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import OTHERS, cases
from onlinehash import OHWEU

ABOUT = "mAP on sets of other kinds"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 3
BITS = (32, 64)

WAYS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "Gaussian label rows": {"targets": "gaussian"},
    "no pairs": {"pairs": False},
    "PA, mean of all": {"learner": "pa"},
    "PA, mean of all, no pairs, Gaussian": {"learner": "pa", "pairs": False, "targets": "gaussian"},
}


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Nothing was chosen on these, so the queries are asked."""
    for case in cases(OTHERS, seeds, "queries", quick):
        for n_bits in BITS:
            at = f"{n_bits} bits"
            for name, way in WAYS.items():
                hasher = OHWEU(n_bits, random_state=case.seed).set_params(**way).fit(case.X, case.Y)
                yield Record(case.name, name, at, [case.score_of(hasher)])
            # digits span fewer directions than 64, so the base code may take several rotations of them
            published = OHWEU.as_published(n_bits, random_state=case.seed).set_params(base_bits=n_bits)
            yield Record(case.name, "the paper's letter", at, [case.score_of(published.fit(case.X, case.Y))])
            fixed = case.hasher(n_bits, base_bits=n_bits, pairs=False)
            value = case.score(fixed.hash(case.X_asked), fixed.hash(case.X), n_bits)
            yield Record(case.name, "PCA-ITQ", at, [value])
            features = hasher.features_
            yield Record(
                case.name, "raw cosine", at, [_ranked(case, features(case.X_asked), features(case.X))]
            )
