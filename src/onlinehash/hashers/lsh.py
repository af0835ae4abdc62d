"""LSH: the signs of random projections. The yardstick that every learnt hash must beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlinehash.codes import Packed
from onlinehash.hashers.base import Floats, OnlineHasher
from onlinehash.kernels.hash import sign_of_product


class LSH(OnlineHasher):
    """Random-projection codes. Only the features' centre is learnt, from the initial sample.

    Parameters as for ``ITQ``; there is no limit to ``n_bits``.
    """

    learns_from = "nothing"
    refreshes_from = "nothing"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_init: int = 300,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_init = n_init
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _initialize(self, sample: Floats) -> None:
        self.W_ = random_directions(sample.shape[1], self.n_bits, np.random.default_rng(self.seed_))

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"W": self.W_}, {}

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        self.W_ = arrays["W"]


def random_directions(width: int, n_bits: int, rng: np.random.Generator) -> Floats:
    """Gaussian columns of unit length (width, n_bits): what online hashing methods start from."""
    W = rng.standard_normal((width, n_bits))
    W /= np.linalg.norm(W, axis=0)
    return W.astype(np.float32)
