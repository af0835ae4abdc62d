"""How well an index finds what it was never told: mean average precision on labelled rows held out of it.

One half of the rows, drawn by lot, asks (R), the other is what is found (W and P); right is what shares
a label.
The full ranking counts, with ties in expected order, as in ``metrics.mean_average_precision``.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import InvalidInputError
from onlinehash.index.index import Index
from onlinehash.index.inputs import check_vectors
from onlinehash.labels import label_rows
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
        order = np.random.default_rng(0).permutation(len(X))  # files are often sorted by what they show
        asking, stored = np.sort(order[: len(X) // 2]), np.sort(order[len(X) // 2 :])
        self._queries, self._stored = X[asking], X[stored]
        self._query_labels, self._labels = rows.take(asking), rows.take(stored)
        self._base: Packed | None = None  # of the stored half: hashed once, as items are
        self._lock = threading.Lock()

    def __call__(self, index: Index) -> dict[str, Any]:
        """``map``, and of which generation: the one that is served; nothing before initialisation."""
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
        return {"generation": generation.number, "map": score}
