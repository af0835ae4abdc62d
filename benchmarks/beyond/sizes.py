"""Sizes: the same defaults for a stream of 500 rows and for one of hundreds of thousands."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases
from onlinehash import ITQ, OHWEU

ABOUT = "mAP by the number of rows, all labelled"
FIGURE, AXES = "curves", {"xlabel": "rows", "xscale": "log", "ylabel": "mAP"}
SEEDS = 1
SIZES = (500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 200_000, 1_000_000)

MOVES = {
    "defaults": {},
    "128 base bits": {"base_bits": 128},
    "1,024 base bits": {"base_bits": 1024},
    "300 rows to initialise": {"n_init": 300},
    "3,000 rows to initialise": {"n_init": 3000},
    "the paper's letter": None,
}


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Heads of the photographs' streams, and made rows for what goes beyond them."""
    for case in cases(("no-person", "all", "tags"), seeds, quick=quick):
        for n in sorted({min(n, len(case.X)) for n in SIZES}):
            yield from _of(case.first(n), MOVES)
    few = {name: MOVES[name] for name in ("defaults", "1,024 base bits", "the paper's letter")}
    for n in SIZES[:2] if quick else SIZES:
        yield from _of(made(n), few)


def _of(case: Case, moves: dict[str, dict[str, int] | None]) -> Iterator[Record]:
    n = len(case.X)
    for name, move in moves.items():
        seed = case.seed
        hasher = (
            OHWEU.as_published(64, random_state=seed)
            if move is None
            else OHWEU(64, random_state=seed).set_params(**move)
        )
        yield Record(case.name, name, n, [case.score_of(hasher.fit(case.X, case.Y))])
    fixed = ITQ(64, n_init=1000, random_state=case.seed).fit(case.X)
    yield Record(case.name, "PCA-ITQ", n, [case.score(fixed.encode(case.X_asked), fixed.encode(case.X), 64)])


def made(n: int, width: int = 128, kinds: int = 20) -> Case:
    """Rows around 100 centres; each centre has one or two of 20 labels. 500 queries beside them."""
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((100, width), np.float32)
    labels = np.zeros((100, kinds), np.bool_)
    for of_centre in labels:
        of_centre[rng.choice(kinds, rng.integers(1, 3), replace=False)] = True

    def draw(count: int) -> tuple[Floats, np.ndarray]:
        chosen = rng.integers(100, size=count)
        X = rng.standard_normal((count, width), np.float32)
        X *= 2
        X += centres[chosen]
        return X, labels[chosen]

    asked = draw(500)
    return Case("made rows", 0, *draw(n), *asked)
