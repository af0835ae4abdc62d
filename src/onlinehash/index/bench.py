"""How fast an index is on this machine, in CPU time on one core, beside NumPy doing the same."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlinehash.codes import Packed, Words, n_bytes, packed_to_words, words_to_packed
from onlinehash.errors import InvalidInputError
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.index import Index
from onlinehash.index.snapshot import Generation
from onlinehash.kernels.inputs import input_signs
from onlinehash.kernels.learn import learn_numpy
from onlinehash.kernels.scan import nearest
from onlinehash.kernels.threads import at_most

_K, _QUERIES, _ROWS = 10, 32, 1000
_SOME = 10_000  # codes that NumPy refreshes; it takes as long for each of them
_REPEATS, _AT_LEAST = 3, 0.05  # clocks may be as coarse as 0.016 s


@dataclass(frozen=True, slots=True)
class Measured:
    """One figure: ours and NumPy's in the same unit, of which more is better."""

    what: str
    unit: str
    ours: float
    numpy: float

    @property
    def ratio(self) -> float:
        """How many times as fast as NumPy."""
        return self.ours / self.numpy


def measure(
    index: Index | None = None, *, items: int = 500_000, dim: int = 256, n_bits: int = 64
) -> Iterator[Measured]:
    """Scan, refresh and learn, each as the best of three; nothing is changed.

    Without an index, on one in memory, of as many made items. What is compared: a scan for the ten
    nearest with XOR, counts and a partition; a refresh with the inputs of P as numbers and a matrix
    product; learning with the four matrix products of a regression on inputs and on features, or, where the
    rule is passive-aggressive, with its loop over the rows.
    """
    if index is None:
        with _made(items, dim, n_bits) as made:
            yield from measure(made)
        return
    with index._pinned() as (view, snapshot), at_most(1):
        if snapshot.generation is None or not snapshot.n_items:
            raise InvalidInputError("there is nothing to measure: the index has no codes yet")
        hasher, live = snapshot.generation.hasher, snapshot.live
        codes = np.concatenate([chunk.codes for chunk in view.chunks()])[: live.shape[1]]
        yield from _scans(live, hasher.n_bits)
        yield _refresh(codes, live, hasher)
        yield _learn(hasher, index.dim)


def _made(items: int, dim: int, n_bits: int) -> Index:
    rng = np.random.default_rng(0)
    hasher = OHWEU(n_bits).initialize(rng.standard_normal((1000, dim), np.float32))
    codes = rng.integers(0, 256, (items, n_bytes(hasher.base_bits_)), np.uint8)
    if hasher.base_bits_ % 8:
        codes[:, -1] &= np.uint8(0xFF << (-hasher.base_bits_ % 8) & 0xFF)
    index = Index.create(":memory:", hasher=hasher)
    index.add_codes(range(items), codes)
    return index


def _scans(live: Words, n_bits: int) -> Iterator[Measured]:
    n = live.shape[1]
    queries = words_to_packed(np.ascontiguousarray(live[:, :: max(1, n // _QUERIES)][:, :_QUERIES]), n_bits)
    k = min(_K, n)
    for asked, name in ((queries[:1], "one query"), (queries, f"{len(queries)} queries")):
        rows = packed_to_words(asked, n_bits).T

        def with_numpy(rows: Any = rows) -> None:
            for row in rows:
                distances = np.bitwise_count(live ^ row[:, None]).sum(axis=0, dtype=np.int32)
                first = np.argpartition(distances, k - 1)[:k]
                first[np.argsort(distances[first], kind="stable")]

        def with_ours(asked: Packed = asked) -> None:
            nearest(live, asked, k, n_bits)

        unit = n * len(asked) / 1e6
        yield Measured(
            f"scan, {name}", "million codes/s", unit / _seconds(with_ours), unit / _seconds(with_numpy)
        )


def _refresh(codes: Packed, live: Words, hasher: OHWEU) -> Measured:
    words, out = packed_to_words(codes, hasher.base_bits_), np.empty_like(live)
    ours = _seconds(lambda: Generation.of(0, hasher).refresh(words, out))  # the tables are part of it
    some = codes[:_SOME]

    def with_numpy() -> None:
        inputs = input_signs(some, hasher.base_bits_, len(hasher.P_) > hasher.base_bits_)
        np.packbits(inputs @ hasher.P_ >= 0, axis=1)

    return Measured(
        "refresh", "million codes/s", len(codes) / ours / 1e6, len(some) / _seconds(with_numpy) / 1e6
    )


def _learn(hasher: OHWEU, dim: int) -> Measured:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_ROWS, dim), np.float32)
    labels = rng.integers(10, size=_ROWS)
    pupil = hasher.copy()
    ours = _seconds(lambda: pupil.partial_fit(X, labels))
    u = input_signs(hasher.hash(X), hasher.base_bits_, len(hasher.P_) > hasher.base_bits_)
    g = np.where(rng.random((_ROWS, hasher.n_bits)) < 0.5, -1, 1).astype(np.float32)
    if hasher.learner == "pa":
        some = _ROWS // 20  # each row takes as long
        starts = [np.zeros((width, hasher.n_bits)) for width in (u.shape[1], dim)]
        rows = [u[:some].astype(np.float64), X[:some].astype(np.float64)]
        targets = g[:some].astype(np.float64)
        numpy = 20 * _seconds(
            lambda: [learn_numpy(M, Z, targets, 0.1, "paper") for M, Z in zip(starts, rows, strict=True)]
        )
    else:
        numpy = _seconds(lambda: [u.T @ u, u.T @ g, X.T @ X, X.T @ g])
    return Measured("learn", "rows/s", _ROWS / ours, _ROWS / numpy)


def _seconds(work: Callable[[], Any]) -> float:
    """CPU seconds, which other programs change little: once to warm up, then the best of a few."""
    work()
    best = float("inf")
    for _ in range(_REPEATS):
        runs, started = 0, time.process_time()
        while (used := time.process_time() - started) < _AT_LEAST:
            work()
            runs += 1
        best = min(best, used / runs)
    return best
