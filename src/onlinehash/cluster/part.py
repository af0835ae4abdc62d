"""What one shard reads of the dataset: its base codes, and which of its items a filter lets through."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import lance
import numpy as np
import pyarrow as pa

from onlinehash.cluster.layout import Layout
from onlinehash.index.filters import Filter
from onlinehash.index.sqlite_filters import to_sql
from onlinehash.index.store import Chunk, Slots

_TABLE = "CREATE TABLE items (slot INTEGER PRIMARY KEY, id, payload TEXT, labels TEXT)"


class Part:
    """A shard's items in one version, by the shard's own numbers: of ``store.View`` what memory needs."""

    def __init__(
        self, dataset: lance.LanceDataset, layout: Layout, shard: int, n_slots: int, width: int, sequence: int
    ) -> None:
        self.sequence = sequence
        self._width = width
        self._dataset = dataset
        self._layout = layout
        self._n_local = layout.n_local(shard, n_slots)
        self._condition = layout.condition(shard, n_slots)

    def n_slots(self) -> int:
        """All own slots are below this number."""
        return self._n_local

    def chunks(self, since: int = 0) -> Iterator[Chunk]:
        """All base codes in one chunk: rows come in any order."""
        codes, taken = np.zeros((self._n_local, self._width), np.uint8), np.zeros(self._n_local, bool)
        for batch in self._dataset.to_batches(
            columns=["slot", "code"], filter=f"({self._condition}) AND code IS NOT NULL", scan_in_order=False
        ):
            local = self._layout.local(batch["slot"].to_numpy())
            taken[local] = True
            codes[local] = fixed(batch["code"])[:, : self._width]
        yield Chunk(0, codes, taken)

    def matching(self, where: Filter) -> Slots:
        """By the same SQL as in the embedded index, over the rows as they pass by."""
        condition, values = to_sql(where)
        columns = ["slot", "id", "payload", "labels"]
        found = [np.empty(0, np.int64)]
        with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
            connection.execute(_TABLE)
            for batch in self._dataset.to_batches(columns=columns, filter=self._condition):
                slots, ids, *rest = (batch[name].to_pylist() for name in columns)
                rows = zip(slots, map(json.loads, ids), *rest, strict=True)
                connection.execute("DELETE FROM items")
                connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?)", rows)
                matched = connection.execute(f"SELECT slot FROM items WHERE {condition}", values)
                found.append(np.fromiter((row[0] for row in matched), np.int64))
        return np.sort(self._layout.local(np.concatenate(found)))


def fixed(array: pa.Array) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
    """Values of fixed size, none of them null, as rows of bytes."""
    width = array.type.byte_width
    data = np.frombuffer(array.buffers()[1], np.uint8)
    return data[array.offset * width : (array.offset + len(array)) * width].reshape(-1, width)
