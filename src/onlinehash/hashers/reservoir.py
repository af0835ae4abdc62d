"""A uniform sample of a stream, of fixed size: the rows with the smallest random keys so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.hashers.base import Floats
from onlinehash.labels import Label

_RESERVOIR = 2  # which of the seed's streams of random numbers the keys come from


@dataclass(slots=True)
class Reservoir:
    """Rows (size, D), of which the first ``filled`` are in use, with their labels and keys."""

    rows: Floats
    seed: int
    seen: int = 0
    keys: list[float] = field(default_factory=list)
    labels: list[list[Label]] = field(default_factory=list)

    @property
    def filled(self) -> int:
        """How many rows are in use."""
        return len(self.keys)

    def slots_for(self, n: int) -> npt.NDArray[np.int64]:
        """The slots that the next n rows of the stream take in turn, -1 for none.

        Row t of a stream has the same key whatever chunks it comes in. Who calls this puts the rows
        in their slots, and then calls ``name`` for their labels.
        """
        slots = np.full(n, -1, np.int64)
        for t, key in enumerate(_keys(self.seed, self.seen, n).tolist()):
            if len(self.keys) < len(self.rows):
                slots[t] = len(self.keys)
                self.keys.append(key)
                self.labels.append([])
            elif key < (largest := max(self.keys)):
                slots[t] = self.keys.index(largest)
                self.keys[slots[t]] = key
        self.seen += n
        return slots

    def name(self, slots: npt.NDArray[np.int64], labels: list[list[Label]]) -> None:
        """Take note of the labels of the rows that have taken slots."""
        for slot, of_row in zip(slots.tolist(), labels, strict=True):
            if slot >= 0:
                self.labels[slot] = of_row

    def state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Arrays and other values for a model file."""
        return {"reservoir": self.rows}, {
            "reservoir": {"seed": self.seed, "seen": self.seen, "keys": self.keys, "labels": self.labels}
        }

    @classmethod
    def restored(cls, arrays: dict[str, Any], learnt: dict[str, Any]) -> Reservoir:
        """Take back what ``state`` gave."""
        return cls(arrays["reservoir"], **learnt["reservoir"])


def _keys(seed: int, start: int, n: int) -> npt.NDArray[np.float64]:
    """Uniform keys of rows start, start + 1, …: Philox makes four numbers for each of its counts."""
    generator = np.random.Philox(np.random.SeedSequence((seed, _RESERVOIR)))
    generator.advance(start // 4)
    return np.random.Generator(generator).random(n + start % 4)[start % 4 :]
