"""Rows of features with their labels, of which only what is asked for is in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.datasets.source import Held, Rows, Source
from onlinehash.errors import DataFileError, InvalidInputError, InvalidParameterError
from onlinehash.labels import LabelRows, label_rows

Floats = npt.NDArray[np.float32]


class Dataset:
    """Features (n, dim) and labels. Made by ``read``, by ``from_arrays``, or by a recipe.

    Labels are in memory, features are read when they are asked for. A Dataset may be pickled: in
    another process it opens its file again. One Dataset is for one thread at a time.

    >>> data = Dataset.from_arrays([[1, 2], [3, 4], [5, 6]], ["a", None, "b"])
    >>> [X.tolist() for X, Y in data.chunks(2)]
    [[[1.0, 2.0], [3.0, 4.0]], [[5.0, 6.0]]]
    >>> X, Y = data.rows([2, 0])
    >>> X.tolist(), Y.to_lists()
    ([[5.0, 6.0], [1.0, 2.0]], [['b'], ['a']])
    """

    def __init__(
        self, source: Source, labels: LabelRows | None, name: str, selection: Rows | None = None
    ) -> None:
        self.name = name
        self.dim = source.shape[1]
        self.labels = labels
        self._source = source
        self._selection = selection  # the source's rows that these rows are; None for all of them

    @classmethod
    def from_arrays(cls, X: Any, Y: Any = None, name: str = "arrays") -> Dataset:
        """Features and labels that are in memory already, or that the caller has mapped."""
        array = X if hasattr(X, "tocsr") else np.asarray(X)
        if array.ndim != 2 or array.dtype.kind not in "biuf":
            raise InvalidInputError(
                f"X: expected a 2-D array of numbers, got {array.dtype} of shape {array.shape}"
            )
        source = Held(array.tocsr() if hasattr(array, "tocsr") else array)
        return cls(source, None if Y is None else label_rows(Y, source.shape[0]), name)

    @property
    def n(self) -> int:
        """How many rows."""
        return self._source.shape[0] if self._selection is None else len(self._selection)

    def __len__(self) -> int:
        return self.n

    def __repr__(self) -> str:
        labels = "no labels" if self.labels is None else f"{len(self.labels.vocabulary)} labels"
        return f"Dataset({self.name!r}, n={self.n}, dim={self.dim}, {labels})"

    def chunks(self, size: int, start: int = 0) -> Iterator[tuple[Floats, LabelRows | None]]:
        """(X, Y) of ``size`` rows at a time (the last may be shorter), in order, from row ``start`` on."""
        if isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 1:
            raise InvalidParameterError(f"size must be an int of 1 or more, got {size!r}")
        if not 0 <= start <= self.n:
            raise InvalidParameterError(f"start must be a row from 0 to {self.n}, got {start!r}")
        return self._chunks(int(size), start)

    def _chunks(self, size: int, start: int) -> Iterator[tuple[Floats, LabelRows | None]]:
        for first in range(start, self.n, size):
            last = min(first + size, self.n)
            Y = None if self.labels is None else self.labels[first:last]
            if self._selection is None:
                yield self._floats(self._source.read(first, last), np.arange(first, last)), Y
            else:
                yield self._read(self._selection[first:last]), Y

    def rows(self, indices: npt.ArrayLike) -> tuple[Floats, LabelRows | None]:
        """(X, Y) of these rows, in the order asked for; the file is read in its own order."""
        rows = self._indices(indices)
        X = self._read(rows if self._selection is None else self._selection[rows])
        return X, None if self.labels is None else self.labels.take(rows)

    def select(self, indices: npt.ArrayLike) -> Dataset:
        """These rows, in this order, as a Dataset of its own. Nothing is read."""
        rows = self._indices(indices)
        labels = None if self.labels is None else self.labels.take(rows)
        selection = rows if self._selection is None else self._selection[rows]
        return Dataset(self._source, labels, self.name, selection)

    def split(self, n_queries: int, *, random_state: Any = None, shuffle: bool = True) -> Split:
        """Draw queries; what is left is the stream, shuffled or in the order of the file.

        The stream of shuffled rows is quick to read from .npy, .npz and plain HDF5. From a compressed
        file, each chunk of it touches most of the file: take ``shuffle=False`` there.
        """
        if isinstance(n_queries, bool) or not isinstance(n_queries, (int, np.integer)):
            raise InvalidParameterError(f"n_queries must be an int, got {n_queries!r}")
        if not 0 < n_queries < self.n:
            raise InvalidParameterError(
                f"n_queries must be from 1 to {self.n - 1}, as {self.name} has {self.n} rows; got {n_queries}"
            )
        order = _generator(random_state).permutation(self.n)
        stream = order[:-n_queries]
        return Split(
            whole=self,
            stream=self.select(stream if shuffle else np.sort(stream)),
            queries=self.select(order[-n_queries:]),
        )

    def _indices(self, indices: npt.ArrayLike) -> Rows:
        rows = np.asarray(indices)
        if rows.ndim == 1 and len(rows) == 0:
            rows = rows.astype(np.int64)
        if rows.ndim != 1 or rows.dtype.kind not in "iu":
            raise InvalidInputError(
                f"indices: expected a 1-D array of row numbers, got {rows.dtype} of shape {rows.shape}"
            )
        wrong = rows[(rows < 0) | (rows >= self.n)]
        if len(wrong):
            raise InvalidInputError(f"indices: expected rows from 0 to {self.n - 1}, got {wrong[0]}")
        return rows.astype(np.int64)

    def _read(self, rows: Rows) -> Floats:
        """Rows of the source, in any order and with repetitions."""
        if (np.diff(rows) > 0).all():
            return self._floats(self._source.take(rows), rows)
        distinct, back = np.unique(rows, return_inverse=True)
        return self._floats(self._source.take(distinct), distinct)[back]

    def _floats(self, array: npt.NDArray[Any], rows: Rows) -> Floats:
        with np.errstate(over="ignore"):
            X = np.array(array, np.float32, order="C")
        # A sum is finite only if all its parts are; the other way round is looked at more closely.
        with np.errstate(over="ignore", invalid="ignore"):
            doubtful = not np.isfinite(X.sum())
        if doubtful:
            finite = np.isfinite(X).all(axis=1)
            if not finite.all():
                raise DataFileError(
                    f"{self.name}: row {rows[~finite][0]} of the file has a value that is missing or not "
                    "finite (NaN, infinity, or beyond float32), and so have "
                    f"{np.count_nonzero(~finite) - 1} more of the {len(X)} rows read with it"
                )
        return X


@dataclass(frozen=True, slots=True)
class Split:
    """Queries apart, and the stream, which is also the database that they search."""

    whole: Dataset
    stream: Dataset
    queries: Dataset


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31)))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            "random_state must be None, an int of 0 or more, a RandomState or a Generator, "
            f"got {random_state!r}"
        ) from error
