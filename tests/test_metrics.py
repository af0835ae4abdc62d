from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import HammingRanking, InvalidInputError, InvalidParameterError, mean_average_precision
from onlinehash.codes import bits_to_packed
from onlinehash.metrics import Ties, area_under_checkpoints, average_precision, checkpoints, mean

Array = npt.NDArray[Any]


def made(n: int, n_bits: int, seed: int, n_queries: int = 6) -> tuple[Array, Array, Array, Array]:
    """Bits and multi-hot labels of queries and items; some rows have no label."""
    rng = np.random.default_rng(seed)
    return (
        rng.integers(0, 2, (n_queries, n_bits)),
        rng.integers(0, 2, (n, n_bits)),
        rng.random((n_queries, 4)) < 0.3,
        rng.random((n, 4)) < 0.3,
    )


def ranking(data: tuple[Array, Array, Array, Array], ties: Ties) -> HammingRanking:
    queries, items, query_labels, labels = data
    return HammingRanking(
        bits_to_packed(queries), bits_to_packed(items), query_labels, labels,
        n_bits=items.shape[1], ties=ties,
    )  # fmt: skip


def sorted_relevance(data: tuple[Array, Array, Array, Array], order: Any = slice(None)) -> Array:
    """By the definition: relevance of all items in the order of a stable sort by distance."""
    queries, items, query_labels, labels = data
    distances = (queries[:, None] != items[None, order]).sum(axis=2)
    relevant = (query_labels[:, None] & labels[None, order]).any(axis=2)
    return np.take_along_axis(relevant, np.argsort(distances, axis=1, kind="stable"), axis=1)


def by_definition(hits: Array, total: int, top: int, denominator: str) -> float:
    """AP of one query, as a loop. NaN where the denominator is 0."""
    found, precisions = 0, []
    for rank, hit in enumerate(hits[:top], start=1):
        if hit:
            found += 1
            precisions.append(found / rank)
    below = {"found": found, "reachable": min(top, total), "relevant": total}[denominator]
    return sum(precisions) / below if below else float("nan")


@given(n=st.integers(1, 200), n_bits=st.integers(1, 9), seed=st.integers(0, 999), top=st.integers(1, 220))
def test_database_order_equals_the_definition(n: int, n_bits: int, seed: int, top: int) -> None:
    data = made(n, n_bits, seed)
    hits = sorted_relevance(data)
    of = ranking(data, "database")
    for denominator in ("found", "reachable", "relevant"):
        expected = [by_definition(row, row.sum(), min(top, n), denominator) for row in hits]
        assert of.average_precision(top, denominator) == pytest.approx(expected, nan_ok=True)
    assert of.precision_at(top) == pytest.approx(hits[:, :top].mean())
    full = [by_definition(row, row.sum(), n, "found") for row in hits]
    assert of.average_precision() == pytest.approx(full, nan_ok=True)


@given(n=st.integers(1, 6), n_bits=st.integers(1, 2), seed=st.integers(0, 999), top=st.integers(1, 7))
def test_expected_order_is_the_mean_over_all_orders(n: int, n_bits: int, seed: int, top: int) -> None:
    data = made(n, n_bits, seed, n_queries=3)
    cut, of = min(top, n), ranking(data, "expected")
    orders = [sorted_relevance(data, list(order)) for order in permutations(range(n))]
    for denominator in ("found", "reachable", "relevant"):
        # an order that finds nothing counts 0; a query for which no order finds anything is NaN
        values = [[by_definition(row, row.sum(), cut, denominator) for row in hits] for hits in orders]
        possible = ~np.isnan(values).all(axis=0)
        expected = np.where(possible, np.nan_to_num(values).mean(axis=0), np.nan)
        assert of.average_precision(top, denominator) == pytest.approx(expected, nan_ok=True)
    assert of.precision_at(top) == pytest.approx(np.mean([hits[:, :cut].mean() for hits in orders]))


@pytest.mark.parametrize("ties", ["expected", "database"])
@given(n=st.integers(1, 300), n_bits=st.integers(1, 70), seed=st.integers(0, 99))
def test_hamming_rankings_equal_plain_sorting(ties: Ties, n: int, n_bits: int, seed: int) -> None:
    data = made(n, n_bits, seed)
    queries, items, query_labels, labels = data
    distances = (queries[:, None] != items[None]).sum(axis=2)
    relevant = (query_labels[:, None] & labels[None]).any(axis=2)
    plain = average_precision(distances, relevant, ties)
    assert ranking(data, ties).average_precision() == pytest.approx(plain, nan_ok=True)


def test_without_ties_the_rules_agree() -> None:
    rng = np.random.default_rng(0)
    distances, relevant = rng.random((5, 400)), rng.random((5, 400)) < 0.2
    assert average_precision(distances, relevant, "expected") == pytest.approx(
        average_precision(distances, relevant, "database")
    )


def test_a_worked_example() -> None:
    # distances 0 1 1 2, relevant: + - + +.  Database order: (1 + 2/3 + 3/4) / 3.
    # Expected: the tied pair is half the time + -, half the time - +: (1 + (1 + 2/3)/2 + 3/4) / 3.
    bits = [[0, 0], [0, 1], [1, 0], [1, 1]]
    codes, labels = bits_to_packed(bits), ["a", "b", "a", "a"]
    of = {
        ties: HammingRanking(codes[:1], codes, ["a"], labels, n_bits=2, ties=ties)
        for ties in ("database", "expected")
    }
    assert of["database"].mean_average_precision() == pytest.approx((1 + 2 / 3 + 3 / 4) / 3)
    assert of["expected"].mean_average_precision() == pytest.approx((1 + 5 / 6 + 3 / 4) / 3)
    assert of["expected"].precision_at(2) == pytest.approx(0.75)
    assert of["expected"].precision_within(1) == pytest.approx(2 / 3)
    precision, recall = of["expected"].precision_recall_curve()
    assert precision == pytest.approx([1, 2 / 3, 3 / 4])
    assert recall == pytest.approx([1 / 3, 2 / 3, 1])


def test_queries_without_a_relevant_item_count_0_or_are_dropped() -> None:
    codes = bits_to_packed([[0], [1]])
    arguments: Any = (codes, codes, ["a", "nowhere"], ["a", "a"])
    assert mean_average_precision(*arguments, n_bits=1) == 0.5
    assert mean_average_precision(*arguments, n_bits=1, empty="drop") == 1
    assert mean(np.array([np.nan]), "drop") == 0
    with pytest.raises(InvalidParameterError, match="zero"):
        mean_average_precision(*arguments, n_bits=1, empty="ignore")  # type: ignore[arg-type]


def test_an_empty_ball_counts_0() -> None:
    near, far = bits_to_packed([[0] * 8]), bits_to_packed([[1] * 8])
    of = HammingRanking(np.concatenate([near, far]), near, ["a", "a"], ["a"], n_bits=8)
    assert of.precision_within(2) == 0.5
    precision, recall = of.precision_recall_curve()
    assert precision.tolist() == [1] * 9
    assert recall.tolist() == [0.5] * 8 + [1]


def test_labels_of_queries_and_items_may_come_in_different_forms() -> None:
    codes = bits_to_packed([[0], [1]])
    assert mean_average_precision(codes, codes, [{1}, {0}], np.array([[0, 1], [1, 0]]), n_bits=1) == 1


def test_wrong_input_is_refused() -> None:
    codes = bits_to_packed([[0], [1]])
    with pytest.raises(InvalidParameterError, match="expected"):
        HammingRanking(codes, codes, ["a", "b"], ["a", "b"], n_bits=1, ties="random")  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected 2 rows"):
        HammingRanking(codes, codes, ["a"], ["a", "b"], n_bits=1)
    with pytest.raises(InvalidInputError, match="at least one"):
        HammingRanking(codes[:0], codes, [], ["a", "b"], n_bits=1)
    of = HammingRanking(codes, codes, ["a", "b"], ["a", "b"], n_bits=1)
    with pytest.raises(InvalidParameterError, match="1 or more"):
        of.precision_at(0)
    with pytest.raises(InvalidParameterError, match="found, reachable"):
        of.average_precision(denominator="all")  # type: ignore[arg-type]


@given(n=st.integers(1, 5000), count=st.integers(1, 60), seed=st.integers(0, 9))
def test_checkpoints_are_spread_over_the_stream(n: int, count: int, seed: int) -> None:
    at = checkpoints(n, count, seed)
    assert at[0] == 1
    assert (np.diff(at) > 0).all()
    assert len(at) <= min(count, n)
    if count > 1:
        assert at[-1] == n
    assert (at == checkpoints(n, count, seed)).all()


def test_area_under_checkpoints_is_their_mean() -> None:
    # logged by the authors of MIHash for five checkpoints
    assert area_under_checkpoints([0.210, 0.324, 0.377, 0.409, 0.451]) == pytest.approx(0.354, abs=5e-4)
