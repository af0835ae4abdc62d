"""Where the data comes from: digits, the photographs' features, a file of the user's, made data."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from onlinehash.datasets import Dataset, read
from onlinehash.errors import DataFileError

FOLDER = "ONLINEHASH_DATA"  # the environment variable that names the photographs' folder
USUAL_FOLDER = "../shared/data"
PHOTOGRAPHS = ("all", "no-person", "tags")


@dataclass(frozen=True, slots=True)
class Setting:
    """Data with one kind of labels; opened anew in every process that works on it."""

    name: str
    title: str
    kind: Literal["digits", "photographs", "file"]
    features: str = ""
    labels: str = ""

    def open(self) -> Dataset:
        """Map or load it."""
        if self.kind == "digits":
            return _digits()
        if self.kind == "file":
            return read(self.features, self.labels or None, name=self.name)
        return _photographs(Path(self.features), self.name)


DIGITS = Setting("digits", "digits, several labels each", "digits")


def user_file(features: Path, labels: Path | None) -> list[Setting]:
    """The one setting of a file of features with labels, in it or in a file of their own."""
    return [Setting(features.stem, features.name, "file", str(features), str(labels or ""))]


def photographs(folder: Path) -> list[Setting]:
    """The settings of 30,000 photographs' features, as many as there are labels for."""
    if not (folder / "coco30k_features.npy").exists():
        raise DataFileError(f"{folder}: expected coco30k_features.npy there; there is no such file")
    titles = {
        "all": "photographs, 18 labels",
        "no-person": "photographs, 17 labels without person",
        "tags": "photographs, 82 words of captions",
    }
    found = [name for name in PHOTOGRAPHS if (folder / _labels_of(name)).exists()]
    return [Setting(name, titles[name], "photographs", str(folder)) for name in found]


def default_folder() -> Path | None:
    """The photographs' folder: the one that the environment names or the usual one, if it has them."""
    folder = Path(os.environ.get(FOLDER, USUAL_FOLDER))
    return folder if (folder / "coco30k_features.npy").exists() else None


def _labels_of(name: str) -> str:
    return "coco30k_caption_tags.npy" if name == "tags" else "coco30k_labels.npy"


def _photographs(folder: Path, name: str) -> Dataset:
    Y = np.load(folder / _labels_of(name))[:, 1 if name == "no-person" else 0 :]
    return Dataset.from_arrays(np.load(folder / "coco30k_features.npy", mmap_mode="r"), Y, name)


def _digits() -> Dataset:
    from sklearn.datasets import load_digits

    X, digits = load_digits(return_X_y=True)
    loops, straight = (0, 6, 8, 9), (1, 4, 7)
    Y = [
        {str(d), "odd" if d % 2 else "even"}
        | ({"loop"} if d in loops else {"straight"} if d in straight else set())
        for d in digits.tolist()
    ]
    return Dataset.from_arrays(X.astype(np.float32), Y, "digits")


@dataclass(frozen=True, slots=True)
class Made:
    """Made data of a published shape: what learning costs does not depend on what the numbers are.

    It does depend on how many labels an item has, for OSupH learns once for each.
    """

    name: str
    title: str
    n: int
    dim: int
    n_labels: int
    labels_an_item: float

    def open(self, folder: Path, n: int | None = None) -> Dataset:
        """Unit-length Gaussian rows in a file in ``folder``, written there if it is not there yet."""
        n = n or self.n
        path = self.path(folder, n)
        if not path.exists():
            self._write(path, n)
        rng = np.random.default_rng(1)
        Y = rng.random((n, self.n_labels)) < self.labels_an_item / self.n_labels
        Y[np.arange(n), rng.integers(self.n_labels, size=n)] = True
        return read_mapped(path, Y, self.name)

    def path(self, folder: Path, n: int) -> Path:
        """Where ``open`` keeps the features."""
        return folder / f"{self.name}-{n}x{self.dim}.npy"

    def _write(self, path: Path, n: int) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_suffix(".part")
        out = np.lib.format.open_memmap(beside, mode="w+", dtype=np.float32, shape=(n, self.dim))
        rng = np.random.default_rng(0)
        for start in range(0, n, 1000):
            rows = rng.standard_normal((min(1000, n - start), self.dim), np.float32)
            out[start : start + len(rows)] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        out.flush()
        del out
        beside.rename(path)


def read_mapped(path: Path, Y: np.ndarray, name: str) -> Dataset:
    """A file of features with labels that are in memory."""
    return Dataset.from_arrays(np.load(path, mmap_mode="r"), Y, name)


# Labels an item: MS-COCO's 80 concepts; NUS-WIDE's 21 most frequent ones.
NUS_WIDE = Made("made-like-nus-wide", "made data of NUS-WIDE's shape", 195_834, 4096, 21, 2.0)
MS_COCO = Made("made-like-ms-coco", "made data of MS-COCO's shape", 122_218, 4096, 80, 2.9)
