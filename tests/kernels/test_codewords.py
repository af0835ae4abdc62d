import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.kernels.codewords import learn_codewords, learn_codewords_numpy


@given(
    n=st.integers(1, 150), width=st.integers(1, 40), n_bits=st.integers(1, 40), boost=st.booleans(),
    seed=st.integers(0, 99),
)  # fmt: skip
def test_equals_the_published_loop(n: int, width: int, n_bits: int, boost: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, width))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    codewords = np.where(rng.random((5, n_bits)) < 0.5, -1.0, 1.0)
    counts = rng.integers(0, 4, n)  # several labels a row, or none
    starts = np.concatenate([[0], np.cumsum(counts)])
    of_row = rng.integers(0, 5, starts[-1])
    W = rng.standard_normal((width, n_bits)) / np.sqrt(width)
    expected = W.copy()
    learn_codewords_numpy(expected, Z, codewords, of_row, starts, 0.1, boost)
    learn_codewords(W, Z, codewords, of_row, starts, 0.1, boost)
    np.testing.assert_allclose(W, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("boost", [False, True])
def test_long_rows_and_a_large_step_stay_finite(boost: bool, rng: np.random.Generator) -> None:
    Z = 100 * rng.standard_normal((50, 8))
    W = np.zeros((8, 16))
    codewords = np.where(rng.random((2, 16)) < 0.5, -1.0, 1.0)
    learn_codewords(W, Z, codewords, np.arange(50) % 2, np.arange(51), 10.0, boost)
    assert np.isfinite(W).all()
