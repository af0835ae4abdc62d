import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.kernels.hash import centred, centred_numpy, sign_of_product, sign_of_product_numpy


@given(
    n=st.integers(1, 60), width=st.integers(1, 200), n_bits=st.integers(1, 130),
    whole=st.booleans(), threshold=st.booleans(), seed=st.integers(0, 99),
)  # fmt: skip
def test_equals_its_float64_twin(
    n: int, width: int, n_bits: int, whole: bool, threshold: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    Z, W = rng.standard_normal((n, width)), rng.standard_normal((width, n_bits))
    if whole:  # many scores are exactly 0
        Z, W = np.rint(Z), np.rint(W)
    b = rng.standard_normal(n_bits).astype(np.float32) if threshold else None
    Z32, W32 = Z.astype(np.float32), W.astype(np.float32)
    assert (sign_of_product(Z32, W32, b) == sign_of_product_numpy(Z32, W32, b)).all()


@pytest.mark.parametrize("width", [512, 4096])
def test_a_code_does_not_depend_on_the_batch(width: int, rng: np.random.Generator) -> None:
    Z = rng.standard_normal((300, width)).astype(np.float32)
    W = rng.standard_normal((width, 256)).astype(np.float32)
    # half of the rows lie so close to a threshold that float32 cannot tell the side
    Z[::2] -= np.outer(Z[::2] @ W[:, 0], W[:, 0]) / (W[:, 0] @ W[:, 0])
    together = sign_of_product(Z, W)
    assert (together == sign_of_product_numpy(Z, W)).all()
    for size in (1, 2, 3, 17, 64):
        parts = [sign_of_product(Z[i : i + size], W) for i in range(0, 300, size)]
        assert (np.concatenate(parts) == together).all()


@given(n=st.integers(1, 20), width=st.integers(1, 300), unit_norm=st.booleans(), seed=st.integers(0, 99))
def test_centring_equals_its_twin(n: int, width: int, unit_norm: bool, seed: int) -> None:
    X = np.random.default_rng(seed).standard_normal((n, width)).astype(np.float32) * 10
    centre = X[0].copy()  # the first row becomes 0 and stays 0
    Z = centred(X, centre, unit_norm)
    assert pytest.approx(centred_numpy(X, centre, unit_norm), rel=1e-5) == Z
    assert not Z[0].any()
    assert Z.ctypes.data % 64 == 0
