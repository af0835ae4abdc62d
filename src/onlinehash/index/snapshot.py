"""What a search reads: one state of the store and one generation, whole, and never changed again."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Words
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.kernels.refresh import refresh_codes
from onlinehash.kernels.scan import Mask

Slots = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float32]

_SLICE = 1 << 17  # words of base codes that are refreshed at once, a millisecond: searches share the threads


@dataclass(frozen=True, slots=True, eq=False)
class Generation:
    """P, R and all that comes with them. Nobody learns in this hasher any more: learning copies it."""

    number: int
    hasher: OHWEU
    tables: Floats  # P as the refresh reads it

    @classmethod
    def of(cls, number: int, hasher: OHWEU) -> Generation:
        """With the tables made, and R solved for: searches find both ready."""
        _ = hasher.R_
        return cls(number, hasher, hasher.lookup_tables())

    def refresh(self, base: Words, out: Words) -> None:
        """Live codes of word-major base codes."""
        size = max(1, _SLICE // base.shape[0])
        for start in range(0, base.shape[1], size):
            of = slice(start, start + size)
            refresh_codes(base[:, of], self.tables, self.hasher.n_bits, out[:, of])


@dataclass(frozen=True, slots=True, eq=False)
class Unhashed:
    """Before initialisation: the items' vectors, at unit length."""

    slots: Slots
    Z: Floats

    @classmethod
    def of(cls, slots: Slots, vectors: Floats) -> Unhashed:
        """From vectors as they are."""
        return cls(slots, unit(vectors))


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Snapshot:
    """One state. ``live`` looks at memory in which only slots that are closed here are written to."""

    sequence: int
    n_items: int
    generation: Generation | None = None
    live: Words = field(default_factory=lambda: np.empty((0, 0), np.uint64))
    open: Mask | None = None  # the slots that hold items, None where all do
    unhashed: Unhashed | None = None
    masks: dict[str, Mask] = field(default_factory=dict)  # of filters asked for lately

    @property
    def number(self) -> int:
        """The generation's number, 0 before initialisation."""
        return 0 if self.generation is None else self.generation.number


def unit(vectors: Floats) -> Floats:
    """Rows at unit length; a zero row stays zero."""
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1, keepdims=True)
    Z: Floats = (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)
    return Z
