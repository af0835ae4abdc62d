"""Rank: mAP over the full ranking beside sorting it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.rows import Row, timed
from onlinehash import HammingRanking
from onlinehash.codes import packed_to_signs
from onlinehash.metrics import Ties, average_precision


def rows(quick: bool) -> Iterator[Row]:
    """1,000 queries against 120,000 items of 64 bits, 80 labels."""
    n, n_queries = (5_000, 50) if quick else (120_000, 1_000)
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 256, (n, 8), np.uint8)
    labels = rng.random((n, 80)) < 0.03
    some = min(n_queries, 20)
    rules: tuple[Ties, ...] = ("expected", "database")
    for ties in rules:

        def fast(n_queries: int, ties: Ties = ties) -> float:
            ranking = HammingRanking(
                codes[:n_queries], codes, labels[:n_queries], labels, n_bits=64, ties=ties
            )
            return ranking.mean_average_precision()

        def plain(ties: Ties = ties) -> float:
            signs = packed_to_signs(codes, 64).astype(np.float32)
            distances = (64 - signs[:some] @ signs.T) / 2
            relevant = labels[:some].astype(np.float32) @ labels.T.astype(np.float32) > 0
            return float(np.nan_to_num(average_precision(distances, relevant, ties)).mean())

        assert abs(fast(some) - plain()) < 1e-9
        ours, sorting = timed(lambda: fast(n_queries), 2), timed(plain, 1).wall / some * n_queries
        yield Row(
            "rank", f"mAP, ties {ties}, {n_queries:,} queries × {n:,} items", "s", ours.wall, sorting,
            "NumPy: distances, stable sort", sorting / ours.wall, None, {"cpu": ours.cpu},
        )  # fmt: skip
