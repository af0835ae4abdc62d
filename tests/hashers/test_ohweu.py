from hashlib import blake2b
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import ITQ, OHWEU, HammingRanking, InvalidInputError, InvalidParameterError
from onlinehash.codes import packed_to_signs
from onlinehash.kernels.inputs import pairs_of_bits
from onlinehash.kernels.learn import Learner, learn_numpy
from onlinehash.targets import LabelCodes

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


def score(hasher: OHWEU | ITQ, X: npt.NDArray[np.float32], Y: npt.NDArray[np.int64], **how: bool) -> float:
    """mAP of 300 queries, expected over tie orders."""
    queries = hasher.encode_query(X[:300], **how)
    return HammingRanking(
        queries, hasher.encode(X[300:]), Y[:300], Y[300:], n_bits=hasher.n_bits
    ).mean_average_precision()


def test_the_equations_one_by_one(clusters: Clusters) -> None:
    """h = sgn(Wᵀz + b), g = sgn(Pᵀh), g_q = sgn(Rᵀz), P and R by Eq. 13 and 14 towards sgn(Lᵀy)."""
    X, Y = clusters
    hasher = OHWEU.as_published(24).set_params(n_init=300)
    hasher.partial_fit(X[:300])
    P, R = hasher.P_.astype(float), hasher.R_.astype(float)
    hasher.partial_fit(X, Y)

    Z = X.astype(float) - X[:300].astype(float).mean(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    H = np.where(Z @ hasher.W_ + hasher.b_ >= 0, 1.0, -1.0)
    codes = LabelCodes(24, hasher.seed_)
    hasher_L = dict(zip(hasher.label_codes_.labels, hasher.label_codes_.L, strict=True))
    L = np.array([hasher_L[j] for j in range(6)])
    targets = np.where(Y @ L >= 0, 1.0, -1.0)
    assert codes.n_bits == 24
    P, _ = learn_numpy(P, H, targets, 0.1, "paper")
    R, _ = learn_numpy(R, Z, targets, 0.1, "paper")

    assert (packed_to_signs(hasher.hash(X), 24) == H).all()
    assert pytest.approx(P, abs=1e-4) == hasher.P_
    assert pytest.approx(R, abs=1e-4) == hasher.R_
    live, queries = H @ P, Z @ R
    assert ((packed_to_signs(hasher.encode(X), 24) > 0) == (live >= 0))[np.abs(live) > 1e-3].all()
    assert ((packed_to_signs(hasher.encode_query(X), 24) > 0) == (queries >= 0))[np.abs(queries) > 1e-3].all()


def test_refreshing_needs_base_codes_only(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(32, n_init=200).partial_fit(X[:700], Y[:700])
    base = hasher.hash(X)
    live = hasher.project(base)
    assert (live == hasher.encode(X)).all()
    hasher.partial_fit(X[700:], Y[700:])
    assert (hasher.hash(X) == base).all(), "base codes never change"
    refreshed = hasher.project(base)
    assert (refreshed != live).any()
    assert (refreshed == hasher.encode(X)).all()
    assert (np.concatenate([hasher.project(base[i : i + 1]) for i in range(50)]) == refreshed[:50]).all()
    with pytest.raises(InvalidInputError, match="base codes: expected packed"):
        hasher.project(live)


def test_labels_are_learnt(clusters: Clusters) -> None:
    X, Y = clusters
    itq = score(ITQ(32).fit(X[300:]), X, Y)
    learnt = OHWEU(32, n_init=300).fit(X[300:], Y[300:])
    assert score(learnt, X, Y) > itq + 0.15
    assert score(learnt, X, Y, symmetric=True) > itq + 0.1


@pytest.mark.parametrize("symmetric", [False, True])
def test_from_the_first_label_on_it_is_no_worse_than_itq(clusters: Clusters, symmetric: bool) -> None:
    X, Y = clusters
    itq = score(ITQ(32).fit(X[300:]), X, Y)
    hasher = OHWEU(32, n_init=300).initialize(X[300:])
    base = hasher.hash(X[300:])
    for first, last in ((0, 0), (0, 1), (1, 5), (5, 25), (25, 100), (100, 300)):
        if last:
            hasher.partial_fit(X[300 + first : 300 + last], Y[300 + first : 300 + last])
        assert (hasher.project(base) == hasher.encode(X[300:])).all()
        assert score(hasher, X, Y, symmetric=symmetric) > itq - 0.01
    assert score(hasher, X, Y, symmetric=symmetric) > itq + 0.1
    unlabelled = OHWEU(32, n_init=300).fit(X[300:])
    assert (unlabelled.encode(X) == unlabelled.fit(X[300:], [[]] * 1200).encode(X)).all()


def test_a_symmetric_query_is_an_item(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(32, n_init=300).fit(X, Y)
    assert (hasher.encode_query(X, symmetric=True) == hasher.encode(X)).all()
    assert (hasher.encode_query(X) != hasher.encode(X)).any()


def test_base_bits(clusters: Clusters) -> None:
    X, Y = clusters
    assert OHWEU(16, base_bits=None).fit(X, Y).base_bits_ == 16
    assert OHWEU(16, base_bits=30).fit(X, Y).base_bits_ == 30
    assert OHWEU(16).fit(X, Y).base_bits_ == 320  # eight times as many as there are directions
    assert OHWEU(16).fit(X[:25], Y[:25]).base_bits_ == 192
    assert OHWEU(16, base_bits=500).fit(X, Y).base_bits_ == 500


def test_the_order_in_which_labels_appear_does_not_matter(clusters: Clusters) -> None:
    X, Y = clusters
    named = [[f"label {j}" for j in np.flatnonzero(row)] for row in Y]
    hasher = OHWEU(32, n_init=300).fit(X, named)
    reversed_names = OHWEU(32, n_init=300).fit(X, [row[::-1] for row in named])
    assert (hasher.encode(X) == reversed_names.encode(X)).all()
    late = OHWEU(32, n_init=300).fit(X, named)
    assert set(late.label_codes_.labels) == {f"label {j}" for j in range(6)}


def test_as_published_stays_what_it_is(clusters: Clusters) -> None:
    parameters = OHWEU.as_published(48, random_state=5).get_params()
    assert parameters == {
        "n_bits": 48, "base_bits": None, "pairs": False, "learner": "pa", "half_life": None,
        "targets": "gaussian", "rule": "paper", "average": False, "C_P": 0.1, "C_R": 0.1,
        "start": "random", "n_init": 300,
        "centre": True, "unit_norm": True, "random_state": 5,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("n_bits", "digest"),
    [
        (24, "171fd8e5afdab39f564e0b9824db82dd"),
        (48, "b60dfb2d6e963ee33d6c6ebe55cbf5cd"),
        (64, "87eec3b7197ebb495e530f7662c88f7e"),
    ],
)
def test_as_published_gives_the_codes_that_it_always_gave(n_bits: int, digest: str) -> None:
    scale = np.diag(np.linspace(2, 0.2, 80)).astype(np.float32)
    X = np.random.default_rng(n_bits).standard_normal((900, 80)).astype(np.float32) @ scale
    Y = [[f"l{j}" for j in range(7) if x[j] > 1] for x in X]
    hasher = OHWEU.as_published(n_bits, random_state=3).fit(X, Y)
    codes = hasher.hash(X).tobytes() + hasher.encode(X).tobytes() + hasher.encode_query(X).tobytes()
    assert blake2b(codes, digest_size=16).hexdigest() == digest


def test_the_defaults_are_the_regression_that_they_are_said_to_be(clusters: Clusters) -> None:
    """From all rows at once, by a general solver, in a form without sums."""
    X, Y = clusters
    start = OHWEU(24, n_init=300).initialize(X[:300])
    hasher = OHWEU(24, n_init=300).initialize(X[:300]).partial_fit(X, Y)
    names = [int(label) for label in hasher.label_codes_.labels]
    targets = np.sign(Y[:, names] @ hasher.label_codes_.L).astype(float)
    fading = 8 / (25 + len(X))

    signs = packed_to_signs(hasher.hash(X), hasher.base_bits_).astype(float)
    one, other = pairs_of_bits(hasher.base_bits_).T
    inputs = np.concatenate([signs, -signs[:, one] * signs[:, other]], axis=1)
    roots = np.sqrt(np.where(np.arange(inputs.shape[1]) < hasher.base_bits_, 2500, 10000))
    P = least_squares(inputs, targets, roots, fading * start.P_.astype(np.float64))
    assert pytest.approx(P, abs=1e-5) == hasher.P_

    Z = X.astype(float) - X[:300].astype(float).mean(axis=0)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    with_constant = np.concatenate([Z, np.full((len(Z), 1), 0.1)], axis=1)
    before = fading * np.concatenate([start.R_, 10 * start.c_[None]]).astype(np.float64)
    R = least_squares(with_constant, targets, np.full(41, 3**0.5), before)
    assert pytest.approx(R[:-1], abs=1e-4) == hasher.R_
    assert pytest.approx(0.1 * R[-1], abs=1e-4) == hasher.c_


def least_squares(
    inputs: npt.NDArray[np.float64],
    targets: npt.NDArray[np.float64],
    roots: npt.NDArray[np.float64],
    prior: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """A penalty is a row of its own that asks for the prior."""
    rows = np.concatenate([inputs, np.diag(roots)])
    found: npt.NDArray[np.float64] = np.linalg.lstsq(
        rows, np.concatenate([targets, roots[:, None] * prior]), rcond=None
    )[0]
    return found


def test_neither_order_nor_chunks_matter_to_live_codes(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(32, n_init=300).initialize(X[:300]).partial_fit(X, Y)
    chunked = OHWEU(32, n_init=300).initialize(X[:300])
    chunked.partial_fit(X[:1], Y[:1])  # labels get their rows of L as they appear
    for start in range(1, 1500, 211):
        chunked.partial_fit(X[start : start + 211], Y[start : start + 211])
    assert (chunked.P_ == hasher.P_).all()
    backwards = OHWEU(32, n_init=300, targets="gaussian").initialize(X[:300]).partial_fit(X[::-1], Y[::-1])
    forwards = OHWEU(32, n_init=300, targets="gaussian").initialize(X[:300]).partial_fit(X, Y)
    assert (backwards.P_ == forwards.P_).all()


def test_many_features_are_learnt_from_in_fewer_directions(rng: np.random.Generator) -> None:
    centres = rng.standard_normal((4, 2000))
    labels = rng.integers(4, size=500)
    X = (centres[labels] + 3 * rng.standard_normal((500, 2000))).astype(np.float32)
    hasher = OHWEU(16, base_bits=64, n_init=200).fit(X[:400], labels[:400])
    assert hasher.R_.shape == (2000, 16)
    assert len(hasher._R.arrays()["penalty"]) == 1025
    ranking = HammingRanking(
        hasher.encode_query(X[400:]), hasher.encode(X[:400]), labels[400:], labels[:400], n_bits=16
    )
    assert ranking.mean_average_precision() > 0.9


def test_it_counts_what_the_theorems_bound(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, learner="pa", n_init=300).partial_fit(X, Y)
    for learner in (hasher._P, hasher._R):
        assert isinstance(learner, Learner)
        assert learner.seen == len(X)
        assert (learner.mistakes < 0.5 * len(X)).all()
        assert (learner.losses > 0).all()


@pytest.mark.parametrize("learner", ["ridge", "pa"])
def test_pairs_that_are_alike_teach_without_labels(clusters: Clusters, learner: str) -> None:
    X, Y = clusters
    hasher = OHWEU(32, n_init=300).set_params(learner=learner).initialize(X[300:600])
    before = score(hasher, X, Y)
    base = hasher.hash(X)
    rng = np.random.default_rng(0)
    pairs = rng.integers(300, 1500, (20_000, 2))
    pairs = pairs[(Y[pairs[:, 0]] == Y[pairs[:, 1]]).all(axis=1)]
    hasher.learn_pairs(X[pairs[:, 0]], X[pairs[:, 1]])
    assert (hasher.hash(X) == base).all()
    assert score(hasher, X, Y) > before + 0.03
    with pytest.raises(InvalidInputError, match="as many rows on both sides, got 3 and 2"):
        hasher.learn_pairs(X[:3], X[:2])


def test_with_a_half_life_it_follows_labels_that_change_their_meaning(clusters: Clusters) -> None:
    X, Y = clusters
    X, Y = np.tile(X[300:], (3, 1)), np.tile(Y[300:], (3, 1))
    other = Y[:, [3, 4, 5, 0, 1, 2]]  # the names change places
    scores = {}
    for half_life in (None, 500):
        hasher = OHWEU(32, n_init=300, half_life=half_life).fit(X, Y).partial_fit(X, other)
        names = [int(label) for label in hasher.label_codes_.labels]
        new, old = (np.sign(meaning[:, names] @ hasher.label_codes_.L) for meaning in (other, Y))
        scores[half_life] = ((new - old) * hasher.query_scores(X)).mean()
    assert scores[500] > 0.2
    assert abs(scores[None]) < 0.1


def test_a_half_life_is_the_same_in_any_chunks_and_is_saved(clusters: Clusters, tmp_path: Path) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=300, half_life=700).initialize(X[:300]).partial_fit(X, Y)
    chunked = OHWEU(16, n_init=300, half_life=700).initialize(X[:300]).partial_fit(X[:900], Y[:900])
    chunked.save(tmp_path / "model")
    chunked = OHWEU.load(tmp_path / "model").partial_fit(X[900:], Y[900:])
    assert pytest.approx(chunked.P_, abs=1e-6) == hasher.P_
    assert pytest.approx(chunked.R_, abs=1e-4) == hasher.R_
    with pytest.raises(InvalidParameterError, match="half_life is for learner='ridge'"):
        OHWEU(16, learner="pa", half_life=700).fit(X, Y)
    with pytest.raises(InvalidParameterError, match="half_life must be a finite number above 0, got -1"):
        OHWEU(16, half_life=-1).fit(X, Y)
