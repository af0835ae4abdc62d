from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from onlinehash import InvalidInputError
from onlinehash.labels import label_rows, shared_label_masks

LABEL = st.one_of(st.text(max_size=3), st.integers(-5, 200))


@pytest.mark.parametrize(
    ("Y", "expected"),
    [
        (np.array([[1, 0, 1], [0, 0, 0]]), [[0, 2], []]),
        (np.array([[1.0, 0.0]]), [[0]]),
        (np.array([[True], [False]]), [[0], []]),
        (sp.csr_array(np.array([[0, 1], [1, 1]])), [[1], [0, 1]]),
        (np.array([3, 1, 3]), [[3], [1], [3]]),
        (np.array([3.0]), [[3]]),
        (np.array(["cat", "dog"]), [["cat"], ["dog"]]),
        (np.array(["cat", None], dtype=object), [["cat"], []]),
        (["cat", None, 7], [["cat"], [], [7]]),
        ([["cat", "dog"], (), {"cat"}, None], [["cat", "dog"], [], ["cat"], []]),
        ([["cat", "cat"]], [["cat"]]),
        ([np.array([4, 5]), np.array([6])], [[4, 5], [6]]),
        ([{0}, {1}], [[0], [1]]),
        ([[1, 0], [2, 3]], [[1, 0], [2, 3]]),
        ([], []),
        (None, []),
    ],
)
def test_accepted_forms(Y: Any, expected: list[list[Any]]) -> None:
    rows = label_rows(Y)
    assert rows.to_lists() == expected
    assert rows.labelled.tolist() == [bool(row) for row in expected]
    assert label_rows([set(row) for row in rows.to_lists()]).labelled.tolist() == rows.labelled.tolist()


@pytest.mark.parametrize(
    "Y",
    [
        np.array([[0, 2]]),
        np.array([[0.5, 1]]),
        np.array([["a", "b"]]),
        np.ones((3, 1), int),  # one column: class labels, or multi-hot?
        np.zeros((2, 2, 2)),
        np.array(3),
        [[0, 1], [1, 0]],  # multi-hot, or the labels 0 and 1?
        [[1], [0]],
        [["a"], "b"],
        [1.5],
        [float("nan")],
        [["a", None]],
        [["a", ["b"]]],
        [b"bytes"],
        "abc",
        {"a": 1},
        5,
        iter(["a"]),
    ],
)
def test_everything_else_is_refused_with_the_accepted_forms(Y: Any) -> None:
    with pytest.raises(InvalidInputError, match="accepted are: a 2-D array of 0/1"):
        label_rows(Y)


def test_another_number_of_rows_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="expected 3 rows, as X has, got 2"):
        label_rows(["a", "b"], 3)


@given(
    rows=st.lists(st.sets(LABEL, max_size=4), max_size=12), first=st.integers(0, 12), last=st.integers(0, 12)
)
def test_slices_are_those_of_lists(rows: list[set[str | int]], first: int, last: int) -> None:
    parsed = label_rows(rows)[first:last]
    assert [set(row) for row in parsed.to_lists()] == rows[first:last]
    assert len(parsed) == len(rows[first:last])


@given(
    left=st.lists(st.sets(LABEL, max_size=4), min_size=1, max_size=8),
    right=st.lists(st.sets(st.integers(0, 200), max_size=4), min_size=1, max_size=8),
)
def test_masks_meet_where_labels_are_shared(left: list[set[Any]], right: list[set[Any]]) -> None:
    a, b = shared_label_masks(label_rows(left), label_rows(right))
    for i, row in enumerate(left):
        for j, other in enumerate(right):
            assert bool((a[i] & b[j]).any()) == bool(row & other)


@given(rows=st.lists(st.sets(LABEL, max_size=4), min_size=1, max_size=12), data=st.data())
def test_taken_rows_are_those_of_lists(rows: list[set[str | int]], data: st.DataObject) -> None:
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1)))
    taken = label_rows(rows).take(np.array(chosen, np.int64))
    assert [set(row) for row in taken.to_lists()] == [rows[i] for i in chosen]
    assert label_rows(taken, len(chosen)) is taken
    with pytest.raises(InvalidInputError, match="as X has"):
        label_rows(taken, len(chosen) + 1)


@given(st.lists(LABEL, max_size=9))
def test_a_label_each_is_a_collection_of_one_each(Y: list[Any]) -> None:
    plain, wrapped = label_rows(Y), label_rows([{y} for y in Y])
    assert plain.vocabulary == wrapped.vocabulary
    assert plain.indices.tolist() == wrapped.indices.tolist()
    assert plain.starts.tolist() == wrapped.starts.tolist()
    assert all(type(part) is np.ndarray and part.dtype == np.int64 for part in (plain.indices, plain.starts))
