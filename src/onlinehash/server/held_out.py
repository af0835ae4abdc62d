"""How well an index finds what it was never told: mean average precision on labelled rows held out of it.

One half of the rows asks (R), the other is what is found (W and P); right is what shares a label.
The full ranking counts, with ties in expected order, as in ``metrics.mean_average_precision``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.errors import InvalidInputError
from onlinehash.index.index import Index
from onlinehash.index.inputs import check_vectors
from onlinehash.labels import LabelRows, label_rows
from onlinehash.metrics import mean_average_precision

MOST = 10_000  # rows: a quarter of their square is compared after each refresh


class HeldOut:
    """Labelled rows for one index, which must never learn from them."""

    def __init__(self, vectors: Any, labels: Any, dim: int) -> None:
        X = check_vectors(vectors, dim)
        rows = label_rows(labels, len(X))
        if not 2 <= len(X) <= MOST or not rows.labelled.all():
            raise InvalidInputError(
                f"expected 2 to {MOST:,} rows held out, each with a label; got {len(X):,}, of which "
                f"{np.count_nonzero(rows.labelled):,} have one"
            )
        half = len(X) // 2
        self._queries, self._stored = X[:half], X[half:]
        self._query_labels, self._labels = _part(rows, 0, half), _part(rows, half, len(X))
        self._base: Packed | None = None  # of the stored half: hashed once, as items are
        self._lock = threading.Lock()

    def __call__(self, index: Index) -> dict[str, Any]:
        """``map``, of the generation that is served; nothing before initialisation."""
        generation = index._snapshot.generation
        if generation is None:
            return {}
        hasher = generation.hasher
        with self._lock:
            if self._base is None:
                self._base = hasher.hash(self._stored)
        score = mean_average_precision(
            hasher.encode_query(self._queries), hasher.project(self._base), self._query_labels, self._labels,
            n_bits=hasher.n_bits,
        )  # fmt: skip
        return {"map": score}


def _part(rows: LabelRows, start: int, stop: int) -> LabelRows:
    starts: npt.NDArray[np.int64] = rows.starts[start : stop + 1]
    return LabelRows(rows.vocabulary, rows.indices[starts[0] : starts[-1]], starts - starts[0])
