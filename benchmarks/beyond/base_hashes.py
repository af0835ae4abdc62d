"""Base hashes: ways to make 512 bits of an item's features, before anything is known of labels."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from benchmarks.beyond.base_codes import N_BITS, score
from benchmarks.beyond.learners import ridge, with_constant
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import Case, Floats, cases, packed
from onlinehash.codes import Packed
from onlinehash.hashers.itq import pca_itq_frames
from onlinehash.hashers.lsh import random_directions
from onlinehash.kernels.hash import sign_of_product

ABOUT = "mAP by base hash"
FIGURE, AXES = "dots", {"xlabel": "mAP"}
SEEDS = 1
BASE_BITS = 512


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Everything but the base hash is the default."""
    bits = 128 if quick else BASE_BITS
    for case in cases(("no-person", "all"), seeds, quick=quick):
        hasher = case.hasher()
        Z, Z_asked = hasher.features_(case.X), hasher.features_(case.X_asked)
        targets = case.targets(N_BITS)
        queries = packed(with_constant(Z_asked) @ ridge(3)(with_constant(Z), targets))
        for name, way in WAYS.items():
            value = score(case, way(Z, bits, case), bits, True, targets, queries)
            yield Record(case.name, name, f"{bits} base bits", [value])


def _frames(m: int, iterations: int = 50) -> Callable[[Floats, int, Case], Packed]:
    def way(Z: Floats, bits: int, case: Case) -> Packed:
        return sign_of_product(Z, *pca_itq_frames(Z[:m], bits, iterations, case.seed))

    return way


def _random(Z: Floats, bits: int, case: Case) -> Packed:
    W = random_directions(Z.shape[1], bits, np.random.default_rng(case.seed))
    return sign_of_product(Z, W)


def _median(Z: Floats, bits: int, case: Case) -> Packed:
    W, _ = pca_itq_frames(Z[:1000], bits, 50, case.seed)
    return sign_of_product(Z, W, -np.median(Z[:1000] @ W, axis=0).astype(np.float32))


def _thirds(Z: Floats, bits: int, case: Case) -> Packed:
    """Each direction twice, cut at a third and at two thirds."""
    W, _ = pca_itq_frames(Z[:1000], bits // 2, 50, case.seed)
    cuts = np.quantile(Z[:1000] @ W, (1 / 3, 2 / 3), axis=0).astype(np.float32)
    both = np.stack([W, W], axis=2).reshape(len(W), bits)
    return sign_of_product(Z, both, -cuts.T.reshape(bits))


def _waves(Z: Floats, bits: int, case: Case) -> Packed:
    """PCA-ITQ of cosines in 2,048 random directions, which stand for a Gaussian kernel's features."""
    rng = np.random.default_rng(case.seed)
    V = rng.standard_normal((Z.shape[1], 2048), np.float32)
    waves = np.cos(Z @ V + rng.uniform(0, 2 * np.pi, 2048).astype(np.float32))
    return sign_of_product(waves, *pca_itq_frames(waves[:1000], bits, 50, case.seed))


WAYS: dict[str, Callable[[Floats, int, Case], Packed]] = {
    "PCA-ITQ, rotations of at most 256 directions, 1,000 rows (default)": _frames(1000),
    "the same from 300 rows": _frames(300),
    "the same from 3,000 rows": _frames(3000),
    "rotations at random, not ITQ's": _frames(1000, 0),
    "random directions": _random,
    "thresholds at the median": _median,
    "half the directions, each cut in thirds": _thirds,
    "of a non-linear map of x": _waves,
}
