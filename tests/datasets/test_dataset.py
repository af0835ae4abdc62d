from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError, InvalidParameterError
from onlinehash.datasets import Dataset
from onlinehash.labels import LabelRows

X = np.arange(40, dtype=np.float64).reshape(20, 2)
Y = [{i, "even"} if i % 2 == 0 else {i} for i in range(20)]


def lists(labels: LabelRows | None) -> list[set[Any]]:
    assert labels is not None
    return [set(row) for row in labels.to_lists()]


@given(rows=st.lists(st.integers(0, 19)), data=st.data())
def test_selections_of_selections_keep_rows_and_labels_together(rows: list[int], data: st.DataObject) -> None:
    selected = Dataset.from_arrays(X, Y).select(rows)
    again = data.draw(st.lists(st.integers(0, len(rows) - 1))) if rows else []
    twice = selected.select(again)
    assert (selected.n, twice.n) == (len(rows), len(again))
    found, labels = twice.rows(np.arange(twice.n))
    expected = [rows[i] for i in again]
    np.testing.assert_array_equal(found, X[expected])
    assert lists(labels) == lists(twice.labels) == [Y[i] for i in expected]
    chunks = list(twice.chunks(3))
    np.testing.assert_array_equal(np.concatenate([X[:0], *(chunk for chunk, _ in chunks)]), X[expected])
    assert [row for _, part in chunks for row in lists(part)] == [Y[i] for i in expected]


@pytest.mark.parametrize("shuffle", [True, False])
def test_a_split_parts_all_rows_and_repeats_with_its_random_state(shuffle: bool) -> None:
    data = Dataset.from_arrays(X, Y, "twenty")
    split = data.split(5, random_state=3, shuffle=shuffle)
    stream, queries = (part.rows(np.arange(part.n))[0][:, 0] // 2 for part in (split.stream, split.queries))
    assert (split.whole, len(stream), len(queries)) == (data, 15, 5)
    assert sorted([*stream, *queries]) == list(range(20))
    assert (np.diff(stream) > 0).all() != shuffle
    again = data.split(5, random_state=np.random.default_rng(3), shuffle=shuffle)
    np.testing.assert_array_equal(again.queries.rows(range(5))[0][:, 0] // 2, queries)
    other = data.split(5, random_state=np.random.RandomState(3))
    assert other.queries.n == 5


def test_arrays_in_memory_may_be_sparse_and_without_labels() -> None:
    data = Dataset.from_arrays(sp.csr_array(X))
    assert data.labels is None
    assert repr(data) == "Dataset('arrays', n=20, dim=2, no labels)"
    (found, labels) = data.rows([3, 1, 3])
    np.testing.assert_array_equal(found, X[[3, 1, 3]])
    assert labels is None


def test_what_is_read_is_the_callers_own() -> None:
    held = X.astype(np.float32)
    for chunk, _ in Dataset.from_arrays(held).chunks(7):
        chunk[:] = 0
    np.testing.assert_array_equal(held, X)


def test_sums_beyond_float32_are_not_taken_for_missing_values() -> None:
    large = np.full((4, 3), 3e38)
    np.testing.assert_array_equal(Dataset.from_arrays(large).rows([0])[0], np.float32(large[:1]))


@pytest.mark.parametrize(
    ("indices", "message"),
    [
        ([20], "rows from 0 to 19, got 20"),
        ([-1], "rows from 0 to 19, got -1"),
        ([0.5], "row numbers, got float64"),
        ([True] * 20, "row numbers, got bool"),
        ([[1]], r"of shape \(1, 1\)"),
    ],
)
def test_wrong_indices_are_refused(indices: Any, message: str) -> None:
    data = Dataset.from_arrays(X)
    for ask in (data.rows, data.select):
        with pytest.raises(InvalidInputError, match=message):
            ask(indices)


def test_wrong_parameters_are_refused_before_anything_is_read() -> None:
    data = Dataset.from_arrays(X, Y)
    for size in (0, True, 2.5):
        with pytest.raises(InvalidParameterError, match="size must be an int of 1 or more"):
            data.chunks(size)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="start must be a row from 0 to 20, got 21"):
        data.chunks(3, 21)
    with pytest.raises(InvalidParameterError, match="n_queries must be from 1 to 19"):
        data.split(20)
    with pytest.raises(InvalidParameterError, match="n_queries must be an int"):
        data.split(2.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameterError, match="random_state must be"):
        data.split(2, random_state="seed")
    with pytest.raises(InvalidInputError, match="a 2-D array of numbers"):
        Dataset.from_arrays([1, 2])
    with pytest.raises(InvalidInputError, match="expected 20 rows, as X has, got 2"):
        Dataset.from_arrays(X, ["a", "b"])
