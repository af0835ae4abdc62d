"""Base codes: what is stored of an item, by bytes; what it ranks, and what a refresh of it costs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.beyond.learners import ridge, with_constant
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed
from benchmarks.refresh import random_words
from benchmarks.rows import timed
from onlinehash.codes import Packed, allocate_words
from onlinehash.hashers.itq import pca_itq_frames
from onlinehash.kernels.hash import sign_of_product
from onlinehash.kernels.inputs import input_signs, n_inputs
from onlinehash.kernels.refresh import lookup_tables, refresh_codes

ABOUT = "mAP by bytes stored an item, and nanoseconds of a refresh"
FIGURE, AXES = "curves", {"xlabel": "base bits an item", "xscale": "log"}
SEEDS = 1
N_BITS = 64


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Codes of 64 bits from base codes of 32 to 2,048, and what a refresh of them costs."""
    for case in cases(("no-person", "all"), seeds, quick=quick):
        hasher = case.hasher()
        Z, Z_asked = hasher.features_(case.X), hasher.features_(case.X_asked)
        targets = case.targets(N_BITS)
        queries = packed(with_constant(Z_asked) @ ridge(3)(with_constant(Z), targets))

        for bits in (32, 128) if quick else (32, 64, 128, 256, 512, 1024, 2048):
            W, b = pca_itq_frames(Z[:1000], bits, 50, case.seed)
            H = sign_of_product(Z, W, b)
            yield Record(case.name, "bits", bits, [score(case, H, bits, False, targets, queries)])
            if bits <= 1024:
                value = score(case, H, bits, True, targets, queries)
                yield Record(case.name, "bits and pairs (default)", bits, [value])
    for bits in (32, 128) if quick else (32, 64, 128, 256, 512, 1024, 2048):
        for pairs in (False, True):
            if bits <= 1024 or not pairs:
                name = "bits and pairs (default)" if pairs else "bits"
                yield Record("refresh, ns a code on one core", name, bits, [_refresh(bits, pairs, quick)])


def score(case: Case, H: Packed, bits: int, pairs: bool, targets: Floats, queries: Packed) -> float:
    """MAP of what the default learner makes of base codes, with query codes that are given."""
    U = input_signs(H, bits, pairs)
    G = (U.T @ U).astype(np.float64)
    G[np.diag_indices(len(G))] += np.where(np.arange(len(G)) < bits, 2500, 10000)
    P = np.linalg.solve(G, (U.T @ targets).astype(np.float64)).astype(np.float32)
    return case.score(queries, packed(U @ P), N_BITS)


def _refresh(bits: int, pairs: bool, quick: bool) -> float:
    n = 100_000 if quick else 1_000_000
    base, out = random_words(bits, n), allocate_words(N_BITS, n)
    P = np.random.default_rng(1).standard_normal((n_inputs(bits, pairs), N_BITS), np.float32)
    return timed(lambda: refresh_codes(base, lookup_tables(P, bits), N_BITS, out, threads=1)).cpu / n * 1e9
