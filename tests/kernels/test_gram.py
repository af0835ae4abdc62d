import numpy as np
import pytest

from onlinehash.kernels.gram import lower_gram
from onlinehash.memory import aligned_empty


@pytest.mark.parametrize("n", [1, 3, 4, 36, 48, 64])
@pytest.mark.parametrize("width", [5, 1000, 1024, 1040, 4096])
@pytest.mark.parametrize("aligned", [True, False])
def test_the_lower_triangle_is_that_of_the_product(
    n: int, width: int, aligned: bool, rng: np.random.Generator
) -> None:
    Z = rng.standard_normal((n, width), np.float32)
    if aligned:
        memory = aligned_empty((n, width), np.float32)
        memory[...] = Z
        Z = memory
    exact = Z.astype(np.float64) @ Z.astype(np.float64).T
    assert np.tril(lower_gram(Z)) == pytest.approx(np.tril(exact), abs=1e-3)


def test_strided_rows(rng: np.random.Generator) -> None:
    Z = rng.standard_normal((48, 4096), np.float32)[:, ::2]
    assert np.tril(lower_gram(Z)) == pytest.approx(np.tril(Z @ Z.T), abs=1e-3)
