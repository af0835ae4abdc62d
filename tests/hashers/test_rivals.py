"""OKH, OSupH, MIHash, BSODH and the trigger: what is their own; what all share is in test_grammar."""

import itertools
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import (
    BSODH,
    LSH,
    OHWEU,
    OKH,
    OSH,
    InvalidParameterError,
    MIHash,
    NotInitializedError,
    OSupH,
    Triggered,
    mean_average_precision,
)
from onlinehash.hashers.bsodh import Past, Regression, sweep
from onlinehash.hashers.reservoir import Reservoir
from onlinehash.hashers.trigger import mutual_information
from onlinehash.labels import label_rows, shared_label_masks

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]

SUPERVISED = [
    OKH(24),
    OSupH(24),
    OSupH(24, rule="boost"),
    MIHash(24),
    BSODH(24, chunk_size=200, eta_d="auto"),
]


@pytest.mark.parametrize("hasher", SUPERVISED, ids=lambda hasher: repr(hasher)[:30])
def test_no_straw_man(hasher: Any, clusters: Clusters) -> None:
    X, Y = clusters

    def score(hasher: Any) -> float:
        hasher.fit(X[300:], Y[300:])
        queries, codes = hasher.encode_query(X[:300]), hasher.encode(X[300:])
        return mean_average_precision(queries, codes, Y[:300], Y[300:], n_bits=24)

    assert score(hasher) > score(LSH(24)) + 0.05


@pytest.mark.parametrize(
    ("fast", "published"),
    [
        (OSupH(16), OSupH(16, as_published=True)),
        (OSupH(16, rule="boost"), OSupH(16, rule="boost", as_published=True)),
        (MIHash(16, sharpness=3), MIHash(16, sharpness=3, as_published=True)),
    ],
)
def test_the_fast_form_is_the_published_one(fast: Any, published: Any, clusters: Clusters) -> None:
    X, Y = clusters
    n = 120 if isinstance(fast, MIHash) else 500  # its gradient jumps: rounding does not stay small for long
    one, other = (hasher.fit(X[:n], Y[:n]).encode(X) for hasher in (fast, published))
    assert np.unpackbits(one ^ other).mean() < 1e-3


# ---- OSupH


def test_labels_have_codewords_of_their_own(clusters: Clusters) -> None:
    X, _ = clusters
    hasher = OSupH(6, n_init=50).fit(X[:60], np.arange(60))  # 60 labels, 64 words of 6 bits
    assert len({codeword.tobytes() for codeword in hasher.codewords_.values()}) > 55
    other = OSupH(32, n_init=50).fit(X[:60], np.arange(60))
    assert len({codeword.tobytes() for codeword in other.codewords_.values()}) == 60


def test_the_order_of_labels_within_a_row_does_not_matter(clusters: Clusters) -> None:
    X, _ = clusters
    one = OSupH(16).fit(X, [["b", "a"], ["c"], ["a", "c", "b"]] * 500)
    other = OSupH(16).fit(X, [["a", "b"], ["c"], ["c", "b", "a"]] * 500)
    assert (one.encode(X) == other.encode(X)).all()


# ---- OKH


def test_kernels_spread_out_and_the_released_ones_do_not(clusters: Clusters) -> None:
    X, Y = clusters
    spread = {}
    for name, hasher in (("ours", OKH(32)), ("released", OKH(32, bandwidth="released", centre_kernel=False))):
        bits = hasher.fit(X, Y).transform(X)
        spread[name] = np.mean(bits.std(axis=0))
    assert spread["ours"] > 0.3  # of 0.5
    assert spread["released"] < 0.8 * spread["ours"]


# ---- BSODH


def dense(sets: list[list[Any]], codes: npt.NDArray[np.float64]) -> Past:
    rows = label_rows([set(row) for row in sets])
    return Past.empty(codes.shape[1]).with_chunk(rows, codes)


def test_one_row_a_set_of_labels_stands_for_all_items(rng: np.random.Generator) -> None:
    sets = [["a"], ["b"], ["a", "c"], ["c"], ["b"], ["c", "a"], ["d"]] * 9
    codes = np.where(rng.random((len(sets), 12)) < 0.5, -1.0, 1.0)
    past = dense(sets[:40], codes[:40]).with_chunk(label_rows([set(r) for r in sets[40:]]), codes[40:])
    chunk = label_rows([{"a"}, {"b", "d"}, {"e"}, {"c"}])
    old, new = shared_label_masks(label_rows([set(row) for row in sets]), chunk)
    S = np.where((new[:, None] & old).any(axis=2), 1.2, -0.3)
    by_set = past.similar(chunk)
    np.testing.assert_allclose(np.where(by_set, 1.2, -0.3) @ past.sums, S @ codes, atol=1e-9)
    np.testing.assert_allclose(past.gram, codes.T @ codes)
    assert past.counts.sum() == len(sets)
    assert len(past.sets) == 5
    # the first similar item's code, and a row that has none keeps its own
    B = np.zeros((4, 12))
    first = past.first_similar(by_set, B)
    for i in range(4):
        at = np.flatnonzero(S[i] > 0)
        assert (first[i] == (codes[at[0]] if len(at) else B[i])).all()


def test_a_sweep_never_raises_the_objective(rng: np.random.Generator) -> None:
    n, m, K, sigma = 30, 80, 10, 0.5
    S = np.where(rng.random((n, m)) < 0.3, 1.2, -0.3)
    old = np.where(rng.random((m, K)) < 0.5, -1.0, 1.0)
    scores = rng.standard_normal((n, K))
    B = np.where(rng.random((n, K)) < 0.5, -1.0, 1.0)

    def objective(B: npt.NDArray[np.float64]) -> float:
        return float(((B @ old.T - K * S) ** 2).sum() + sigma * ((scores - B) ** 2).sum())

    P, G = K * S @ old + sigma * scores, old.T @ old
    values = [objective(B)]
    for _ in range(4):
        B = sweep(B, P, G)
        values.append(objective(B))
    assert all(later <= earlier + 1e-9 for earlier, later in itertools.pairwise(values))
    assert values[-1] < values[0]


@pytest.mark.parametrize("n", [10, 40])
def test_regression_on_the_smaller_side(n: int, rng: np.random.Generator) -> None:
    Z = rng.standard_normal((n, 20)).astype(np.float32)
    B = np.where(rng.random((n, 5)) < 0.5, -1.0, 1.0)
    fit = Regression.of(Z, 0.6, 0.5)
    X = Z.astype(np.float64)
    expected = 0.5 * np.linalg.solve(0.5 * X.T @ X + 0.6 * np.eye(20), X.T @ B)
    np.testing.assert_allclose(fit.W(Z, B), expected, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(fit.predicted(B), X @ expected, rtol=1e-6, atol=1e-8)


# ---- the reservoir and the trigger


def test_the_reservoir_is_a_uniform_sample_in_any_chunks() -> None:
    counts = np.zeros(100)
    for seed in range(400):
        whole, parts = (Reservoir(np.zeros((10, 1), np.float32), seed) for _ in range(2))
        rows = np.full(10, -1)
        for t, slot in enumerate(whole.slots_for(100)):
            if slot >= 0:
                rows[slot] = t
        counts[rows] += 1
        slots = np.concatenate([parts.slots_for(n) for n in (1, 6, 0, 50, 43)])
        assert parts.keys == whole.keys
        assert (slots >= 0).sum() >= 10
    # 400 × 10 draws over 100 rows: chi-square with 99 degrees of freedom, far below its 1 - 1e-6 quantile
    assert ((counts - 40) ** 2 / 40).sum() < 190


def test_mutual_information_is_that_of_its_definition(rng: np.random.Generator) -> None:
    codes = rng.integers(0, 256, (30, 2), np.uint8)
    masks = (np.uint64(1) << rng.integers(0, 3, (30, 1)).astype(np.uint64)).astype(np.uint64)
    bits = np.unpackbits(codes, axis=1)
    values = []
    for j in range(30):
        others = np.delete(np.arange(30), j)
        d, a = (bits[others] != bits[j]).sum(axis=1), masks[others, 0] == masks[j, 0]
        joint = np.array([[np.mean((d == x) & (a == y)) for x in range(17)] for y in (False, True)])
        product = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
        on = joint > 0
        values.append((joint[on] * np.log2(joint[on] / product[on])).sum())
    assert abs(mutual_information(codes, masks, 16) - np.mean(values)) < 1e-9


def test_no_snapshot_while_nothing_moves(clusters: Clusters) -> None:
    X, Y = clusters
    still = Triggered(LSH(16, n_init=50), every=50).partial_fit(X, Y)
    assert still.n_updates_ == 1
    moving = Triggered(MIHash(16, n_init=50), every=50).partial_fit(X, Y)
    assert 1 < moving.n_updates_ <= 30
    never = Triggered(MIHash(16, n_init=50), every=50, threshold=99).partial_fit(X, Y)
    assert never.n_updates_ == 1
    assert (never.encode(X) == MIHash(16, n_init=50).partial_fit(X[:50], Y[:50]).encode(X)).all()


def test_items_and_queries_are_encoded_by_one_snapshot(clusters: Clusters) -> None:
    X, Y = clusters
    triggered = Triggered(OHWEU(16, n_init=60), every=1000).partial_fit(X, Y)
    same = OHWEU(16, n_init=60).partial_fit(X[:1000], Y[:1000])
    if triggered.n_updates_ == 2:
        assert (triggered.encode(X) == same.encode(X)).all()
        assert (triggered.encode_query(X) == same.encode_query(X)).all()
    assert (triggered.hasher_.encode(X) == OHWEU(16, n_init=60).partial_fit(X, Y).encode(X)).all()


def test_the_trigger_before_and_after_its_first_snapshot(clusters: Clusters) -> None:
    X, Y = clusters
    with pytest.raises(NotInitializedError, match="no snapshot"):
        Triggered(OSupH(16)).partial_fit(X[:10], Y[:10]).encode(X)
    assert Triggered(OSupH(16)).fit(X[:100], Y[:100]).transform(X).shape == (1500, 16)
    with pytest.raises(InvalidParameterError, match="hasher must be an online hasher"):
        Triggered("OSupH").partial_fit(X, Y)  # type: ignore[arg-type]


# ---- what is refused, and what a refresh needs


@pytest.mark.parametrize(
    ("hasher", "says"),
    [
        (OSupH(8, step=0), "step must be a finite number above 0"),
        (OSupH(8, rule="other"), 'rule must be "hinge" or "boost"'),  # type: ignore[arg-type]
        (OKH(8, C=-1), "C must be a finite number above 0"),
        (OKH(8, alpha=-1), "alpha must be 0 or more"),
        (OKH(8, beta=2), "beta must be above 0 and at most 1"),
        (OKH(8, bandwidth=0), "bandwidth must be a finite number above 0"),
        (MIHash(8, bins=0), "bins must be an int of 1 or more"),
        (MIHash(8, reservoir_size=1), "reservoir_size must be an int of 2 or more"),
        (MIHash(8, gradient="other"), 'gradient must be "exact" or "released"'),  # type: ignore[arg-type]
        (BSODH(8, eta_d=-1), 'eta_d must be "auto" or a number'),
        (BSODH(8, form="other"), 'form must be "paper" or "released"'),  # type: ignore[arg-type]
        (BSODH(8, lam=0), "lam must be a finite number above 0"),
        (Triggered(LSH(8), every=0), "every must be an int of 1 or more"),
    ],
)
def test_impossible_parameters(hasher: Any, says: str, clusters: Clusters) -> None:
    with pytest.raises(InvalidParameterError, match=says):
        hasher.partial_fit(*clusters)


def test_only_ohweu_refreshes_from_base_codes() -> None:
    for kind in (OSH, OKH, OSupH, MIHash, BSODH):
        assert kind.refreshes_from == "features"
    assert OHWEU.refreshes_from == "base codes"
    assert LSH.refreshes_from == "nothing"
