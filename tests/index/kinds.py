"""The two kinds of an index: what is tested with a ``kind`` holds for a file and on a cluster."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from onlinehash import Index, check


class Kind:
    """An index in a file or in memory."""

    ray_address: str | None = None

    def create(self, path: str | os.PathLike[str], dim: int | None = None, **how: Any) -> Index:
        return Index.create(path, dim, **how)

    def open(self, path: str | os.PathLike[str], **how: Any) -> Index:
        return Index.open(path, **how)

    def check(self, path: Path) -> list[str]:
        """What is wrong with an index that nobody has open."""
        return check(path)

    def n_slots(self, index: Index) -> int:
        """Slots that were ever given out."""
        return int(index._snapshot.live.shape[1])


class OnCluster(Kind):
    """Three shards, over which even a few items are spread; two after opening again."""

    def __init__(self, folder: Path, ray_address: str) -> None:
        self._folder = folder
        self.ray_address = ray_address
        self._made = 0

    def create(self, path: str | os.PathLike[str], dim: int | None = None, **how: Any) -> Index:
        from onlinehash import cluster

        if path == ":memory:":
            self._made += 1
            path = self._folder / f"{self._made}.lance"
        return cluster.create(path, dim, shards=3, stripe=16, **how)

    def open(self, path: str | os.PathLike[str], **how: Any) -> Index:
        from onlinehash import cluster

        return cluster.open(path, shards=2, **how)

    def check(self, path: Path) -> list[str]:
        from onlinehash import cluster

        return cluster.check(path)

    def n_slots(self, index: Index) -> int:
        snapshot: Any = index._snapshot
        return int(snapshot.n_slots)
