"""What the demo serves: scikit-learn's handwritten digits, with labels as a person would give them."""

from __future__ import annotations

import struct
import zlib
from base64 import b64encode
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.ndimage import zoom
from sklearn.datasets import load_digits

from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.index import Index
from onlinehash.metrics import mean_average_precision

N_BITS, BASE_BITS, N_INIT, HELD_OUT = 64, 256, 300, 297
_INK, _PAPER, _LARGER = (34, 41, 56), (250, 248, 243), 4


@dataclass(frozen=True, slots=True, eq=False)
class Digits:
    """1,797 pictures of 8 × 8 pixels. The labels of the last 297 are never told: they are for measuring."""

    ids: list[str]
    X: npt.NDArray[np.float32]
    digits: list[int]

    @classmethod
    def load(cls) -> Digits:
        """In an order that has nothing to do with what they show."""
        X, digits = load_digits(return_X_y=True)
        order = np.random.default_rng(0).permutation(len(X))
        ids = [f"digit-{i:04}" for i in range(len(X))]
        return cls(ids, X[order].astype(np.float32), digits[order].tolist())

    @property
    def told(self) -> int:
        """How many have labels that stream in."""
        return len(self.ids) - HELD_OUT

    def labels(self, start: int, stop: int) -> list[list[str]]:
        """Of some of them."""
        return [labels_of(digit) for digit in self.digits[start:stop]]

    def index(self, path: Path) -> Index:
        """A new index that holds all of them, without any label."""
        hasher = OHWEU(N_BITS, base_bits=BASE_BITS, pairs=False, n_init=N_INIT)
        index = Index.create(path, hasher=hasher, sample=self.X[:N_INIT], refresh="manual")
        index.add(self.ids, self.X, payloads=[{"thumbnail": thumbnail(x)} for x in self.X])
        return index


def labels_of(digit: int) -> list[str]:
    """What a person would say of a digit."""
    labels = [f"digit {digit}", "odd" if digit % 2 else "even"]
    if digit in (0, 6, 8, 9):
        labels.append("has a loop")
    if digit in (1, 4, 7):
        labels.append("straight lines")
    return labels


def thumbnail(x: npt.NDArray[np.float32]) -> str:
    """A picture of 8 × 8 numbers from 0 to 16 as a data URI: ink on paper, PNG."""
    ink = np.clip(zoom(x.reshape(8, 8) / 16, _LARGER, order=3), 0, 1)
    return f"data:image/png;base64,{b64encode(_png(np.round(ink * 63).astype(np.uint8))).decode()}"


def _png(shades: npt.NDArray[np.uint8]) -> bytes:
    """One byte a pixel, 64 shades from paper to ink."""
    height, width = shades.shape
    palette = np.linspace(_PAPER, _INK, 64).round().astype(np.uint8).tobytes()
    rows = np.zeros((height, width + 1), np.uint8)  # each row begins with its filter, none
    rows[:, 1:] = shades
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = [
        (b"IHDR", header),
        (b"PLTE", palette),
        (b"IDAT", zlib.compress(rows.tobytes(), 9)),
        (b"IEND", b""),
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in parts
    )


def measure(index: Index, digits: Digits) -> dict[str, Any]:
    """Search by example of those held out among the others: right is what shows the same digit."""
    codes = index.codes(digits.ids)
    told = digits.told
    score = mean_average_precision(
        codes.live[told:], codes.live[:told], digits.digits[told:], digits.digits[:told], n_bits=codes.n_bits
    )
    return {"generation": codes.generation, "map": score}
