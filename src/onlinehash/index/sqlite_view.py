"""States and changes of the embedded store, as rows of SQLite's tables; every row has its checksum."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.errors import IndexFileError, InvalidInputError
from onlinehash.index.filters import Filter
from onlinehash.index.inputs import to_json
from onlinehash.index.results import Id, Item
from onlinehash.index.sqlite_filters import to_sql
from onlinehash.index.store import Chunk, Floats, Labels, Lesson, Model, Rows, Slots, checksum
from onlinehash.labels import LabelRows

_TOGETHER = 256  # chunks that are read into one array


class SQLiteView:
    """One state, pinned by a read transaction. See ``store.View``."""

    def __init__(self, connection: sqlite3.Connection, name: str, chunk_slots: int) -> None:
        self._connection = connection
        self._name = name
        self._chunk_slots = chunk_slots
        row = connection.execute("SELECT sequence, generation FROM state").fetchone()
        self.sequence, self.generation = int(row[0]), int(row[1])

    def settings(self) -> dict[str, Any]:
        return read_settings(self._connection, self._name)

    def model(self) -> Model | None:
        parts = dict(self._connection.execute("SELECT part, value FROM model").fetchall())
        if not parts:
            return None
        labels = []
        for number, label, code, crc in self._connection.execute("SELECT * FROM labels ORDER BY number"):
            self._check(checksum(number, typed(label), code), crc, f"label {label!r}")
            labels.append((label, code))
        if set(parts) != {"base", "learnt"}:
            raise IndexFileError(f"{self._name}: damaged, a part of the model is missing")
        return Model(parts["base"], parts["learnt"], labels)

    def lessons(self, since: int = 0) -> list[Lesson]:
        rows = self._connection.execute(
            "SELECT generation, data FROM lessons WHERE generation > ? ORDER BY generation", (since,)
        )
        return [Lesson(*row) for row in rows]

    def lessons_size(self) -> tuple[int, int, int]:
        count, size, learnt = self._connection.execute(
            "SELECT count(*), coalesce(sum(length(data)), 0), "
            "(SELECT length(value) FROM model WHERE part = 'learnt') FROM lessons"
        ).fetchone()
        return count, size, learnt or 0

    def n_slots(self) -> int:
        (last,) = self._connection.execute("SELECT coalesce(max(number), -1) FROM chunks").fetchone()
        return (int(last) + 1) * self._chunk_slots

    def chunks(self, since: int = 0) -> Iterator[Chunk]:
        rows = self._connection.execute(
            "SELECT number, taken, codes, crc FROM chunks WHERE changed > ? ORDER BY number"
            if since
            else "SELECT number, taken, codes, crc FROM chunks ORDER BY number",
            (since,) if since else (),
        )
        expected = 0
        while batch := rows.fetchmany(_TOGETHER):
            for number, taken, codes, crc in batch:
                self._check(checksum(number, taken, codes), crc, f"chunk {number} of the base codes")
                if not since and number != expected:
                    raise IndexFileError(
                        f"{self._name}: damaged, chunk {expected} of the base codes is missing"
                    )
                expected = number + 1
            for first, last in _runs([row[0] for row in batch]):
                run = batch[first:last]
                n = len(run) * self._chunk_slots
                codes = np.frombuffer(b"".join(row[2] for row in run), np.uint8).reshape(n, -1)
                taken = np.frombuffer(b"".join(row[1] for row in run), np.uint8)
                yield Chunk(
                    run[0][0] * self._chunk_slots, codes, np.unpackbits(taken, bitorder="little").view(bool)
                )

    def codes(self, slots: Slots) -> Packed:
        numbers, within = np.divmod(slots, self._chunk_slots)
        chunks = {number: self._chunk(number) for number in np.unique(numbers).tolist()}
        found = []
        for number, slot in zip(numbers.tolist(), within.tolist(), strict=True):
            chunk = chunks[number]
            if chunk is None:
                raise IndexFileError(f"{self._name}: damaged, chunk {number} of the base codes is missing")
            found.append(chunk[1][slot])
        return np.array(found, np.uint8)

    def slots(self, ids: Sequence[Id]) -> dict[Id, int]:
        found = {}
        for id in ids:
            row = self._connection.execute("SELECT slot FROM items WHERE id = ?", (id,)).fetchone()
            if row:
                found[id] = int(row[0])
        return found

    def items(self, slots: Slots) -> dict[int, Item]:
        rows = self._connection.execute(
            "SELECT items.* FROM json_each(?) AS e JOIN items ON items.slot = e.value",
            (to_json(slots.tolist()),),
        )
        return dict(map(self._item, rows))

    def all_items(self) -> Iterator[tuple[int, Item]]:
        return map(self._item, self._connection.execute("SELECT * FROM items ORDER BY slot"))

    def page(self, where: Filter | None, after: int, limit: int) -> list[tuple[int, Item]]:
        condition, values = ("1", []) if where is None else to_sql(where)
        rows = self._connection.execute(
            f"SELECT * FROM items WHERE slot > ? AND ({condition}) ORDER BY slot LIMIT ?",
            (after, *values, limit),
        )
        return list(map(self._item, rows))

    def matching(self, where: Filter) -> Slots:
        condition, values = to_sql(where)
        rows = self._connection.execute(f"SELECT slot FROM items WHERE {condition}", values)
        return np.fromiter((row[0] for row in rows), np.int64)

    def vectors(self, slots: Slots | None = None) -> tuple[Slots, Floats]:
        query, values = "SELECT slot, vector, crc FROM vectors ORDER BY slot", ()
        if slots is not None:
            query = (
                "SELECT slot, vector, crc FROM json_each(?) AS e JOIN vectors ON slot = e.value ORDER BY slot"
            )
            values = (to_json(sorted(set(slots.tolist()))),)  # type: ignore[assignment]
        found, rows = [], []
        dim = self.settings()["dim"]
        for slot, vector, crc in self._connection.execute(query, values):
            self._check(checksum(slot, vector), crc, f"the vector of slot {slot}")
            found.append(slot)
            rows.append(np.frombuffer(vector, "<f4" if len(vector) == 4 * dim else "<f2").astype(np.float32))
        return np.array(found, np.int64), np.array(rows, np.float32).reshape(-1, dim)

    def rows(self) -> list[Rows]:
        found = []
        dim = self.settings()["dim"]
        for number, vectors, labels, new, crc in self._connection.execute(
            "SELECT * FROM waiting ORDER BY number"
        ):
            self._check(checksum(number, vectors, labels, new), crc, f"waiting rows {number}")
            X = np.frombuffer(vectors, "<f4").astype(np.float32).reshape(-1, dim)
            found.append(Rows(X, LabelRows.of(json.loads(labels)), bool(new)))
        return found

    def _item(self, row: tuple[Any, ...]) -> tuple[int, Item]:
        slot, id, payload, labels, crc = row
        self._check(item_checksum(slot, id, payload, labels), crc, f"the item {id!r}")
        return slot, Item(id, json.loads(payload) if payload else None, json.loads(labels) if labels else [])

    def _chunk(self, number: int) -> tuple[npt.NDArray[np.bool_], Packed] | None:
        row = self._connection.execute(
            "SELECT taken, codes, crc FROM chunks WHERE number = ?", (number,)
        ).fetchone()
        if row is None:
            return None
        self._check(checksum(number, row[0], row[1]), row[2], f"chunk {number} of the base codes")
        taken = np.unpackbits(np.frombuffer(row[0], np.uint8), bitorder="little").view(bool)
        return taken, np.frombuffer(row[1], np.uint8).reshape(self._chunk_slots, -1).copy()

    def _check(self, computed: int, stored: int, what: str) -> None:
        if computed != stored:
            raise IndexFileError(f"{self._name}: damaged, the checksum of {what} does not match")


class SQLiteChange(SQLiteView):
    """A change in a write transaction. See ``store.Change``."""

    def put(self, slots: Slots, items: Iterable[Item]) -> None:
        def rows() -> Iterator[tuple[Any, ...]]:
            for slot, item in zip(slots.tolist(), items, strict=True):
                payload = None if item.payload is None else to_json(item.payload)
                labels = to_json(item.labels) if item.labels else None
                yield slot, item.id, payload, labels, item_checksum(slot, item.id, payload, labels)

        items = list(items)
        try:
            self._connection.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", rows())
        except sqlite3.IntegrityError as error:
            there = self.slots([item.id for item in items])
            known = next(i.id for i, slot in zip(items, slots, strict=True) if there.get(i.id, slot) != slot)
            raise InvalidInputError(
                f"ids: {known!r} is in the index already; replace=True puts the new item in its place"
            ) from error

    def put_codes(self, slots: Slots, codes: Packed) -> None:
        self._change_chunks(slots, True, codes)

    def put_vectors(self, slots: Slots, vectors: Floats | npt.NDArray[np.float16]) -> None:
        little = vectors.astype(vectors.dtype.newbyteorder("<"))
        rows = ((slot, row.tobytes()) for slot, row in zip(slots.tolist(), little, strict=True))
        self._connection.executemany(
            "INSERT OR REPLACE INTO vectors VALUES (?, ?, ?)",
            ((slot, vector, checksum(slot, vector)) for slot, vector in rows),
        )

    def remove(self, slots: Slots) -> None:
        each = [(slot,) for slot in slots.tolist()]
        self._connection.executemany("DELETE FROM items WHERE slot = ?", each)
        self._connection.executemany("DELETE FROM vectors WHERE slot = ?", each)
        if self._connection.execute("SELECT 1 FROM model LIMIT 1").fetchone():
            self._change_chunks(slots, False)

    def put_labels(self, slots: Slots, labels: Labels) -> None:
        for slot, of_slot in zip(slots.tolist(), labels, strict=True):
            _, id, payload, before, crc = self._connection.execute(
                "SELECT * FROM items WHERE slot = ?", (slot,)
            ).fetchone()
            self._check(item_checksum(slot, id, payload, before), crc, f"the item {id!r}")
            text = to_json(of_slot) if of_slot else None
            self._connection.execute(
                "UPDATE items SET labels = ?, crc = ? WHERE slot = ?",
                (text, item_checksum(slot, id, payload, text), slot),
            )

    def put_lesson(self, lesson: Lesson) -> None:
        self._connection.execute("UPDATE state SET generation = ?", (lesson.generation,))
        self._connection.execute("INSERT INTO lessons VALUES (?, ?)", (lesson.generation, lesson.data))

    def put_model(self, model: Model, generation: int) -> None:
        self._connection.execute("UPDATE state SET generation = ?", (generation,))
        self._connection.execute("DELETE FROM lessons")
        if model.base is not None:
            self._connection.execute("INSERT INTO model VALUES ('base', ?)", (model.base,))
        self._connection.execute("INSERT OR REPLACE INTO model VALUES ('learnt', ?)", (model.learnt,))
        (known,) = self._connection.execute("SELECT count(*) FROM labels").fetchone()
        self._connection.executemany(
            "INSERT INTO labels VALUES (?, ?, ?, ?)",
            [
                (number, label, code, checksum(number, typed(label), code))
                for number, (label, code) in enumerate(model.labels[known:], known)
            ],
        )

    def put_rows(self, rows: Rows) -> None:
        (number,) = self._connection.execute("SELECT coalesce(max(number), -1) + 1 FROM waiting").fetchone()
        row = (number, rows.vectors.astype("<f4").tobytes(), to_json(rows.labels.to_lists()), int(rows.new))
        self._connection.execute("INSERT INTO waiting VALUES (?, ?, ?, ?, ?)", (*row, checksum(*row)))

    def drop_waiting(self) -> None:
        self._connection.execute("DELETE FROM waiting")
        self._connection.execute("DELETE FROM vectors")

    def _change_chunks(self, slots: Slots, taken: bool, codes: Packed | None = None) -> None:
        """Read the chunks that these slots lie in, change them, and write them back."""
        order = np.argsort(slots, kind="stable")
        numbers, within = np.divmod(slots[order], self._chunk_slots)
        starts = np.flatnonzero(np.diff(numbers, prepend=-1))
        rows = self._missing_chunks(int(numbers.max(initial=-1)), codes) if codes is not None else []
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(slots)], strict=True):
            number = int(numbers[start])
            chunk = self._chunk(number)
            if chunk is None:
                assert codes is not None, "slots are removed from chunks that are there"
                empty = np.zeros((self._chunk_slots, codes.shape[1]), np.uint8)
                chunk = np.zeros(self._chunk_slots, bool), empty
            of_chunk, rows_of_chunk = chunk
            of_chunk[within[start:stop]] = taken
            if codes is not None:
                rows_of_chunk[within[start:stop]] = codes[order[start:stop]]
            mask = np.packbits(of_chunk, bitorder="little").tobytes()
            data = rows_of_chunk.tobytes()
            rows.append((number, self.sequence, mask, data, checksum(number, mask, data)))
        self._connection.executemany("INSERT OR REPLACE INTO chunks VALUES (?, ?, ?, ?, ?)", rows)

    def _missing_chunks(self, last: int, codes: Packed) -> list[tuple[Any, ...]]:
        """Chunks are there from the first to the last: empty ones before a new one that is further on."""
        (there,) = self._connection.execute("SELECT coalesce(max(number), -1) FROM chunks").fetchone()
        mask, data = bytes(self._chunk_slots // 8), bytes(self._chunk_slots * codes.shape[1])
        return [
            (number, self.sequence, mask, data, checksum(number, mask, data))
            for number in range(there + 1, last)
        ]


def read_settings(connection: sqlite3.Connection, name: str) -> dict[str, Any]:
    """What was fixed when the file was made."""
    row = connection.execute("SELECT settings, crc FROM state").fetchone()
    if row is None or checksum(row[0]) != row[1]:
        raise IndexFileError(f"{name}: damaged, its settings are missing or their checksum does not match")
    settings: dict[str, Any] = json.loads(row[0])
    return settings


def item_checksum(slot: int, id: Id, payload: str | None, labels: str | None) -> int:
    """``checksum(slot, typed(id), payload, labels)``, several times as fast: there are many items."""
    kind = "s" if isinstance(id, str) else "i"
    return crc32(f"{slot}\0{kind}{id}\0{payload or ''}\0{labels or ''}\0".encode())


def typed(value: Id) -> str:
    """An id or label with its type: 1 and "1" are two."""
    return f"{'s' if isinstance(value, str) else 'i'}{value}"


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """Where numbers follow each other without a gap."""
    breaks = [i for i in range(1, len(numbers)) if numbers[i] != numbers[i - 1] + 1]
    return zip([0, *breaks], [*breaks, len(numbers)], strict=True)
