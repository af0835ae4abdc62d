"""Products of panels equal NumPy's, whatever the strides, and for dimensions that make no whole panels."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.kernels.panels import add_product
from onlinehash.kernels.threads import at_most


@given(
    n=st.integers(0, 70), m=st.integers(0, 1100), k=st.sampled_from([1, 16, 31, 32, 64, 96]),
    transposed=st.booleans(), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_equals_numpy(n: int, m: int, k: int, transposed: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    # small integers: sums are exact in any order
    A = rng.integers(-8, 9, (m, n)).astype(np.float32).T if transposed else rng.integers(-8, 9, (n, m))
    A = A.astype(np.float32, copy=False, order="K")
    B, out = (rng.integers(-8, 9, shape).astype(np.float32) for shape in ((m, k), (n, k)))
    expected = out + A.astype(np.float64) @ B
    add_product(out, A, B)
    assert (out == expected).all()


@pytest.mark.parametrize("cores", [1, 2, 3])
def test_on_several_cores(cores: int) -> None:
    rng = np.random.default_rng(0)
    A, B = rng.integers(-8, 9, (1003, 700)).astype(np.float32), rng.integers(-8, 9, (700, 64))
    out = np.ones((1003, 64), np.float32)
    with at_most(cores):
        add_product(out, A, B.astype(np.float32))
    assert (out == 1 + A @ B).all()


def test_views_of_larger_memory() -> None:
    whole = np.random.default_rng(0).integers(-8, 9, (200, 300)).astype(np.float32)
    A, B, out = whole[3:51, 7:107], whole[:100, :32], np.zeros((60, 32), np.float32)
    add_product(out[4:52], A, np.ascontiguousarray(B))
    assert (out[4:52] == A @ B).all()
    assert not out[:4].any()
    assert not out[52:].any()
