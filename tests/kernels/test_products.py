import numpy as np
import pytest

from onlinehash.kernels.inputs import columns
from onlinehash.kernels.products import add_products, products_numpy


@pytest.mark.parametrize("n", [1, 63, 64, 65, 1000])
def test_equals_the_product_of_matrices(n: int, rng: np.random.Generator) -> None:
    left, right = rng.integers(0, 2, (19, n), np.uint8), rng.integers(0, 2, (37, n), np.uint8)
    signs = [2 * bits.T.astype(np.int8) - 1 for bits in (left, right)]
    sums = np.full((19, 37), 5, np.int32)
    add_products(sums, columns(left), columns(right), n)
    assert (sums == 5 + products_numpy(*signs)).all()
    lower = np.zeros((19, 19), np.int32)
    add_products(lower, columns(left), columns(left), n, lower=True)
    assert (lower == np.tril(products_numpy(signs[0], signs[0]))).all()
