"""PCA-ITQ: principal directions, then the rotation that loses least by taking signs.

Gong and Lazebnik, "Iterative Quantization", CVPR 2011. Learnt once from the initial sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.hashers.base import Floats, OnlineHasher
from onlinehash.kernels.hash import sign_of_product

Doubles = npt.NDArray[np.float64]

ITERATIONS = 50
_FRAME, _MOST_FRAMES = 256, 8


class ITQ(OnlineHasher):
    """PCA-ITQ codes, fixed once the initial sample is complete. Labels are not used.

    Parameters
    ----------
    n_bits : at most min(features, n_init - 1)
    n_init : rows of the initial sample
    iterations : of the rotation
    centre : True (the initial sample's mean), False, or an array of your own
    unit_norm : whether rows are scaled to unit length
    random_state : int (the same codes on every run), None, RandomState or Generator
    """

    learns_from = "nothing"
    refreshes_from = "nothing"

    def __init__(
        self,
        n_bits: int = 64,
        *,
        n_init: int = 300,
        iterations: int = ITERATIONS,
        centre: Any = True,
        unit_norm: bool = True,
        random_state: Any = 0,
    ) -> None:
        self.n_bits = n_bits
        self.n_init = n_init
        self.iterations = iterations
        self.centre = centre
        self.unit_norm = unit_norm
        self.random_state = random_state

    def _check_parameters(self, n_init: int, width: int) -> None:
        super()._check_parameters(n_init, width)
        check_directions(self.n_bits, "n_bits", n_init, width)

    def _initialize(self, sample: Floats) -> None:
        self.W_, self.b_ = pca_itq(sample, self.n_bits, self.iterations, self.seed_)

    def _encode(self, Z: Floats) -> Packed:
        return sign_of_product(Z, self.W_, self.b_)

    def _state(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return {"W": self.W_, "b": self.b_}, {}

    def _restore(self, arrays: dict[str, Any], learnt: dict[str, Any]) -> None:
        self.W_, self.b_ = arrays["W"], arrays["b"]


def pca_itq(sample: Floats, n_bits: int, iterations: int, seed: int) -> tuple[Floats, Floats]:
    """W (D, n_bits) and b (n_bits,) of h = sgn(Wᵀz + b), from a sample (m, D).

    The SVD of the centred sample stands for the D × D covariance. ``W = V R`` with V the principal
    directions and R the rotation; ``b = -Wᵀμ``. A sample that spans fewer directions than there are
    bits is refused.
    """
    Z, mean, V = _principal(sample)
    if V.shape[1] < n_bits:
        raise InvalidInputError(
            f"PCA-ITQ for {n_bits} bits needs an initial sample that spans as many directions; "
            f"these {len(Z)} rows of {Z.shape[1]} features span {V.shape[1]}"
        )
    V = V[:, :n_bits]
    W = V @ rotation((Z - mean) @ V, iterations, seed)
    return W.astype(np.float32), (-(mean @ W)).astype(np.float32)


def pca_itq_frames(
    sample: Floats, n_bits: int, iterations: int, seed: int, *, or_fewer: bool = False
) -> tuple[Floats, Floats]:
    """As ``pca_itq``, of any number of bits: several rotations of the same principal directions.

    More than 256 bits say more as two rotations of half the directions than as one of all, for the
    last directions are mostly noise. ``or_fewer``: at most eight rotations.
    """
    Z, mean, V = _principal(sample)
    if not V.shape[1]:
        raise InvalidInputError(
            f"PCA-ITQ needs an initial sample that spans a direction; "
            f"these {len(Z)} rows of {Z.shape[1]} features span 0"
        )
    if or_fewer:
        n_bits = min(n_bits, _MOST_FRAMES * V.shape[1])
    directions = min(-(-n_bits // -(-n_bits // _FRAME)), V.shape[1])
    V = V[:, :directions]
    Y = (Z - mean) @ V
    frames = [V @ rotation(Y, iterations, seed + i) for i in range(-(-n_bits // directions))]
    W = np.concatenate(frames, axis=1)[:, :n_bits]
    return W.astype(np.float32), (-(mean @ W)).astype(np.float32)


def _principal(sample: Floats) -> tuple[Doubles, Doubles, Doubles]:
    """The sample, its mean, and as many principal directions (D, rank) as it spans."""
    Z = sample.astype(np.float64)
    mean = Z.mean(axis=0)
    _, scale, directions = np.linalg.svd(Z - mean, full_matrices=False)
    rank = int(np.count_nonzero(scale > max(Z.shape) * np.finfo(np.float32).eps * max(scale[0], 1e-30)))
    # An SVD's signs are arbitrary: let each direction's largest entry be positive.
    V = directions[:rank].T
    return Z, mean, V * np.sign(V[np.abs(V).argmax(axis=0), np.arange(rank)])


def rotation(Y: Doubles, iterations: int, seed: int) -> Doubles:
    """The orthogonal R (K, K) that makes ‖sgn(YR) - YR‖ small, by alternating minimisation."""
    K = Y.shape[1]
    R, _, _ = np.linalg.svd(np.random.default_rng(seed).standard_normal((K, K)))
    for _ in range(iterations):
        B = np.where(Y @ R >= 0, 1.0, -1.0)
        U, _, Vt = np.linalg.svd(Y.T @ B)  # the Procrustes problem: R = U Vᵀ maximises tr(Rᵀ Yᵀ B)
        R = U @ Vt
    return R


def possible_directions(n_init: int, width: int) -> int:
    """How many directions PCA can give."""
    return min(width, n_init - 1)


def check_directions(wanted: int, name: str, n_init: int, width: int) -> None:
    """Refuse more bits than there are directions, and say how many there are."""
    if wanted > (possible := possible_directions(n_init, width)):
        raise InvalidParameterError(
            f"{name}={wanted}, but PCA gives at most min(n_features, n_init - 1) = {possible} directions "
            f"from n_init={n_init} rows (n_samples = {n_init}) of {width} feature(s)"
        )
