"""Many items from files: read and hashed by Ray's tasks side by side, committed in order by one writer."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
import ray

from onlinehash.cluster.index import ClusterIndex
from onlinehash.codes import Packed
from onlinehash.datasets import read
from onlinehash.errors import InvalidInputError, NotInitializedError
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.results import Id


def load(
    index: ClusterIndex, path: str | os.PathLike[str], ids: Sequence[Id] | None = None, *,
    key: str | None = None, rows: int = 100_000, side_by_side: int = 8, start: int = 0,
) -> int:  # fmt: skip
    """Add every row of a file that all nodes can read (as ``onlinehash.datasets.read``); how many.

    ``ids`` default to row numbers from 0 on. ``rows`` at a time are one change, which is durable and visible
    when the next begins; ``start`` goes on from where a run stopped. Only base codes travel.
    """
    hasher = index._hasher
    if hasher is None:
        raise NotInitializedError(
            "rows are hashed in many places, so the index must be initialised before: give create a sample "
            "or a fitted hasher, or add the first vectors by add"
        )
    if index.keep_vectors:
        raise InvalidInputError("this index keeps vectors: add them instead")
    n = len(read(path, key=key))
    if ids is not None and len(ids) != n:
        raise InvalidInputError(f"ids: expected {n}, one for each row of {os.fspath(path)}, got {len(ids)}")
    names: Sequence[Id] = range(n) if ids is None else ids
    task: Any = ray.remote(_hashed)
    sent = ray.put(hasher)
    starts = iter(range(start, n, rows))
    under_way: deque[tuple[int, Any]] = deque()
    while True:
        while len(under_way) < side_by_side and (first := next(starts, None)) is not None:
            under_way.append((first, task.remote(sent, os.fspath(path), key, first, min(n, first + rows))))
        if not under_way:
            index.tidy()
            return n - min(start, n)
        first, codes = under_way.popleft()
        index.add_codes(names[first : first + rows], ray.get(codes))


def _hashed(hasher: OHWEU, path: str, key: str | None, start: int, stop: int) -> Packed:
    X, _ = read(path, key=key).rows(np.arange(start, stop))
    return hasher.hash(X)
