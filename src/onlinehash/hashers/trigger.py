"""The trigger: when are stored codes worth working out again? MIHash's answer, for any hasher.

A reservoir of past rows stands for what is stored. Every ``every`` rows its codes under the hasher
as it is now are compared with those under the snapshot that stored codes were made with: how much
do their distances tell of who shares a label? Only if that has grown by more than ``threshold`` is
a new snapshot taken, and stored codes need a refresh.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone

from onlinehash.codes import Bits, Packed, packed_to_bits, packed_to_words
from onlinehash.errors import InvalidParameterError, NotInitializedError
from onlinehash.hashers.base import OnlineHasher, check_int
from onlinehash.hashers.reservoir import Reservoir
from onlinehash.labels import LabelRows, shared_label_masks


class Triggered(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A hasher that encodes by a snapshot of what it has learnt, taken anew when that pays.

    Parameters
    ----------
    hasher : any online hasher; a clone of it learns
    reservoir_size : rows that stand for what is stored
    every : rows of the stream between two looks
    threshold : bits of mutual information that a new snapshot must bring
    random_state : of the reservoir

    Attributes
    ----------
    hasher_ : what goes on learning
    snapshot_ : what encodes items and queries
    n_updates_ : snapshots taken so far, the first one included

    Examples
    --------
    >>> from onlinehash import MIHash
    >>> X = np.random.default_rng(0).normal(size=(900, 16))
    >>> triggered = Triggered(MIHash(16)).partial_fit(X, (X[:, 0] > 0).astype(int))
    >>> triggered.n_updates_ <= 7
    True
    """

    hasher_: OnlineHasher
    snapshot_: OnlineHasher

    def __init__(
        self,
        hasher: OnlineHasher,
        *,
        reservoir_size: int = 200,
        every: int = 100,
        threshold: float = 0.0,
        random_state: int = 0,
    ) -> None:
        self.hasher = hasher
        self.reservoir_size = reservoir_size
        self.every = every
        self.threshold = threshold
        self.random_state = random_state

    def partial_fit(self, X: npt.ArrayLike, Y: Any = None) -> Self:
        """Learn from a chunk of any size; look at the snapshot after every ``every`` rows of the stream."""
        rows, labels = self._checked(X, Y)
        start = 0
        while start < len(rows):
            stop = min(len(rows), start + self.every - self.n_seen_ % self.every)
            self._keep(rows[start:stop], labels[start:stop])
            self.hasher_.partial_fit(rows[start:stop], labels[start:stop])
            start = stop
            if self.n_seen_ % self.every == 0 or not self.initialized_:
                self._look()
        return self

    def fit(self, X: npt.ArrayLike, Y: Any = None) -> Self:
        """Forget everything and learn from X in one pass."""
        fresh = clone(self).partial_fit(X, Y)
        if not fresh.hasher_.initialized_:
            fresh.hasher_.initialize()
            fresh._look()
        for name, value in vars(fresh).items():
            if name.endswith("_"):
                setattr(self, name, value)
        return self

    def encode(self, X: npt.ArrayLike) -> Packed:
        """Codes of items under the snapshot, packed."""
        return self._snapshot().encode(X)

    def encode_query(self, X: npt.ArrayLike) -> Packed:
        """Codes of queries under the snapshot, packed."""
        return self._snapshot().encode_query(X)

    def transform(self, X: npt.ArrayLike) -> Bits:
        """``encode`` as one column of 0/1 a bit."""
        return packed_to_bits(self.encode(X), self.n_bits)

    @property
    def n_bits(self) -> int:
        """Bits of a code."""
        return self.hasher.n_bits

    @property
    def initialized_(self) -> bool:
        """Whether there is a snapshot to encode with."""
        return hasattr(self, "snapshot_")

    @property
    def n_seen_(self) -> int:
        """Rows received so far."""
        return getattr(self.hasher_, "n_seen_", 0)

    def _checked(self, X: Any, Y: Any) -> tuple[Any, LabelRows]:
        """X and Y as the hasher would take them; nothing has changed if it would not."""
        check_int(self, "reservoir_size", 2)
        check_int(self, "every", 1)
        if not isinstance(self.hasher, OnlineHasher):
            raise InvalidParameterError(f"hasher must be an online hasher, got {self.hasher!r}")
        hasher = self.hasher_ if hasattr(self, "hasher_") else clone(self.hasher)
        X, labels = hasher._check_chunk(X, Y)
        if not hasattr(self, "hasher_"):
            self.hasher_, self.n_updates_ = hasher, 0
            rows = np.zeros((self.reservoir_size, X.shape[1]), np.float32)
            self.reservoir_ = Reservoir(rows, self.random_state)
            self.n_features_in_, self._n_features_out = X.shape[1], self.n_bits
        return X, labels

    def _keep(self, X: npt.NDArray[np.float32], labels: LabelRows) -> None:
        labelled = np.flatnonzero(labels.labelled)
        slots = self.reservoir_.slots_for(len(labelled))
        for row, slot in zip(labelled, slots, strict=True):
            if slot >= 0:
                self.reservoir_.rows[slot] = X[row]
        self.reservoir_.name(slots, labels.take(labelled).to_lists())

    def _look(self) -> None:
        if not self.hasher_.initialized_:
            return
        if not self.initialized_ or self._gain() > self.threshold:
            self.snapshot_ = deepcopy(self.hasher_)
            self.n_updates_ += 1

    def _gain(self) -> float:
        """Bits of information that the reservoir's codes would gain by a new snapshot."""
        reservoir = self.reservoir_
        if reservoir.filled < 2:
            return 0.0
        rows = reservoir.rows[: reservoir.filled]
        new, old = self.hasher_.encode(rows), self.snapshot_.encode(rows)
        if (new == old).all():
            return 0.0
        (masks,) = shared_label_masks(LabelRows.of(reservoir.labels))
        return mutual_information(new, masks, self.n_bits) - mutual_information(old, masks, self.n_bits)

    def _snapshot(self) -> OnlineHasher:
        if not hasattr(self, "snapshot_"):
            raise NotInitializedError(
                f"{type(self).__name__} has no snapshot yet: call partial_fit with more rows"
            )
        snapshot: OnlineHasher = self.snapshot_
        return snapshot

    def __sklearn_is_fitted__(self) -> bool:
        return self.initialized_


def mutual_information(codes: Packed, masks: npt.NDArray[np.uint64], n_bits: int) -> float:
    """Bits that an item's Hamming distances to the others tell of which share a label, on average."""
    n = len(codes)
    words = packed_to_words(codes, n_bits)
    distances = np.bitwise_count(words[:, :, None] ^ words[:, None]).sum(axis=0, dtype=np.int64)
    alike = (masks[:, None] & masks).any(axis=2).astype(np.int64)
    at = (np.arange(n)[:, None] * 2 + alike) * (n_bits + 1) + distances
    others = ~np.eye(n, dtype=bool)
    counts = np.bincount(at[others], minlength=n * 2 * (n_bits + 1)).reshape(n, 2, n_bits + 1) / (n - 1)
    joint = _entropy(counts.reshape(n, -1))
    return float(np.mean(_entropy(counts.sum(axis=1)) + _entropy(counts.sum(axis=2)) - joint))


def _entropy(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    entropy: npt.NDArray[np.float64] = -(p * np.log2(np.where(p > 0, p, 1))).sum(axis=1)
    return entropy
