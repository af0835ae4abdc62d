"""A change of a Lance dataset, gathered in memory: rows that come, rows that go, and the next state."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import lance
import numpy as np
import numpy.typing as npt

from onlinehash.cluster.lance_view import (
    CODE,
    COLUMNS,
    ID,
    LABELS,
    STATE,
    VECTOR,
    LanceView,
    Row,
    lesson_slot,
    waiting_slot,
)
from onlinehash.cluster.place import Place
from onlinehash.codes import Packed
from onlinehash.errors import InvalidInputError
from onlinehash.index.inputs import to_json
from onlinehash.index.results import Id, Item
from onlinehash.index.store import Floats, Labels, Lesson, Model, Rows, Slots


class LanceChange(LanceView):
    """Over the version that it starts from, and read as if it had been made. See ``store.Change``."""

    def __init__(self, dataset: lance.LanceDataset, state: dict[str, Any], place: Place) -> None:
        super().__init__(dataset, {**state, "sequence": state["sequence"] + 1}, place)
        self.put_rows_of: dict[int, Row] = {}  # to write, by slot: new ones, and old ones changed
        self.gone: set[int] = {STATE}  # to take out of the version that the change starts from
        self.new_model: Model | None = None

    def put(self, slots: Slots, items: Iterable[Item]) -> None:
        items = list(items)
        there = self.slots([item.id for item in items])
        if there:
            known = next(item.id for item in items if item.id in there)
            raise InvalidInputError(
                f"ids: {known!r} is in the index already; replace=True puts the new item in its place"
            )
        for slot, item in zip(slots.tolist(), items, strict=True):
            payload = None if item.payload is None else to_json(item.payload)
            labels = to_json(item.labels) if item.labels else None
            self.put_rows_of[slot] = [to_json(item.id), payload, labels, None, None]
        self._count(len(items))

    def put_codes(self, slots: Slots, codes: Packed) -> None:
        rows = self._own(slots)
        padded = np.zeros((len(codes), self.settings()["code_bytes"]), np.uint8)
        padded[:, : codes.shape[1]] = codes
        for slot, code in zip(slots.tolist(), padded, strict=True):
            rows[slot][CODE] = code.tobytes()
        self.state["width"] = codes.shape[1]
        self.state["top"] = max(self.n_slots(), int(slots.max(initial=-1)) + 1)

    def put_vectors(self, slots: Slots, vectors: Floats | npt.NDArray[np.float16]) -> None:
        rows = self._own(slots)
        for slot, row in zip(slots.tolist(), vectors.astype(vectors.dtype.newbyteorder("<")), strict=True):
            rows[slot][VECTOR] = row.tobytes()

    def remove(self, slots: Slots) -> None:
        for slot in slots.tolist():
            self.put_rows_of.pop(slot, None)
        self.gone.update(slots.tolist())
        self._count(-len(slots))

    def put_labels(self, slots: Slots, labels: Labels) -> None:
        rows = self._own(slots)
        for slot, of_slot in zip(slots.tolist(), labels, strict=True):
            rows[slot][LABELS] = to_json(of_slot) if of_slot else None

    def put_lesson(self, lesson: Lesson) -> None:
        count, size, learnt = self.lessons_size()
        self.state |= {
            "generation": lesson.generation,
            "lessons": [count + 1, size + len(lesson.data), learnt],
        }
        self.put_rows_of[lesson_slot(lesson.generation)] = ["lesson", None, None, None, lesson.data]

    def put_model(self, model: Model, generation: int) -> None:
        self.gone.update(map(lesson_slot, range(self.state["written"] + 1, generation)))
        self.new_model = model
        self.state |= {
            "generation": generation, "written": generation, "lessons": [0, 0, len(model.learnt)],
        }  # fmt: skip

    def put_rows(self, rows: Rows) -> None:
        number = self.state["waiting"]
        self.state["waiting"] = number + 1
        vectors, labels = rows.vectors.astype("<f4").tobytes(), to_json(rows.labels.to_lists())
        self.put_rows_of[waiting_slot(number)] = [
            "waiting",
            to_json({"new": int(rows.new)}),
            labels,
            None,
            vectors,
        ]

    def drop_waiting(self) -> None:
        for number in range(self.state["waiting"]):
            self.gone.add(waiting_slot(number))
            self.put_rows_of.pop(waiting_slot(number), None)
        self.state["waiting"] = 0
        for row in self._own(self.vectors()[0]).values():
            row[VECTOR] = None

    def slots(self, ids: Sequence[Id]) -> dict[Id, int]:
        stored = super().slots(ids)
        own = {row[ID]: slot for slot, row in self.put_rows_of.items() if slot >= 0}
        found = {
            id: own.get(to_json(id), -1 if stored.get(id) in self.gone else stored.get(id, -1)) for id in ids
        }
        return {id: slot for id, slot in found.items() if slot >= 0}

    def _rows(self, slots: Slots, columns: Sequence[str] = COLUMNS) -> dict[int, Row]:
        stored = [slot for slot in slots.tolist() if slot not in self.gone and slot not in self.put_rows_of]
        found = super()._rows(np.array(stored, np.int64), columns)
        return found | {slot: row for slot in slots.tolist() if (row := self.put_rows_of.get(slot))}

    def _with_vectors(self, slots: Slots | None) -> dict[int, Row]:
        found = {slot: row for slot, row in super()._with_vectors(slots).items() if slot not in self.gone}
        own = {slot: row for slot, row in self.put_rows_of.items() if slot >= 0 and row[VECTOR] is not None}
        return found | (own if slots is None else {slot: own[slot] for slot in slots.tolist() if slot in own})

    def _own(self, slots: Slots) -> dict[int, Row]:
        """The rows of slots, to be written again: those that are stored go with this change."""
        stored = np.array([slot for slot in slots.tolist() if slot not in self.put_rows_of], np.int64)
        rows = self._rows(stored)
        self.gone.update(rows)
        self.put_rows_of.update(rows)
        return {slot: self.put_rows_of[slot] for slot in slots.tolist()}

    def _count(self, more: int) -> None:
        self.state["items"] += more
