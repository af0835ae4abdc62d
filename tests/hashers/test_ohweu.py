import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import ITQ, OHWEU, HammingRanking, InvalidInputError
from onlinehash.codes import packed_to_signs
from onlinehash.kernels.learn import learn_numpy
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


def test_before_any_label_it_searches_by_base_bits(clusters: Clusters) -> None:
    X, Y = clusters
    chance = Y[:300].astype(float) @ Y[300:].T
    itq = score(ITQ(32).fit(X[300:]), X, Y)
    unlabelled = OHWEU(32, n_init=300).fit(X[300:])
    gained = (score(unlabelled, X, Y) - (chance > 0).mean()) / (itq - (chance > 0).mean())
    assert gained > 0.7  # of what ITQ, all of whose 32 bits are chosen together, is above chance
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
    assert OHWEU(16).fit(X, Y).base_bits_ == 40  # as many as there are directions
    assert OHWEU(16).fit(X[:25], Y[:25]).base_bits_ == 24


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
        "n_bits": 48, "base_bits": None, "C_P": 0.1, "C_R": 0.1, "rule": "paper", "average": False,
        "start": "random", "n_init": 300, "centre": True, "unit_norm": True, "random_state": 5,
    }  # fmt: skip


def test_it_counts_what_the_theorems_bound(clusters: Clusters) -> None:
    X, Y = clusters
    hasher = OHWEU(16, n_init=300).partial_fit(X, Y)
    for learner in (hasher._P, hasher._R):
        assert learner.seen == len(X)
        assert (learner.mistakes < 0.5 * len(X)).all()
        assert (learner.losses > 0).all()
