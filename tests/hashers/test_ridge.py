import numpy as np
import pytest

from onlinehash.hashers.ridge import CodeRidge, FeatureRidge, principal_first


def test_targets_of_0_teach_the_inputs_and_nothing_else(rng: np.random.Generator) -> None:
    H = rng.integers(0, 256, (300, 2), np.uint8)
    learner = CodeRidge.start(16, True, 3)
    targets = rng.integers(-1, 2, (300, 3)).astype(np.float32)
    targets[:, 2] = 0
    learner.learn(H, targets)
    assert learner.seen == 300
    assert (learner.projection[:, :2] != 0).any()
    assert (learner.projection[:, 2] == 0).all()


def test_a_prior_is_what_is_used_first_and_fades(rng: np.random.Generator) -> None:
    H = rng.integers(0, 256, (2000, 2), np.uint8)
    bits = np.unpackbits(H, axis=1)
    first, later = (2.0 * bits[:, :4] - 1).astype(np.float32), (2.0 * bits[:, 4:8] - 1).astype(np.float32)
    learner = CodeRidge.start(16, False, 4)
    learner.learn(H, first)
    learner.sums.become_prior()
    assert learner.seen == 0
    signs = 2.0 * bits - 1
    assert (signs @ learner.projection).std(axis=0) == pytest.approx(np.ones(4), rel=1e-3)
    for n, follows in ((0, first), (1, first), (300, later)):
        learner.learn(H[:n], later[:n])
        agree = (signs @ learner.projection >= 0) == (follows > 0)
        assert agree.mean() > 0.9


def test_features_in_other_units_teach_the_same(rng: np.random.Generator) -> None:
    Z = (rng.standard_normal((300, 20)) + 0.5).astype(np.float32)
    targets = np.where(rng.standard_normal((300, 4)) + Z[:, :4] > 0.7, 1, -1).astype(np.float32)
    one, large = FeatureRidge.start(Z, 4, 0), FeatureRidge.start(64 * Z, 4, 0)
    one.learn(Z, targets)
    large.learn(64 * Z, targets)
    assert 64 * large.projection == pytest.approx(one.projection, rel=1e-4)
    assert large.offset == pytest.approx(one.offset, rel=1e-4)


def test_directions_are_principal_then_random(rng: np.random.Generator) -> None:
    sample = (rng.standard_normal((30, 50)) * np.linspace(5, 0.1, 50)).astype(np.float32)
    Q = principal_first(sample, 40, 0)
    assert pytest.approx(np.eye(40), abs=1e-5) == Q.T @ Q
    centred = sample - sample.mean(axis=0)
    assert np.linalg.norm(centred @ Q[:, :29]) == pytest.approx(np.linalg.norm(centred), rel=1e-5)
    assert Q.shape == (50, 40)


def test_older_rows_weigh_less(rng: np.random.Generator) -> None:
    Z = rng.standard_normal((2500, 20)).astype(np.float32)
    targets = np.where(rng.standard_normal((2500, 4)) > 0, 1, -1).astype(np.float32)
    learner = FeatureRidge.start(Z, 4, 0, half_life=1024)
    learner.learn(Z, targets)
    weights = np.repeat((0.25, 0.5, 1.0), (1024, 1024, 452))[:, None]
    assert learner.sums.gram[:20, :20] == pytest.approx(Z.T @ (weights * Z), rel=1e-4)
    assert learner.sums.cross[:20] == pytest.approx(Z.T @ (weights * targets), rel=1e-4, abs=1e-3)
    H = rng.integers(0, 256, (2500, 2), np.uint8)
    of_codes = CodeRidge.start(16, False, 4, half_life=1024)
    of_codes.learn(H, targets)
    signs = 2.0 * np.unpackbits(H, axis=1) - 1
    assert np.tril(of_codes.sums.gram) == pytest.approx(np.tril(signs.T @ (weights * signs)))
    assert of_codes.sums.cross == pytest.approx(signs.T @ (weights * targets))
