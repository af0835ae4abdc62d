"""What all hashers share: scikit-learn's checks, ours, and the initial sample's rules."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from onlinehash import (
    BSODH,
    ITQ,
    LSH,
    OHWEU,
    OKH,
    OSH,
    InvalidInputError,
    InvalidParameterError,
    MIHash,
    NotInitializedError,
    OnlineHashError,
    OSupH,
    check_hasher,
)

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

# scikit-learn's data sets have as little as one feature and a dozen rows.
SMALL = [
    ITQ(1), LSH(8), OHWEU(8), OHWEU(4, learner="pa", rule="released", average=False),
    OSH(1, chunk_size=10), OKH(8), OSupH(8), OSupH(4, rule="boost"), MIHash(8, chunk_size=7),
    BSODH(8, chunk_size=10),
]  # fmt: skip


@parametrize_with_checks(SMALL)  # type: ignore[untyped-decorator]  # no exceptions: all checks pass
def test_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


HASHERS = [
    ITQ(12, n_init=50),
    LSH(70, n_init=50),
    OHWEU(20, n_init=60),
    OHWEU(70, base_bits=13, targets="gaussian", n_init=60, unit_norm=False),
    OHWEU(20, learner="pa", n_init=60),
    OHWEU.as_published(20).set_params(n_init=50),
    OHWEU(
        9,
        base_bits=13,
        learner="pa",
        rule="released",
        average=False,
        n_init=100,
        centre=False,
        unit_norm=False,
    ),
    OHWEU(33, base_bits=8, pairs=False, n_init=2 * 33, centre=np.full(24, 0.1)),
    OSH(12, n_init=50, chunk_size=40, sketch_size=40),
    OSH(12, n_init=50, chunk_size=48, sketch_size=40, rotation="redrawn"),
    OKH(20, n_init=50),
    OKH(12, n_init=50, bandwidth="released", centre_kernel=False),
    OSupH(20, n_init=50),
    OSupH(12, n_init=50, rule="boost"),
    MIHash(20, n_init=50, reservoir_size=40, chunk_size=30),
    MIHash(12, n_init=50, gradient="released", bins=5, chunk_size=40),
    BSODH(20, n_init=50, chunk_size=40),
    BSODH(12, n_init=50, chunk_size=60, form="released", eta_d="auto"),
]


@pytest.mark.parametrize("hasher", HASHERS, ids=lambda hasher: repr(hasher)[:40])
def test_our_checks(hasher: Any) -> None:
    check_hasher(hasher)


@pytest.mark.parametrize("kind", [ITQ, LSH, OHWEU])
@pytest.mark.parametrize("dtype", [np.float16, np.float64, np.int8, np.uint8])
def test_other_number_types_are_taken(kind: Any, dtype: Any, rng: np.random.Generator) -> None:
    X = rng.integers(0, 100, (80, 12)).astype(dtype)
    hasher = kind(8, n_init=50).partial_fit(X, [i % 3 for i in range(80)])
    same = kind(8, n_init=50).partial_fit(X.astype(np.float32), [i % 3 for i in range(80)])
    assert (hasher.encode(X) == same.encode(X.astype(np.float32))).all()


def test_rows_are_learnt_from_once_the_sample_is_complete(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=300)
    hasher.partial_fit(X[:299], Y[:299])
    with pytest.raises(NotInitializedError, match="needs 300 rows before it can hash, and has 299"):
        hasher.encode(X)
    hasher.partial_fit(X[299:301], Y[299:301])
    assert hasher.n_seen_ == 301
    assert hasher._P.seen == 301
    assert hasher.encode(X[:5]).shape == (5, 2)


def test_initialize_begins_with_the_rows_at_hand_or_with_a_sample(clusters: Clusters) -> None:
    X, Y = clusters
    few = OHWEU(16, n_init=300).partial_fit(X[:100], Y[:100]).initialize()
    assert few.n_seen_ == few._P.seen == 100
    sampled = OHWEU(16, n_init=300).initialize(X[:500])
    assert sampled.n_seen_ == sampled._P.seen == 0
    sampled.partial_fit(X[:100], Y[:100])
    assert sampled._P.seen == 100
    both = OHWEU(16, n_init=300).partial_fit(X[:100], Y[:100]).initialize(X[:500])
    assert (both.encode(X) == sampled.encode(X)).all()
    with pytest.raises(InvalidInputError, match="initialised already"):
        few.initialize(X)
    with pytest.raises(NotInitializedError, match="no rows to initialise from"):
        OHWEU(16).initialize()
    with pytest.raises(InvalidParameterError, match="at most"):
        OHWEU(16, base_bits=None).initialize(X[:16])


def test_fit_forgets_and_a_failed_fit_does_not(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=300).fit(X, Y)
    codes = hasher.encode(X)
    with pytest.raises(InvalidInputError, match="span"):
        hasher.fit(np.ones((400, 40)), Y[:400])
    with pytest.raises(InvalidInputError, match="expected 9 rows"):
        hasher.fit(X[:9, :7], Y[:8])
    assert (hasher.encode(X) == codes).all()
    hasher.fit(X[:, :20], Y)
    assert hasher.n_features_in_ == 20
    assert (hasher.fit(X, Y).encode(X) == codes).all()


def test_a_sample_that_cannot_be_used_is_refused_and_a_better_one_taken(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = ITQ(16, n_init=300)
    with pytest.raises(InvalidInputError, match="span 0"):
        hasher.partial_fit(np.zeros((300, 40)))
    assert hasher.partial_fit(X, Y).n_seen_ == len(X)


def test_centre_and_unit_norm(clusters: Clusters) -> None:
    X, _ = clusters
    shifted, scaled = X + 5, X * np.linspace(0.5, 2, len(X), dtype=np.float32)[:, None]
    own = LSH(32, centre=X.mean(axis=0)).fit(X)
    assert np.unpackbits(own.encode(X) ^ LSH(32, n_init=5000).fit(X).encode(X)).mean() < 1e-3
    assert np.unpackbits(own.encode(X) ^ LSH(32, n_init=5000).fit(shifted).encode(shifted)).mean() < 1e-3
    without = LSH(32, centre=False).fit(X)
    assert (without.encode(X) == without.encode(scaled)).all()
    for centre in ("mean", [1, 2], np.full(40, np.nan)):
        with pytest.raises(InvalidParameterError, match="centre must be True, False or 40"):
            LSH(32, centre=centre).fit(X)


@pytest.mark.parametrize(
    ("hasher", "says"),
    [
        (LSH(0), "n_bits must be from 1 to 4096"),
        (LSH(8.0), "n_bits must be an int"),  # type: ignore[arg-type]
        (LSH(8, n_init=1), "n_init must be an int of 2 or more"),
        (LSH(8, random_state="x"), "random_state must be"),
        (ITQ(40, n_init=40), "n_bits=40.*at most min.*= 39"),
        (ITQ(41), "n_bits=41.*at most min.*= 40"),
        (OHWEU(8, base_bits=0), "base_bits must be from 1 to 4096"),
        (OHWEU(8, base_bits=2048), "base_bits=2048 gives P 9216 inputs"),
        (OHWEU(64, base_bits=None), "n_bits=64.*at most min.*= 40"),
        (OHWEU(8, rule="other"), "rule must be one of paper, released, floored"),  # type: ignore[arg-type]
        (OHWEU(8, start="zero"), "start must be one of base, random"),  # type: ignore[arg-type]
        (OHWEU(8, learner="none"), "learner must be one of ridge, pa"),  # type: ignore[arg-type]
        (OHWEU(8, targets="none"), "targets must be one of orthogonal, gaussian"),  # type: ignore[arg-type]
        (OHWEU(8, C_P=0), "C_P must be a finite number above 0"),
        (OHWEU(8, C_R=float("nan")), "C_R must be a finite number above 0"),
    ],
)
def test_impossible_parameters_are_refused_at_the_first_row(
    hasher: Any, says: str, clusters: Clusters
) -> None:
    X, Y = clusters
    with pytest.raises(InvalidParameterError, match=says):
        hasher.partial_fit(X[:1], Y[:1])
    with pytest.raises(OnlineHashError):
        hasher.encode(X)


def test_random_states(clusters: Clusters) -> None:
    X, _ = clusters
    assert (LSH().fit(X).encode(X) == LSH().fit(X).encode(X)).all()
    for make in (lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)):
        one, same = (LSH(random_state=make()).fit(X).encode(X) for _ in range(2))
        assert (one == same).all()
    free, other = (LSH(random_state=None).fit(X).encode(X) for _ in range(2))
    assert (free != other).any()


def test_scikit_learn_pipelines_and_searches(clusters: Clusters) -> None:
    X, Y = clusters
    y = Y.argmax(axis=1)
    pipeline = make_pipeline(StandardScaler(), OHWEU(24, n_init=200), KNeighborsClassifier(metric="hamming"))
    search = GridSearchCV(pipeline, {"ohweu__n_bits": [8, 24]}, cv=2).fit(X, y)
    assert search.score(X, y) > 0.6
    assert OHWEU(3, n_init=50).fit(X, y).get_feature_names_out().tolist() == ["ohweu0", "ohweu1", "ohweu2"]
