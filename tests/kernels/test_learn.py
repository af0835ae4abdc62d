from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from river.linear_model import PAClassifier
from sklearn.linear_model import SGDClassifier

from onlinehash.kernels.learn import RULES, Learner, Rule, learn_numpy

Array = npt.NDArray[Any]


def stream(n: int, width: int, n_bits: int, seed: int = 0, unit: bool = True) -> tuple[Array, Array]:
    """Rows and learnable, noisy targets."""
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, width)) + 0.3
    if unit:
        Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    scores = Z @ rng.standard_normal((width, n_bits))
    targets = np.where(scores + scores.std() * rng.standard_normal(scores.shape) >= 0, 1.0, -1.0)
    return Z.astype(np.float32), targets.astype(np.float32)


def learnt(M: Array, Z: Array, g: Array, C: float, rule: Rule, chunk: int, averaged: bool = True) -> Learner:
    learner = Learner.start(M.copy(), C, rule, averaged)
    for start in range(0, len(Z), chunk):
        learner.learn(Z[start : start + chunk], g[start : start + chunk])
    return learner


def off(given: Array, expected: Array) -> float:
    return float(np.linalg.norm(given - expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("width", [64, 300])
def test_equals_the_loop_in_float64_after_20_000_samples(rule: Rule, width: int) -> None:
    Z, g = stream(20_000, width, 24)
    M = np.random.default_rng(1).standard_normal((width, 24)).astype(np.float32)
    last, mean = learn_numpy(M.astype(float), Z.astype(float), g.astype(float), 0.1, rule)
    for chunk in (20_000, 999):
        learner = learnt(M, Z, g, 0.1, rule, chunk)
        assert off(learner.M, last) < 1e-4
        assert learner.mean is not None
        assert off(learner.mean, mean) < 1e-4
        assert learner.seen == 20_000


@given(
    chunk=st.integers(1, 400), rule=st.sampled_from(RULES), C=st.sampled_from([1e-3, 0.1, 1.0, 10.0]),
    width=st.integers(1, 300), n_bits=st.integers(1, 70), seed=st.integers(0, 99),
)  # fmt: skip
def test_any_chunking_any_shape(chunk: int, rule: Rule, C: float, width: int, n_bits: int, seed: int) -> None:
    Z, g = stream(400, width, n_bits, seed)
    Z[seed % 400] = 0  # a row on the centre teaches nothing, and divides nothing by zero
    M = np.random.default_rng(seed).standard_normal((width, n_bits)).astype(np.float32)
    last, mean = learn_numpy(M.astype(float), Z.astype(float), g.astype(float), C, rule)
    learner = learnt(M, Z, g, C, rule, chunk)
    assert off(learner.M, last) < 1e-3
    assert off(learner.projection, mean) < 1e-3
    plain = learnt(M, Z, g, C, rule, chunk, averaged=False)
    assert plain.mean is None
    assert off(plain.projection, last) < 1e-3


@pytest.mark.parametrize("C", [0.01, 0.1, 1.0])
def test_equals_scikit_learn_and_river_bit_by_bit(C: float) -> None:
    Z, g = stream(600, 20, 5, unit=False)
    learner = learnt(np.zeros((20, 5), np.float32), Z, g, C, "paper", 600, averaged=False)
    pa: Any = PAClassifier
    for bit in range(5):
        sgd = SGDClassifier(
            loss="hinge", penalty=None, learning_rate="pa1", eta0=C, fit_intercept=False, shuffle=False
        )
        sgd.partial_fit(Z.astype(np.float64), g[:, bit], classes=[-1, 1])
        assert off(learner.M[:, bit], sgd.coef_[0]) < 1e-4

        river: Any = pa(C=C, mode=1, learn_intercept=False)
        for z, target in zip(Z.tolist(), g[:, bit], strict=True):
            river.learn_one(dict(enumerate(z)), bool(target > 0))
        assert off(learner.M[:, bit], np.array([river.weights[j] for j in range(20)])) < 1e-4


@given(
    seed=st.integers(0, 10_000), n=st.integers(1, 300), width=st.integers(1, 20),
    C=st.sampled_from([0.001, 0.1, 1.0, 100.0]), noise=st.floats(0, 1), scale=st.sampled_from([0.1, 1, 30]),
    codes=st.booleans(),
)  # fmt: skip
def test_theorems_1_and_2_bound_the_mistakes(
    seed: int, n: int, width: int, C: float, noise: float, scale: float, codes: bool
) -> None:
    """For P (codes, Theorem 1) and R (features, Theorem 2), on any stream and for any comparator u:

    mistakes ≤ max{r², 1/C} (‖u - M₀‖² + 2C Σ losses of u), where r is the largest norm of a row.
    The starting point M₀ is 0 in the textbook; the proof telescopes from wherever it is.
    """
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, width)) * scale
    if codes:
        Z = np.where(Z >= 0, 1.0, -1.0)
    u_true = rng.standard_normal((width, 4))
    g = np.where((Z @ u_true >= 0) ^ (rng.random((n, 4)) < noise / 2), 1.0, -1.0)
    M = (rng.standard_normal((width, 4)) * (seed % 3)).astype(np.float32)
    learner = learnt(M, Z.astype(np.float32), g.astype(np.float32), C, "paper", 64, averaged=False)
    radius = (Z**2).sum(axis=1).max()
    best_fit = np.linalg.lstsq(Z, g, rcond=None)[0]
    for u in (np.zeros_like(u_true), u_true, 10 * u_true, best_fit, 3 * best_fit):
        losses = np.maximum(0, 1 - g * (Z @ u)).sum(axis=0)
        bound = max(radius, 1 / C) * (((u - M) ** 2).sum(axis=0) + 2 * C * losses)
        assert (learner.mistakes <= bound * (1 + 1e-4) + 1e-6).all()


@pytest.mark.parametrize("rule", RULES)
def test_mistakes_and_losses_are_those_before_each_step(rule: Rule) -> None:
    Z, g = stream(200, 12, 6)
    M = np.random.default_rng(1).standard_normal((12, 6))
    learner = learnt(M.astype(np.float32), Z, g, 0.1, rule, 33)
    mistakes, losses = np.zeros(6), np.zeros(6)
    for t in range(200):
        before, _ = learn_numpy(M, Z[:t].astype(float), g[:t].astype(float), 0.1, rule)
        scores = Z[t] @ before
        mistakes += (scores >= 0) != (g[t] > 0)
        losses += np.maximum(0, 1 - g[t] * scores)
    assert (learner.mistakes == mistakes).all()
    assert learner.losses == pytest.approx(losses, rel=1e-4)


def test_the_released_rule_is_the_authors_formula() -> None:
    # one step by hand: m = 3, q = 4, so 1 - m/q = 1/4; beyond the margin, m = 8: 1 - 8/4 = -1
    z = np.ones((1, 4), np.float32)
    for m, C, step in ((3, 1.0, 0.25), (3, 0.1, 0.1), (8, 1.0, -1.0)):
        M = np.full((4, 1), m / 4, np.float32)
        for rule, expected in (("released", step), ("floored", max(0.0, step))):
            learner = learnt(M, z, np.ones((1, 1), np.float32), C, rule, 1, averaged=False)  # type: ignore[arg-type]
            assert learner.M[:, 0] == pytest.approx(m / 4 + expected)


@pytest.mark.parametrize("rule", ["paper", "floored"])
def test_steps_lie_between_0_and_C(rule: Rule) -> None:
    Z, g = stream(100, 10, 8)
    learner = Learner.start(np.zeros((10, 8), np.float32), 0.05, rule, False)
    for z, target in zip(Z, g, strict=True):
        before = learner.M.copy()
        learner.learn(z[None], target[None])
        steps = (learner.M - before).T @ z * target / (z @ z)
        assert (steps >= -1e-6).all()
        assert (steps <= 0.05 + 1e-6).all()
