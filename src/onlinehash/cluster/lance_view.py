"""States as rows of a Lance dataset. docs/scale.md says what lies in which column.

A row with slot 0 or more is an item. Below that lie records: the state (slot -1), the lessons since the
model was last written, and labelled rows that wait for initialisation. One commit replaces the state's
row and brings all else that goes with it, so a state and its rows are never apart.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import lance
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from onlinehash.cluster.layout import WHOLE, Layout
from onlinehash.cluster.models import read_rows
from onlinehash.cluster.part import Part
from onlinehash.cluster.place import Place
from onlinehash.codes import Packed
from onlinehash.index.filters import Filter
from onlinehash.index.inputs import to_json
from onlinehash.index.results import Id, Item
from onlinehash.index.store import Chunk, Floats, Lesson, Model, Rows, Slots, checksum
from onlinehash.labels import LabelRows

STATE = -1
COLUMNS = ("slot", "id", "payload", "labels", "code", "vector")
CRC = "crc"  # of all of them

_MANY = 2000  # ids from which on reading the whole column is quicker than looking each up
_TOGETHER = 10_000  # slots of one condition
_MOST = 100  # sentences about one dataset

Row = list[Any]  # id, payload, labels, code, vector as they are stored
ID, PAYLOAD, LABELS, CODE, VECTOR = range(5)


def schema(code_bytes: int) -> pa.Schema:
    """Of the dataset; it never changes."""
    kinds = (pa.int64(), pa.string(), pa.string(), pa.string(), pa.binary(code_bytes), pa.large_binary())
    columns = zip((*COLUMNS, CRC), (*kinds, pa.int64()), strict=True)
    return pa.schema([pa.field(*column) for column in columns])


def to_table(rows: dict[int, Row], code_bytes: int) -> pa.Table:
    """Rows by their slots, each with its checksum."""
    sums = [checksum(slot, *row) for slot, row in rows.items()]
    columns = [list(rows), *zip(*rows.values(), strict=True), sums]
    names = schema(code_bytes)
    arrays = [pa.array(column, field.type) for column, field in zip(columns, names, strict=True)]
    return pa.table(arrays, schema=names)


def lesson_slot(generation: int) -> int:
    """Where the lesson lies that led to a generation."""
    return -2 * generation - 2


def waiting_slot(number: int) -> int:
    """Where rows lie that wait."""
    return -2 * number - 3


def in_slots(slots: Iterable[int]) -> str:
    """The rows of some slots, as a condition for Lance."""
    return f"slot IN ({','.join(map(str, slots))})"


class LanceView:
    """One version of the dataset. See ``store.View``."""

    def __init__(self, dataset: lance.LanceDataset, state: dict[str, Any], place: Place) -> None:
        self.dataset = dataset
        self.state = state
        self.sequence, self.generation = int(state["sequence"]), int(state["generation"])
        self.place = place

    def settings(self) -> dict[str, Any]:
        settings: dict[str, Any] = self.state["settings"]
        return settings

    def model(self) -> Model | None:
        if self.state["model"] is None:
            return None
        base: list[dict[str, Any]] = read_rows(self.place, self.state["base"]).to_pylist()
        moved: list[dict[str, Any]] = read_rows(self.place, self.state["model"]).to_pylist()
        labels = [(json.loads(row["label"]), row["value"]) for row in moved if row["part"] == "label"]
        (fixed,) = (row["value"] for row in base if row["part"] == "base")
        (learnt,) = (row["value"] for row in moved if row["part"] == "learnt")
        return Model(fixed, learnt, labels)

    def lessons(self, since: int = 0) -> list[Lesson]:
        first = max(since, self.state["written"]) + 1
        at = {lesson_slot(number): number for number in range(first, self.generation + 1)}
        rows = self._rows(np.array(list(at), np.int64))
        return [Lesson(number, rows[slot][VECTOR]) for slot, number in at.items() if slot in rows]

    def lessons_size(self) -> tuple[int, int, int]:
        count, size, learnt = self.state["lessons"]
        return count, size, learnt

    def n_slots(self) -> int:
        return int(self.state["top"])

    def chunks(self, since: int = 0) -> Iterator[Chunk]:
        return self.part(WHOLE, 0).chunks(since)

    def codes(self, slots: Slots) -> Packed:
        rows = self._rows(np.unique(slots))
        codes = b"".join(rows[slot][CODE] for slot in slots.tolist())
        padded = np.frombuffer(codes, np.uint8).reshape(len(slots), self.settings()["code_bytes"])
        return np.ascontiguousarray(padded[:, : self.state["width"]])

    def slots(self, ids: Sequence[Id]) -> dict[Id, int]:
        names = {to_json(id): id for id in ids}
        if not names or not self.state["items"]:
            return {}
        if len(names) <= _MANY:
            listed = ",".join("'" + name.replace("'", "''") + "'" for name in names)
            table = self.dataset.to_table(columns=["slot", "id"], filter=f"slot >= 0 AND id IN ({listed})")
        else:
            wanted = pa.array(list(names), pa.string())
            batches = self.dataset.to_batches(columns=["slot", "id"], filter="slot >= 0")
            parts = [batch.filter(pc.is_in(batch["id"], wanted)) for batch in batches]
            table = pa.Table.from_batches(
                parts, None if parts else schema(1).empty_table().select(["slot", "id"]).schema
            )
        found = dict(zip(table["id"].to_pylist(), table["slot"].to_pylist(), strict=True))
        return {id: found[name] for name, id in names.items() if name in found}

    def items(self, slots: Slots) -> dict[int, Item]:
        return {slot: _item(row) for slot, row in self._rows(slots, COLUMNS[:4]).items()}

    def all_items(self) -> Iterator[tuple[int, Item]]:
        table = self.dataset.to_table(columns=list(COLUMNS[:4]), filter="slot >= 0").sort_by("slot")
        for batch in table.to_batches(max_chunksize=_TOGETHER):
            for slot, *row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                yield slot, _item(row)

    def page(self, where: Filter | None, after: int, limit: int) -> list[tuple[int, Item]]:
        if where is not None:
            found = self.matching(where)
            slots = found[found > after][:limit]
        else:
            slots, width = np.empty(0, np.int64), 2 * limit
            while len(slots) < limit and after + width < 4 * max(self.n_slots(), limit):
                of = f"slot > {max(after, -1)} AND slot <= {after + width}"
                slots = np.sort(self.dataset.to_table(columns=["slot"], filter=of)["slot"].to_numpy())[:limit]
                width *= 4
        items = self.items(slots)
        return [(slot, items[slot]) for slot in slots.tolist()]

    def matching(self, where: Filter) -> Slots:
        return self.part(WHOLE, 0).matching(where)

    def part(self, layout: Layout, shard: int) -> Part:
        """What one shard reads of this state."""
        return Part(self.dataset, layout, shard, self.n_slots(), self.state["width"] or 0, self.sequence)

    def vectors(self, slots: Slots | None = None) -> tuple[Slots, Floats]:
        rows = self._with_vectors(slots)
        which = np.array(sorted(rows), np.int64)
        return which, self._floats([rows[slot][VECTOR] for slot in which.tolist()])

    def rows(self) -> list[Rows]:
        numbers = range(self.state["waiting"])
        rows = self._rows(np.array([waiting_slot(number) for number in numbers], np.int64))
        return [
            Rows(
                self._floats([row[VECTOR]]),
                LabelRows.of(json.loads(row[LABELS])),
                bool(json.loads(row[PAYLOAD])["new"]),
            )
            for row in (rows[waiting_slot(number)] for number in numbers)
        ]

    def wrong(self) -> list[str]:
        """What is not as it was written, in sentences: every row is read."""
        found: list[str] = []
        slots: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        ids: list[npt.NDArray[np.int64]] = [np.empty(0, np.int64)]
        for batch in self.dataset.to_batches(columns=[*COLUMNS, CRC]):
            of_items = batch.filter(pc.greater_equal(batch["slot"], 0))
            slots.append(of_items["slot"].to_numpy())
            ids.append(np.fromiter(map(hash, of_items["id"].to_pylist()), np.int64, len(of_items)))
            if self.state["width"] and of_items["code"].null_count:
                found.append(f"{of_items['code'].null_count} items have no code")
            for slot, *row, crc in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if checksum(slot, *row) != crc and len(found) < _MOST:
                    found.append(f"the checksum of slot {slot} does not match")
        of_slots, n = np.concatenate(slots), self.state["items"]
        if len(of_slots) != n:
            found.append(f"{len(of_slots)} items, but the state says {n}")
        for name, values in (("slots", of_slots), ("ids", np.concatenate(ids))):
            if twice := len(values) - len(np.unique(values)):
                found.append(f"{twice} {name} come more than once")
        return found

    # ---- how it works

    def _rows(self, slots: Slots, columns: Sequence[str] = COLUMNS) -> dict[int, Row]:
        """The rows of those slots that are there."""
        found: dict[int, Row] = {}
        for start in range(0, len(slots), _TOGETHER):
            of = in_slots(slots[start : start + _TOGETHER].tolist())
            table = self.dataset.to_table(columns=list(columns), filter=of)
            for slot, *row in zip(*(table[name].to_pylist() for name in columns), strict=True):
                found[slot] = row
        return found

    def _with_vectors(self, slots: Slots | None) -> dict[int, Row]:
        if not (self.state["model"] is None or self.settings()["keep_vectors"]):
            return {}
        if slots is not None:
            return {
                slot: row for slot, row in self._rows(np.unique(slots)).items() if row[VECTOR] is not None
            }
        table = self.dataset.to_table(filter="slot >= 0 AND vector IS NOT NULL")
        columns = (table[name].to_pylist() for name in COLUMNS)
        return {slot: row for slot, *row in zip(*columns, strict=True)}

    def _floats(self, vectors: list[bytes]) -> Floats:
        """Rows of vectors: float32 before initialisation, float16 where they are kept."""
        dim = self.settings()["dim"]
        kinds = ["<f2" if len(vector) == 2 * dim else "<f4" for vector in vectors]
        parts = [np.frombuffer(v, kind).astype(np.float32) for v, kind in zip(vectors, kinds, strict=True)]
        return np.concatenate([np.empty(0, np.float32), *parts]).reshape(-1, dim)


def _item(row: Row) -> Item:
    id, payload, labels = row[:3]
    return Item(
        json.loads(id), json.loads(payload) if payload else None, json.loads(labels) if labels else []
    )
