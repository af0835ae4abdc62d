"""Shared by all tests: one BLAS thread a process, and reproducible property tests."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import settings

pytest_plugins = ["tests.on_ray"]

# Kernels compile on first use, so a deadline would measure the compiler.
settings.register_profile("onlinehash", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("onlinehash")


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def clusters() -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]:
    """1,500 rows of 40 features around 6 overlapping centres, and their multi-hot labels."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((6, 40))
    Y: npt.NDArray[Any] = np.zeros((1500, 6), np.int64)
    Y[np.arange(1500), rng.integers(6, size=1500)] = 1
    Y[np.arange(0, 1500, 3), rng.integers(6, size=500)] = 1
    X = (Y / Y.sum(axis=1, keepdims=True)) @ centres + 1.6 * rng.standard_normal((1500, 40))
    return X.astype(np.float32), Y
