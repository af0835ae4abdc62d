"""OKH: online kernel-based hashing (Huang, Yang and Zheng, IJCAI 2013).

Features are kernel values with anchors, the initial sample; W learns from pairs of rows that share
a label or not (``kernels/pairs.py``).
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.base import Floats, OnlineHasher, check_positive
from onlinehash.hashers.lsh import random_directions
from onlinehash.kernels.hash import sign_of_product
from onlinehash.kernels.pairs import learn_pairs
from onlinehash.labels import Label, LabelRows, shared_label_masks


class OKH(OnlineHasher):
    """Codes that learn from pairs; every item is hashed again when W has moved.

    Labelled rows are paired as they come: the first with the second, the third with the fourth, …

    Parameters
    ----------
    n_bits : 1 to 4096
    C : the largest step
    alpha : Hamming distance that is forgiven to a pair that is alike
    beta : share of the bits in which a pair that is not alike is to differ
    bandwidth : the kernel is exp(-d² / 2σ²) with σ² this multiple of the anchors' mean d²; or
        "released", σ = mean d², as in the public evaluation program, whose kernel values all but
        coincide on unit-length features
    centre_kernel : subtract each anchor's mean kernel value; without it, bits coincide
    n_init : rows of the initial sample, which are the anchors
    centre, unit_norm, random_state : as for ``OHWEU``
    """

    def __init__(
        self,
        n_bits: int = 64,
        *,
        C: float = 1.0,
        alpha: float = 0.0,
        beta: float = 0.5,
        bandwidth: float | Literal["released"] = 0.25,
        centre_kernel: bool = True,
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.C = C
        self.alpha = alpha
        self.beta = beta
        self.bandwidth = bandwidth
        self.centre_kernel = centre_kernel
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_positive(self, "C", *([] if self.bandwidth == "released" else ["bandwidth"]))
        if not self.alpha >= 0:
            raise InvalidParameterError(f"alpha must be 0 or more, got {self.alpha!r}")
        if not 0 < self.beta <= 1:
            raise InvalidParameterError(f"beta must be above 0 and at most 1, got {self.beta!r}")

    def _initialize(self, sample: Floats) -> None:
        self.anchors_ = sample
        squared = np.maximum(_squared_distances(sample, sample), 0)
        n = len(sample)
        mean = float(squared.sum() / max(n * (n - 1), 1)) or 1.0
        self.width_ = mean**2 if self.bandwidth == "released" else float(self.bandwidth) * mean
        self.offset_ = np.zeros(n, np.float32)
        if self.centre_kernel:
            self.offset_ = self._kernel(sample)[:, :-1].mean(axis=0, dtype=np.float64).astype(np.float32)
        self.W_ = random_directions(n + 1, self.n_bits, np.random.default_rng(self.seed_))
        self._odd = np.zeros((0, sample.shape[1]), np.float32)  # a row that waits for its other half
        self._odd_labels: list[Label] = []

    def _learn(self, Z: Floats, labels: LabelRows) -> None:
        labelled = np.flatnonzero(labels.labelled)
        Z = np.concatenate([self._odd, Z[labelled]])
        lists = [*([self._odd_labels] if len(self._odd) else []), *labels.take(labelled).to_lists()]
        pairs = len(Z) // 2
        self._odd = Z[2 * pairs :].copy()
        self._odd_labels = lists[-1] if len(self._odd) else []
        (masks,) = shared_label_masks(LabelRows.of(lists))
        alike = (masks[0 : 2 * pairs : 2] & masks[1 : 2 * pairs : 2]).any(axis=1)
        learn_pairs(self.W_, self._kernel(Z[: 2 * pairs]), alike, self.C, self.alpha, self.beta)

    def _kernel(self, Z: Floats) -> Floats:
        """Kernel values with the anchors, less their means, and a 1: (n, anchors + 1)."""
        values = np.ones((len(Z), len(self.anchors_) + 1), np.float32)
        squared = np.maximum(_squared_distances(Z, self.anchors_), 0)
        values[:, :-1] = np.exp(-squared / np.float32(2 * self.width_)) - self.offset_
        return values

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(self._kernel(Z), self.W_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"W": self.W_, "anchors": self.anchors_, "offset": self.offset_, "odd": self._odd}
        return arrays, {"width": self.width_, "odd_labels": self._odd_labels}

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        self.W_, self.anchors_, self.offset_ = arrays["W"], arrays["anchors"], arrays["offset"]
        self.width_ = learnt["width"]
        self._odd, self._odd_labels = arrays["odd"], learnt["odd_labels"]


def _squared_distances(A: Floats, B: Floats) -> Floats:
    squared: Floats = (A**2).sum(axis=1)[:, None] + (B**2).sum(axis=1) - 2 * A @ B.T
    return squared
