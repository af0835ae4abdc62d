"""Labels → target codes: g* = sgn(Lᵀy), one Gaussian row of L for each label.

The vocabulary is open. A label's row is drawn from a counter-based generator keyed by the random
state and the label itself, so it depends neither on the order in which labels appear nor on how
many there are. Rows are rounded to multiples of 2^-16: their sums are then exact, whatever their
order, and so are the targets.
"""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from onlinehash.labels import Label, LabelRows

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

    def __init__(self, n_bits: int, seed: int) -> None:
        self.n_bits = n_bits
        self.seed = seed
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
        twin = LabelCodes(self.n_bits, self.seed)
        twin._rows = dict(self._rows)
        return twin

    def targets(self, rows: LabelRows) -> npt.NDArray[np.float32]:
        """The target codes (n, n_bits) of ±1; a row without a label gets sgn(0) = +1."""
        L = np.zeros((len(rows.vocabulary), self.n_bits))
        for j in np.unique(rows.indices):
            label = rows.vocabulary[j]
            if label not in self._rows:
                self._rows[label] = label_row(label, self.n_bits, self.seed)
            L[j] = self._rows[label]
        sums = np.zeros((len(rows), self.n_bits))
        # Row by row of at most a few labels: all first labels at once, then all second ones, …
        counts = np.diff(rows.starts)
        for i in range(int(counts.max(initial=0))):
            having = np.flatnonzero(counts > i)
            sums[having] += L[rows.indices[rows.starts[having] + i]]
        return np.where(sums >= 0, np.float32(1), np.float32(-1))


def label_row(label: Label, n_bits: int, seed: int) -> npt.NDArray[np.float32]:
    """The row of L of one label."""
    name = f"{seed}:{type(label).__name__}:{label}".encode("utf-8", "surrogatepass")
    key = int.from_bytes(blake2b(name, digest_size=16).digest(), "little")
    row = np.random.Generator(np.random.Philox(key=key)).standard_normal(n_bits)
    return (np.rint(row * _STEP) / _STEP).astype(np.float32)
