"""Labels → target codes: g* = sgn(Lᵀy), one row of L for each label. The vocabulary is open.

Gaussian rows, the paper's, are drawn from a counter-based generator keyed by the random state and
the label itself, so they depend neither on the order in which labels appear nor on how many there
are. They are rounded to multiples of 2^-16: sums are then exact, whatever their order, and so are
the targets.

Orthogonal rows are those of a Hadamard matrix, shuffled by the random state: ±1, and any two of the
first n_bits labels differ in half of the bits, while random ones come closer by chance. They are
given out as labels first appear in the stream. Where a row's labels disagree evenly about a bit, its
target is 0: nothing is known.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Literal

import numpy as np
import numpy.typing as npt

from onlinehash.labels import Label, LabelRows

Rows = Literal["orthogonal", "gaussian"]

ROWS: tuple[Rows, ...] = ("orthogonal", "gaussian")
_STEP = 2.0**16


class LabelCodes:
    """The rows of L that have been needed so far.

    >>> from onlinehash.labels import label_rows
    >>> codes = LabelCodes(n_bits=4, seed=0)
    >>> codes.targets(label_rows([["cat"], ["cat", "dog"]])).shape
    (2, 4)
    >>> codes.labels
    ['cat', 'dog']
    """

    def __init__(self, n_bits: int, seed: int, rows: Rows = "gaussian") -> None:
        self.n_bits = n_bits
        self.seed = seed
        self.rows = rows
        self._rows: dict[Label, npt.NDArray[np.float32]] = {}

    @property
    def labels(self) -> list[Label]:
        """The labels met so far, in the order of their first appearance."""
        return list(self._rows)

    @property
    def L(self) -> npt.NDArray[np.float32]:
        """(number of labels, n_bits), in the order of ``labels``."""
        return np.array(list(self._rows.values()), np.float32).reshape(-1, self.n_bits)

    def restore(self, labels: list[Label], L: npt.NDArray[np.float32]) -> None:
        """Take back labels and their rows as they were saved."""
        self._rows = dict(zip(labels, L, strict=True))

    def copy(self) -> LabelCodes:
        """The same labels and rows, to which others may be added apart."""
        twin = LabelCodes(self.n_bits, self.seed, self.rows)
        twin._rows = dict(self._rows)
        return twin

    def targets(self, rows: LabelRows) -> npt.NDArray[np.float32]:
        """The target codes (n, n_bits) of ±1; for orthogonal rows of -1, 0 and +1.

        A row without a label gets sgn(0) = +1, or 0.
        """
        L = np.zeros((len(rows.vocabulary), self.n_bits))
        for j in _in_order(rows):
            label = rows.vocabulary[j]
            if label not in self._rows:
                self._rows[label] = self._new_row(label)
            L[j] = self._rows[label]
        sums = np.zeros((len(rows), self.n_bits))
        # Row by row of at most a few labels: all first labels at once, then all second ones, …
        counts = np.diff(rows.starts)
        for i in range(int(counts.max(initial=0))):
            having = np.flatnonzero(counts > i)
            sums[having] += L[rows.indices[rows.starts[having] + i]]
        if self.rows == "orthogonal":
            return np.sign(sums).astype(np.float32)
        return np.where(sums >= 0, np.float32(1), np.float32(-1))

    def _new_row(self, label: Label) -> npt.NDArray[np.float32]:
        if self.rows == "orthogonal":
            return orthogonal_row(len(self._rows), self.n_bits, self.seed)
        return label_row(label, self.n_bits, self.seed)


def _in_order(rows: LabelRows) -> list[int]:
    """Numbers of the labels in the order in which they first appear; within a row, in that of names."""
    names = [f"{type(label).__name__}:{label}" for label in rows.vocabulary]
    labels, first = np.unique(rows.indices, return_index=True)
    row = np.searchsorted(rows.starts, first, side="right")
    return [j for _, _, j in sorted((int(r), names[j], int(j)) for r, j in zip(row, labels, strict=True))]


def orthogonal_row(j: int, n_bits: int, seed: int) -> npt.NDArray[np.float32]:
    """The j-th row of L. Each size of the Hadamard matrix so many labels are another shuffle of it."""
    size = 1 << max(1, (n_bits - 1).bit_length())
    rng = np.random.default_rng((seed, j // size))
    row = int(rng.permutation(size)[j % size])
    columns = rng.permutation(size)[:n_bits]
    signs = rng.integers(0, 2, n_bits)
    odd = np.array([(row & int(column)).bit_count() for column in columns]) + signs
    return np.where(odd % 2 == 0, np.float32(1), np.float32(-1))


def label_row(label: Label, n_bits: int, seed: int) -> npt.NDArray[np.float32]:
    """The row of L of one label."""
    name = f"{seed}:{type(label).__name__}:{label}".encode("utf-8", "surrogatepass")
    key = int.from_bytes(blake2b(name, digest_size=16).digest(), "little")
    row = np.random.Generator(np.random.Philox(key=key)).standard_normal(n_bits)
    return (np.rint(row * _STEP) / _STEP).astype(np.float32)
