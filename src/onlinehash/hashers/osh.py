"""OSH: online sketch hashing (Leng, Wu, Cheng, Bai and Lu, CVPR 2015). Unsupervised.

Principal directions of a stream, from a sketch of it: Frequent Directions (Liberty, KDD 2013) keeps
ℓ rows B whose BᵀB approximates the scatter of all rows seen. The mean moves with the stream; one
extra row a chunk keeps the scatter exactly that about the running mean.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.base import Floats, check_int
from onlinehash.hashers.chunked import ChunkedHasher
from onlinehash.hashers.lsh import random_directions
from onlinehash.kernels.hash import sign_of_product
from onlinehash.labels import LabelRows

_LEAST = 200

Reals = npt.NDArray[Any]  # float32 as hashers use it, float64 where rounding must not count


class OSH(ChunkedHasher):
    """PCA codes of a stream; labels are not used. Every item is hashed again when W has moved.

    Parameters
    ----------
    n_bits : at most half of ``sketch_size``, and at most the number of features
    sketch_size : ℓ, even. None: 200, or twice ``n_bits`` where that is more
    chunk_size : rows after which the mean and W move
    rotation : "fixed", one random rotation for ever; "redrawn", a new one each chunk, as in the
        published program: then all bits change even where the directions do not
    n_init, centre, unit_norm, random_state : as for ``OHWEU``

    Until the sketch spans ``n_bits`` directions, codes are random projections.
    """

    learns_from = "features"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        sketch_size: int | None = None,
        chunk_size: int = 300,
        rotation: Literal["fixed", "redrawn"] = "fixed",
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.sketch_size = sketch_size
        self.chunk_size = chunk_size
        self.rotation = rotation
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        if self.sketch_size is not None:
            check_int(self, "sketch_size", 2)
            if self.sketch_size % 2:
                raise InvalidParameterError(f"sketch_size must be even, got {self.sketch_size}")
        if self.n_bits > (most := min(self._size() // 2, width)):
            raise InvalidParameterError(
                f"n_bits={self.n_bits}, but a sketch of sketch_size={self._size()} rows of {width} "
                f"feature(s) gives at most min(sketch_size / 2, n_features) = {most} directions"
            )
        if self.rotation not in ("fixed", "redrawn"):
            raise InvalidParameterError(f'rotation must be "fixed" or "redrawn", got {self.rotation!r}')

    def _initialize(self, sample: Floats) -> None:
        super()._initialize(sample)
        width = sample.shape[1]
        self.sketch_ = np.zeros((0, width), np.float32)
        self.mean_ = np.zeros(width)
        self.n_sketched_ = self.n_chunks_ = 0
        self._turn(random_directions(width, self.n_bits, np.random.default_rng(self.seed_)))

    def _learn_chunk(self, Z: Floats, labels: LabelRows) -> None:
        n, m = self.n_sketched_, len(Z)
        mean = Z.mean(axis=0, dtype=np.float64)
        rows = Z - mean
        if n:
            rows = np.concatenate([rows, np.sqrt(n * m / (n + m)) * (mean - self.mean_)[None]])
        self.sketch_ = frequent_directions(self.sketch_, rows.astype(np.float32), self._size())
        self.mean_ = (n * self.mean_ + m * mean) / (n + m)
        self.n_sketched_ = n + m
        self.n_chunks_ += 1
        if (V := principal_directions(self.sketch_, self.n_bits)) is not None:
            self._turn(V @ self._rotation())

    def _rotation(self) -> Reals:
        turn = self.n_chunks_ if self.rotation == "redrawn" else 0
        gaussian = np.random.default_rng((self.seed_, turn)).standard_normal((self.n_bits, self.n_bits))
        rotation: Reals = np.linalg.qr(gaussian)[0]
        return rotation

    def _turn(self, W: npt.NDArray[Any]) -> None:
        self.W_, self.b_ = W.astype(np.float32), (-(self.mean_ @ W)).astype(np.float32)

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_, self.b_)

    def _size(self) -> int:
        return self.sketch_size or max(_LEAST, 2 * self.n_bits)

    def _state(self) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
        arrays, learnt = super()._state()
        arrays |= {"W": self.W_, "b": self.b_, "sketch": self.sketch_, "mean": self.mean_}
        return arrays, learnt | {"n_sketched": self.n_sketched_, "n_chunks": self.n_chunks_}

    def _restore(self, arrays: dict[str, npt.NDArray[Any]], learnt: dict[str, Any]) -> None:
        super()._restore(arrays, learnt)
        self.W_, self.b_ = arrays["W"], arrays["b"]
        self.sketch_, self.mean_ = arrays["sketch"], arrays["mean"]
        self.n_sketched_, self.n_chunks_ = learnt["n_sketched"], learnt["n_chunks"]


def frequent_directions(sketch: Reals, rows: Reals, size: int) -> Reals:
    """The sketch (at most ``size`` rows) after more rows: 0 ⪯ AᵀA - BᵀB ⪯ (2/ℓ) ‖A‖² I.

    Whenever it is full, it is turned to its principal directions, and all squared lengths are
    lowered by that of the middle one, which empties half of it. The ℓ × ℓ matrix BBᵀ stands for
    the SVD of the much wider B.
    """
    while len(rows):
        room = size - len(sketch)
        sketch = np.concatenate([sketch, rows[:room]])
        rows = rows[room:]
        if len(rows):
            squared, U = _eigen(sketch)
            kept = squared > max(squared[size // 2], 0.0)
            shrunk = np.sqrt(1 - max(squared[size // 2], 0.0) / squared[kept])
            sketch = (shrunk * U[:, kept]).T.astype(sketch.dtype) @ sketch
    return sketch


def frequent_directions_loop(sketch: Reals, rows: Reals, size: int) -> Reals:
    """The plain twin, as published: row after row, with a singular value decomposition of B."""
    for row in rows:
        if len(sketch) == size:
            _, s, Vt = np.linalg.svd(sketch, full_matrices=False)
            s = np.concatenate([s, np.zeros(size - len(s))])
            shrunk = np.sqrt(np.maximum(s**2 - s[size // 2] ** 2, 0))[: size // 2]
            sketch = (shrunk[: len(Vt), None] * Vt[: size // 2])[shrunk[: len(Vt)] > 0]
        sketch = np.concatenate([sketch, row[None]])
    return sketch


def principal_directions(sketch: Reals, count: int) -> Reals | None:
    """The top right singular vectors (D, count) of the sketch, None where it spans fewer."""
    if len(sketch) < count:
        return None
    squared, U = _eigen(sketch)
    squared, U = squared[:count], U[:, :count]
    if squared[-1] <= squared[0] * np.finfo(np.float32).eps:
        return None
    V: Reals = sketch.T @ (U / np.sqrt(squared)).astype(sketch.dtype)
    # a singular vector's sign is arbitrary: let its largest entry be positive
    V *= np.sign(V[np.abs(V).argmax(axis=0), np.arange(count)])
    return V


def _eigen(sketch: Reals) -> tuple[Reals, Reals]:
    """Squared singular values, largest first, and left singular vectors."""
    squared, U = np.linalg.eigh((sketch @ sketch.T).astype(np.float64))
    return squared[::-1], U[:, ::-1]
