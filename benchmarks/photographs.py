"""30,000 photographs' features with labels, where somebody has them: for measuring only.

The folder is named by ONLINEHASH_DATA and holds ``coco30k_features.npy`` (rows, 1280) and, of as
many rows of 0/1, ``coco30k_labels.npy`` (18 labels, the first of them "person") and
``coco30k_caption_tags.npy`` (82 words of a caption).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

FOLDER = Path(os.environ.get("ONLINEHASH_DATA", "../shared/data"))
MISSING = "no photographs, nothing measured (ONLINEHASH_DATA names their folder)"
SETTINGS = ("all", "no-person", "tags")


@dataclass(frozen=True, slots=True)
class Split:
    """One random split: the stream, which is also the database; validation queries; queries."""

    X: npt.NDArray[np.float32]
    Y: npt.NDArray[Any]
    X_validation: npt.NDArray[np.float32]
    Y_validation: npt.NDArray[Any]
    X_query: npt.NDArray[np.float32]
    Y_query: npt.NDArray[Any]


def available() -> bool:
    """Whether the photographs are there."""
    return (FOLDER / "coco30k_features.npy").exists()


def split(setting: str, seed: int, queries: int = 2000, validation: int = 1000) -> Split:
    """``all``: 18 labels; ``no-person``: 17 of them; ``tags``: 82. Rows without a label are left out."""
    X = np.load(FOLDER / "coco30k_features.npy").astype(np.float32)
    name = "coco30k_caption_tags.npy" if setting == "tags" else "coco30k_labels.npy"
    Y = np.load(FOLDER / name)[:, 1 if setting == "no-person" else 0 :]
    rows = np.random.default_rng(seed).permutation(np.flatnonzero(Y.any(axis=1)))
    q, v, s = rows[:queries], rows[queries : queries + validation], rows[queries + validation :]
    return Split(X[s], Y[s], X[v], Y[v], X[q], Y[q])
