import faiss
import numpy as np
import pytest

from onlinehash import InvalidInputError
from onlinehash.hashers.itq import pca_itq, pca_itq_frames, rotation


def error(Y: np.ndarray, R: np.ndarray) -> float:
    """The quantisation error that ITQ makes small."""
    turned = Y @ R
    return float(((np.where(turned >= 0, 1, -1) - turned) ** 2).sum())


@pytest.mark.parametrize("n_bits", [8, 16, 32])
def test_the_rotation_is_as_good_as_that_of_faiss(n_bits: int, rng: np.random.Generator) -> None:
    centres = rng.standard_normal((20, n_bits))
    Y = centres[rng.integers(20, size=2000)] + 0.3 * rng.standard_normal((2000, n_bits))
    Y -= Y.mean(axis=0)
    ours = rotation(Y, 50, seed=0)
    assert np.abs(ours @ ours.T - np.eye(n_bits)).max() < 1e-9

    theirs = faiss.ITQMatrix(n_bits)
    theirs.train(Y.astype(np.float32))
    R = faiss.vector_to_array(theirs.A).reshape(n_bits, n_bits).T.astype(np.float64)
    assert np.abs(R @ R.T - np.eye(n_bits)).max() < 1e-4
    # both end in local minima that depend on where they start
    assert error(Y, ours) < 1.05 * error(Y, R)


def test_more_iterations_lose_less(rng: np.random.Generator) -> None:
    Y = rng.standard_normal((500, 16)) ** 3
    errors = [error(Y, rotation(Y, iterations, seed=0)) for iterations in (0, 1, 5, 50)]
    assert errors == sorted(errors, reverse=True)


def test_directions_are_the_principal_ones_and_thresholds_the_mean(rng: np.random.Generator) -> None:
    scale = np.array([9, 5, 3] + [0.1] * 7)
    Z = (rng.standard_normal((400, 10)) * scale + 2).astype(np.float32)
    W, b = pca_itq(Z, 3, 50, seed=0)
    assert pytest.approx(np.eye(3), abs=1e-5) == W.T @ W
    assert np.linalg.norm(W[:3]) == pytest.approx(np.sqrt(3), rel=1e-2)  # all in the first three axes
    assert (Z @ W + b).mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-4)


def test_more_bits_than_directions_come_from_several_rotations(rng: np.random.Generator) -> None:
    Z = rng.standard_normal((400, 10)).astype(np.float32)
    W, b = pca_itq_frames(Z, 25, 10, seed=0)
    assert W.shape == (10, 25)
    assert b.shape == (25,)
    for first in (0, 10):
        frame = W[:, first : first + 10]
        assert frame.T @ frame == pytest.approx(np.eye(10), abs=1e-5)
    assert np.linalg.matrix_rank(W) == 10
    agreement = np.abs(W.T @ W - np.eye(25))
    assert agreement.max() < 0.999, "a bit is there twice"
    assert pca_itq_frames(Z, 512, 10, seed=0, or_fewer=True)[0].shape == (10, 80)
    alone, _ = pca_itq_frames(Z, 10, 10, seed=0)
    assert (alone == pca_itq(Z, 10, 10, seed=0)[0]).all()
    with pytest.raises(InvalidInputError, match="span 0"):
        pca_itq_frames(np.ones((5, 3), np.float32), 8, 10, seed=0)
