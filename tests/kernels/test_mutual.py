from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.kernels.mutual import (
    Rule,
    _gradient,
    _relax,
    information_numpy,
    learn_mutual,
    learn_mutual_numpy,
    relaxed_numpy,
)

Array = npt.NDArray[Any]


def unit(rng: np.random.Generator, n: int, width: int) -> Array:
    Z = rng.standard_normal((n, width))
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    return Z


@given(seed=st.integers(0, 30), n_bits=st.sampled_from([8, 16, 33]))
def test_gradient_is_that_of_the_objective(seed: int, n_bits: int) -> None:
    rng = np.random.default_rng(seed)
    W, z, reservoir = rng.standard_normal((10, n_bits)), unit(rng, 1, 10)[0], unit(rng, 40, 10)
    similar = rng.random(40) < 0.3
    rule = Rule(3.0, 1.0, 8, False)
    gradient = np.outer(z, _gradient(W, z, reservoir, similar, rule))
    direction = rng.standard_normal(W.shape)
    # the reservoir's codes are held constant: only the sample's own code may move with W
    e = 1e-6
    own, scores = relaxed_numpy(z @ W, 3.0), reservoir @ W
    changed = [relaxed_numpy(z @ (W + sign * e * direction), 3.0) for sign in (1, -1)]
    higher, lower = (_information(code, scores, similar, rule) for code in changed)
    numeric = (higher - lower) / (2 * e)
    at = (n_bits - relaxed_numpy(scores, 3.0) @ own) / 2 * rule.bins / n_bits
    if np.abs(at - np.rint(at)).min() > 1e-4:  # the histogram's edges are kinks
        assert abs(numeric - (gradient * direction).sum()) < 1e-5 * max(1.0, abs(numeric))


def _information(own: Array, scores: Array, similar: Array, rule: Rule) -> float:
    """The objective from its definition, by way of a W that gives these relaxed codes."""
    logits = np.log((1 + own) / (1 - own)) / rule.sharpness
    stacked = np.vstack([logits, scores])  # as features: the identity picks each row
    eye = np.eye(len(stacked))
    return information_numpy(stacked, eye[0], eye[1:], similar, rule)


@pytest.mark.parametrize("released", [False, True])
@pytest.mark.parametrize("n_bits", [6, 32, 70])
def test_equals_the_published_loop(released: bool, n_bits: int, rng: np.random.Generator) -> None:
    n, width, size = 300, 24, 40
    Z = unit(rng, n, width).astype(np.float32)
    masks = (np.uint64(1) << rng.integers(0, 4, (n, 1)).astype(np.uint64)).astype(np.uint64)
    slots = np.where(np.arange(n) < size, np.arange(n), -1)
    late = rng.choice(np.arange(size, n), 60, replace=False)
    slots[late] = rng.integers(0, size, 60)
    W = rng.standard_normal((width, n_bits)).astype(np.float32)
    rule = Rule(4.0, 0.5, min(16, n_bits), released)
    found: list[tuple[Any, ...]] = []
    for learn, dtype in ((learn_mutual_numpy, np.float64), (learn_mutual, np.float32)):
        moved: Any = W.astype(dtype)
        reservoir: Any = np.zeros((size, width), dtype)
        reservoir_masks = np.zeros((size, 1), np.uint64)
        learn(moved, Z.astype(dtype), masks, reservoir, reservoir_masks, slots, 0, rule)
        found.append((moved, reservoir, reservoir_masks))
    moved_by = np.linalg.norm(found[0][0] - W)
    assert np.linalg.norm(found[0][0] - found[1][0]) < 1e-3 * moved_by
    assert np.allclose(found[0][1], found[1][1])
    assert (found[0][2] == found[1][2]).all()


def test_the_released_gradient_is_a_quarter_of_the_exact_one_and_a_pull_of_all_bits_alike() -> None:
    rng = np.random.default_rng(3)
    W, z, reservoir = rng.standard_normal((30, 32)), unit(rng, 1, 30)[0], unit(rng, 200, 30)
    similar = rng.random(200) < 0.3
    exact, released = (
        _gradient(W, z, reservoir, similar, Rule(4.0, 1.0, 16, which)) for which in (False, True)
    )
    rest = (released - exact / 4) / (1 - relaxed_numpy(z @ W, 4.0) ** 2)
    np.testing.assert_allclose(rest, rest[0], rtol=1e-9)


def test_fast_sigmoid() -> None:
    scores = np.linspace(-50, 50, 100_001).astype(np.float32)
    relaxed = np.empty_like(scores)
    _relax(scores, np.float32(1), relaxed)
    assert np.abs(relaxed - relaxed_numpy(scores.astype(np.float64), 1.0)).max() < 5e-7
