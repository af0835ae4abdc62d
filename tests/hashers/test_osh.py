from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import OSH, InvalidParameterError
from onlinehash.hashers.osh import frequent_directions, frequent_directions_loop, principal_directions

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


def test_scatter_about_the_moving_mean_is_exact_while_nothing_is_shrunk(clusters: Clusters) -> None:
    X = clusters[0].astype(np.float64) + 3
    hasher = OSH(4, sketch_size=2000, chunk_size=70, n_init=50, centre=False, unit_norm=False).fit(X)
    centred = X - X.mean(axis=0)
    expected = centred.T @ centred
    # the sketch is kept in float32; the identity itself is exact, as the loop below shows in float64
    assert np.abs(hasher.sketch_.T @ hasher.sketch_ - expected).max() < 1e-5 * np.abs(expected).max()
    np.testing.assert_allclose(hasher.mean_, X.mean(axis=0), rtol=1e-6)

    rows, mean, n = [], np.zeros(X.shape[1]), 0
    for start in range(0, len(X), 70):
        Z = X[start : start + 70]
        m, of_chunk = len(Z), Z.mean(axis=0)
        rows += [Z - of_chunk, np.sqrt(n * m / (n + m)) * (of_chunk - mean)[None]]
        mean, n = (n * mean + m * of_chunk) / (n + m), n + m
    sketch = frequent_directions(np.zeros((0, X.shape[1])), np.concatenate(rows), 4000)
    assert np.abs(sketch.T @ sketch - expected).max() < 1e-10 * np.abs(expected).max()


@pytest.mark.parametrize("size", [10, 24, 40])
def test_the_bound_of_frequent_directions_holds(size: int, clusters: Clusters) -> None:
    A = clusters[0].astype(np.float64)
    B = frequent_directions(np.zeros((0, A.shape[1])), A, size)
    assert len(B) <= size
    lost = np.linalg.eigvalsh(A.T @ A - B.T @ B)
    assert lost.min() > -1e-8 * np.linalg.norm(A) ** 2
    assert lost.max() <= 2 / size * np.linalg.norm(A) ** 2


def test_equals_the_published_loop_in_any_chunks(clusters: Clusters) -> None:
    A = clusters[0][:400].astype(np.float64)
    empty = np.zeros((0, A.shape[1]))
    expected = frequent_directions_loop(empty, A, 24)
    for size in (1, 7, 400):
        B = empty
        for start in range(0, len(A), size):
            B = frequent_directions(B, A[start : start + size], 24)
        assert np.abs(B.T @ B - expected.T @ expected).max() < 1e-8 * np.linalg.norm(expected) ** 2


def test_directions_of_the_whole_stream_are_found(rng: np.random.Generator) -> None:
    """State lives on between calls: directions that only early chunks had are still there."""
    A = rng.standard_normal((600, 30)) * 0.1
    A[:100, 0] += 5 * rng.standard_normal(100)
    A[500:, 1] += 5 * rng.standard_normal(100)
    hasher = OSH(2, sketch_size=20, chunk_size=50, n_init=50, centre=False, unit_norm=False)
    for start in range(0, 600, 50):
        hasher.partial_fit(A[start : start + 50])
    V = principal_directions(hasher.sketch_, 2)
    assert V is not None
    assert np.abs(V[:2]).max(axis=0).min() > 0.99
    assert hasher.n_sketched_ == 600


def test_a_fixed_rotation_leaves_bits_in_peace(clusters: Clusters) -> None:
    X, _ = clusters
    flipped = {}
    for rotation in ("fixed", "redrawn"):
        hasher: Any = OSH(8, rotation=rotation, chunk_size=100, n_init=100)
        before = hasher.partial_fit(X[:1400]).encode(X)
        flipped[rotation] = np.unpackbits(before ^ hasher.partial_fit(X[1400:]).encode(X)).mean()
    assert flipped["redrawn"] > 0.3
    assert flipped["fixed"] < 0.6 * flipped["redrawn"]


def test_a_stream_of_few_directions_is_hashed_at_random_until_there_are_more(
    rng: np.random.Generator,
) -> None:
    X = np.outer(rng.standard_normal(100), np.ones(20)).astype(np.float32)
    hasher = OSH(8, chunk_size=50, n_init=50, unit_norm=False).partial_fit(X)
    W = hasher.W_
    hasher.partial_fit(rng.standard_normal((50, 20)))
    assert (hasher.W_ != W).any()


@pytest.mark.parametrize(
    ("hasher", "says"),
    [
        (OSH(8, sketch_size=15), "sketch_size must be even"),
        (OSH(8, sketch_size=12), "n_bits=8.*sketch_size=12.*= 6"),
        (OSH(41), "n_bits=41.*= 40 directions"),
        (OSH(8, rotation="other"), 'rotation must be "fixed" or "redrawn"'),  # type: ignore[arg-type]
        (OSH(8, chunk_size=0), "chunk_size must be an int of 1 or more"),
    ],
)
def test_impossible_parameters(hasher: OSH, says: str, clusters: Clusters) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        hasher.partial_fit(clusters[0])
