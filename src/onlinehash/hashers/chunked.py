"""Hashers that learn from whole chunks of the stream: rows wait until their chunk is complete.

So the result does not depend on the sizes in which rows come in, only on ``chunk_size``.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from onlinehash.hashers.base import Floats, OnlineHasher, check_int
from onlinehash.labels import LabelRows


class ChunkedHasher(OnlineHasher):
    """Base class. A method implements ``_learn_chunk(Z, labels)`` instead of ``_learn``."""

    chunk_size: int

    _waiting: Floats  # (chunk_size, D), of which the first ``_n_waiting`` rows are filled
    _n_waiting: int
    _waiting_labels: list[LabelRows]

    def fit(self, X: npt.ArrayLike, Y: Any = None) -> Self:
        """As for every hasher, and the rows left over at the end are learnt from as a last chunk."""
        with self._all_or_nothing():
            super().fit(X, Y)
            self.flush()
        return self

    def flush(self) -> Self:
        """Learn from the rows that wait now, as a chunk of its own: the stream has ended, or pauses."""
        if self._n_waiting:
            lists = [row for labels in self._waiting_labels for row in labels.to_lists()]
            self._learn_chunk(self.features_(self._waiting[: self._n_waiting]), LabelRows.of(lists))
            self._n_waiting, self._waiting_labels = 0, []
        return self

    @abstractmethod
    def _learn_chunk(self, Z: Floats, labels: LabelRows) -> None:
        """Learn from one chunk's features and labels."""

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_int(self, "chunk_size", 1)

    def _initialize(self, sample: Floats) -> None:
        self._waiting = np.zeros((self.chunk_size, sample.shape[1]), np.float32)
        self._n_waiting, self._waiting_labels = 0, []

    def _learn_rows(self, X: Floats, labels: LabelRows) -> None:
        if self.learns_from == "labels":
            labelled = np.flatnonzero(labels.labelled)
            X, labels = X[labelled], labels.take(labelled)
        start = 0
        while start < len(X):
            taken = min(len(X) - start, self.chunk_size - self._n_waiting)
            self._waiting[self._n_waiting : self._n_waiting + taken] = X[start : start + taken]
            self._waiting_labels = [*self._waiting_labels, labels[start : start + taken]]
            self._n_waiting += taken
            start += taken
            if self._n_waiting == self.chunk_size:
                self.flush()

    def _state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        lists = [row for labels in self._waiting_labels for row in labels.to_lists()]
        return {"waiting": self._waiting[: self._n_waiting]}, {"waiting_labels": lists}

    def _restore(self, arrays: dict[str, npt.NDArray[Any]], learnt: dict[str, Any]) -> None:
        waiting = arrays["waiting"]
        self._waiting = np.zeros((self.chunk_size, waiting.shape[1]), np.float32)
        self._waiting[: len(waiting)] = waiting
        self._n_waiting = len(waiting)
        self._waiting_labels = [LabelRows.of(learnt["waiting_labels"])]
