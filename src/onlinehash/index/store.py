"""What an index asks of a storage: one state pinned for reading, one change at a time for writing.

A state has a number, ``sequence``, that goes up by one with each change. Everything read within one
``read()`` is of one state. Codes are packed, slots are int64. ``sqlite.py`` is the embedded store.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol
from zlib import crc32

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.index.filters import Filter
from onlinehash.index.results import Id, Item
from onlinehash.labels import Label, LabelRows

Slots = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]
Labels = Sequence[Sequence[Label]]


@dataclass(frozen=True, slots=True)
class Model:
    """A hasher as it is stored: what is fixed for ever, what moves, and the rows of L.

    Where it is written again, ``base`` is None. Labels that are stored already stay as they are.
    """

    base: bytes | None
    learnt: bytes
    labels: list[tuple[Label, bytes]]


@dataclass(frozen=True, slots=True)
class Lesson:
    """What one call has learnt from. A model and the lessons after it are what has been learnt."""

    generation: int  # the one that it led to
    data: bytes


@dataclass(frozen=True, slots=True)
class Chunk:
    """The base codes of some slots in a row, and which of these slots hold an item."""

    first: int
    codes: Packed
    taken: npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Labelled rows that are learnt from at initialisation."""

    vectors: Floats
    labels: LabelRows
    new: bool  # part of the initial sample; not so the vectors of items, which are there already


class View(Protocol):
    """One state of the store."""

    sequence: int
    generation: int  # how many changes of the model there have been

    def settings(self) -> dict[str, Any]:
        """What was fixed when the index was made."""

    def model(self) -> Model | None:
        """The hasher as it was last written, None before initialisation."""

    def lessons(self, since: int = 0) -> list[Lesson]:
        """What has been learnt from since then, and after generation ``since``."""

    def lessons_size(self) -> tuple[int, int, int]:
        """The number of lessons, their bytes, and those of what was learnt before them."""

    def n_slots(self) -> int:
        """All slots with base codes are below this number."""

    def chunks(self, since: int = 0) -> Iterator[Chunk]:
        """Base codes, of those slots' chunks that have changed after state ``since``."""

    def codes(self, slots: Slots) -> Packed:
        """Base codes of some slots."""

    def slots(self, ids: Sequence[Id]) -> dict[Id, int]:
        """The slots of those ids that are there."""

    def items(self, slots: Slots) -> dict[int, Item]:
        """The items, without vectors, of those slots that hold one."""

    def all_items(self) -> Iterator[tuple[int, Item]]:
        """Every item with its slot, in the order of slots."""

    def page(self, where: Filter | None, after: int, limit: int) -> list[tuple[int, Item]]:
        """The first items in slots past ``after`` that a filter lets through, in the order of slots."""

    def matching(self, where: Filter) -> Slots:
        """The slots of the items that a filter lets through."""

    def vectors(self, slots: Slots | None = None) -> tuple[Slots, Floats]:
        """Vectors kept, of the slots given or of all, with their slots in ascending order."""

    def rows(self) -> list[Rows]:
        """Labelled rows that wait for initialisation, as they came."""


class Change(View, Protocol):
    """A change on its way: nothing of it is there until all of it is."""

    def put(self, slots: Slots, items: Iterable[Item]) -> None:
        """Add items; an id that is there already is refused."""

    def put_codes(self, slots: Slots, codes: Packed) -> None:
        """Write base codes."""

    def put_vectors(self, slots: Slots, vectors: Floats | npt.NDArray[np.float16]) -> None:
        """Write vectors."""

    def remove(self, slots: Slots) -> None:
        """Take items out, with all that is kept of them."""

    def put_labels(self, slots: Slots, labels: Labels) -> None:
        """Replace the labels that are kept with items."""

    def put_model(self, model: Model, generation: int) -> None:
        """Write the hasher of a generation, and let go of the lessons before it."""

    def put_lesson(self, lesson: Lesson) -> None:
        """Write what has led to a new generation."""

    def put_rows(self, rows: Rows) -> None:
        """Let labelled rows wait for initialisation."""

    def drop_waiting(self) -> None:
        """Let go of the vectors and rows that waited."""


class Store(Protocol):
    """Where an index lives."""

    name: str

    def read(self) -> AbstractContextManager[View]:
        """Pin the newest state."""

    def write(self) -> AbstractContextManager[Change]:
        """One change: durable when the block ends, undone where it raises."""

    def backup(self, path: str) -> None:
        """Copy the newest state to a file, while others read and write."""

    def n_bytes(self) -> int:
        """Bytes that are stored."""

    def verify(self) -> list[str]:
        """What is wrong with the stored bytes, in sentences."""

    def close(self) -> None:
        """Wait for those who read, then let go of everything."""


def checksum(*parts: Any) -> int:
    """CRC-32 of the parts one after another, each ended by a zero byte; None is empty."""
    total = 0
    for part in parts:
        data = part if isinstance(part, bytes) else b"" if part is None else str(part).encode()
        total = crc32(b"\0", crc32(data, total))
    return total
