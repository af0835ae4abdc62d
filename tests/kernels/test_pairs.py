from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.kernels.pairs import learn_pairs, learn_pairs_numpy


def pairs(n: int, width: int, n_bits: int, seed: int) -> tuple[npt.NDArray[Any], ...]:
    rng = np.random.default_rng(seed)
    W = rng.standard_normal((width, n_bits))
    return W, rng.standard_normal((2 * n, width)), rng.random(n) < 0.5


@given(
    n=st.integers(1, 30), width=st.integers(1, 20), n_bits=st.integers(1, 40), C=st.sampled_from([0.01, 1.0]),
    alpha=st.sampled_from([0.0, 2.0]), beta=st.floats(0.1, 1.0), seed=st.integers(0, 99),
)  # fmt: skip
def test_equals_the_twin(
    n: int, width: int, n_bits: int, C: float, alpha: float, beta: float, seed: int
) -> None:
    W, Z, alike = pairs(n, width, n_bits, seed)
    expected = W.copy()
    learn_pairs_numpy(expected, Z, alike, C, alpha, beta)
    learn_pairs(W, Z, alike, C, alpha, beta)
    np.testing.assert_allclose(W, expected, rtol=1e-9, atol=1e-9)


@given(n_bits=st.integers(1, 40), same=st.booleans(), seed=st.integers(0, 99))
def test_an_uncapped_step_takes_the_structured_loss_to_zero(n_bits: int, same: bool, seed: int) -> None:
    """With h and g as they were before the step, which is what passive-aggressive promises."""
    W, Z, _ = pairs(1, 12, n_bits, seed)
    before = W.copy()
    learn_pairs(W, Z, np.array([same]), 1e9, 0.0, 0.5)
    h = np.where(Z @ before >= 0, 1.0, -1.0)
    distance = int((h[0] != h[1]).sum())
    loss = max(0.0, distance if same else 0.5 * n_bits - distance)
    if loss == 0:
        assert (before == W).all()
        return
    # W moved by z (g - h)ᵀ: which bits of which side were turned shows in the step itself
    step, *_ = np.linalg.lstsq(Z.T, W - before, rcond=None)
    turned = np.abs(step) > 1e-9
    assert turned.sum() == int(np.ceil(loss))
    g = np.where(turned, -h, h)
    structured = ((h - g) * (Z @ W)).sum() + np.sqrt(loss)
    assert abs(structured) < 1e-6
