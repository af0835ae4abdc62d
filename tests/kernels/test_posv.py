"""Solving with LAPACK while other threads go on."""

import threading
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import OnlineHashError
from onlinehash.kernels.posv import solve_positive


@given(st.integers(1, 40), st.integers(1, 9), st.integers(0, 99))
def test_as_numpy_solves(n: int, k: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    A, right = rng.standard_normal((n, n)), rng.standard_normal((n, k))
    G = A @ A.T + np.eye(n)
    upper_does_not_count = np.tril(G) + np.triu(rng.standard_normal((n, n)), 1)
    np.testing.assert_allclose(solve_positive(upper_does_not_count, right), np.linalg.solve(G, right), 1e-8)


def test_what_cannot_be_solved_is_refused() -> None:
    with pytest.raises(OnlineHashError, match="minor 2"):
        solve_positive(np.diag([1.0, -1.0, 1.0]), np.ones((3, 1)))
    for G in (np.eye(3, dtype=np.float32), np.eye(4)[:3], np.asfortranarray(np.ones((3, 3)))[:, ::-1]):
        with pytest.raises(ValueError, match="C-contiguous"):
            solve_positive(G, np.ones((3, 1)))  # type: ignore[arg-type]


def test_another_thread_goes_on_meanwhile() -> None:
    n = 1500
    G, right = np.eye(n) * n + 1.0, np.ones((n, 8))
    solve_positive(np.eye(2), np.ones((2, 1)))  # its address is looked up
    steps: list[float] = []
    done = threading.Event()

    def walk() -> None:
        while not done.is_set():
            steps.append(time.perf_counter())
            time.sleep(0)

    walker = threading.Thread(target=walk)
    walker.start()
    began = time.perf_counter()
    solve_positive(G, right)
    ended = time.perf_counter()
    done.set()
    walker.join()
    assert sum(began < step < ended for step in steps) > 3
