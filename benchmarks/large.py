"""100 million codes in one index on one machine: open, refresh, search. Takes some 20 minutes and 5 GB."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.index import build, opened, search_time, under_load
from benchmarks.rows import Row, timed
from benchmarks.scan import random_codes
from onlinehash import Index, nearest
from onlinehash.codes import Packed, Words


def rows(quick: bool) -> Iterator[Row]:
    """64→64 bits."""
    n = 100_000 if quick else 100_000_000
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder) / "index"
        build(path, n, 64, 64)
        yield from opened(path, n, 64, 64)
        X = np.random.default_rng(1).standard_normal((100, 64), np.float32)
        with Index.open(path, read_only=True) as index:
            found = {q: search_time(index, X[:q]) for q in (1, 100)}
        scans = _scans(n, list(found))
        for q, ours in found.items():
            yield Row(
                "search", f"64 bits, {n / 1e6:g}M items, queries={q}, k=10", "ms", ours, scans[q],
                "the scan's kernel alone, k=100", scans[q] / ours,
            )  # fmt: skip
        yield from under_load(path, n, 64, 64, quick)


def _scans(n: int, numbers: list[int]) -> dict[int, float]:
    """Milliseconds of the kernel over as many random codes, by the number of queries."""
    words = random_codes(64, n)
    queries = np.random.default_rng(2).integers(0, 256, (max(numbers), 8), np.uint8)
    return {q: _scan(words, queries[:q]) for q in numbers}


def _scan(words: Words, queries: Packed) -> float:
    return timed(lambda: nearest(words, queries, 100, 64), 2).wall * 1e3
