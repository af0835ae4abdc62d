from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.labels import label_rows
from onlinehash.targets import LabelCodes, label_row, orthogonal_row

LABELS = st.sets(st.one_of(st.text(max_size=5), st.integers()), min_size=1, max_size=6)


@given(rows=st.lists(LABELS, min_size=1, max_size=10), seed=st.integers(0, 5), order=st.randoms())
def test_neither_order_nor_company_matters(rows: list[set[str | int]], seed: int, order: Random) -> None:
    together = LabelCodes(24, seed).targets(label_rows(rows))
    shuffled = [order.sample(sorted(row, key=str), len(row)) for row in rows]
    others = LabelCodes(24, seed)
    others.targets(label_rows([{"a", "b", 3}]))
    backwards = others.targets(label_rows([list(row) for row in shuffled[::-1]] + [["again"], [2, 3]]))
    assert (backwards[: len(rows)][::-1] == together).all()


def test_targets_are_signs_of_sums_of_rows() -> None:
    codes = LabelCodes(64, 0)
    targets = codes.targets(label_rows([["x"], ["y"], ["x", "y"], []]))
    x, y = label_row("x", 64, 0), label_row("y", 64, 0)
    assert (targets[0] == np.sign(x)).all()
    assert (targets[2] == np.sign(x + y)).all()
    assert (targets[3] == 1).all()
    assert codes.labels == ["x", "y"]
    assert (np.array([x, y]) == codes.L).all()


def test_labels_of_other_types_and_seeds_have_other_rows() -> None:
    rows = [label_row(3, 512, 0), label_row("3", 512, 0), label_row(3, 512, 1), label_row(-3, 512, 0)]
    for one, other in pairwise([*rows, rows[0]]):
        assert abs(np.corrcoef(one, other)[0, 1]) < 0.2


def test_rows_are_standard_normal_and_stay_what_they_are() -> None:
    values = np.concatenate([label_row(j, 64, 0) for j in range(500)])
    assert abs(values.mean()) < 0.02
    assert values.std() == pytest.approx(1, abs=0.02)
    # what is stored in users' files was learnt towards these
    assert label_row("cat", 4, 0).tolist() == CAT
    assert label_row("cat", 2, 0).tolist() == CAT[:2]


@pytest.mark.parametrize("n_bits", [1, 2, 20, 32, 33, 64])
def test_orthogonal_rows_differ_in_half_of_the_bits(n_bits: int) -> None:
    size = 1 << max(1, (n_bits - 1).bit_length())
    rows = np.array([orthogonal_row(j, n_bits, 5) for j in range(3 * size)])
    assert set(np.unique(rows)) <= {-1, 1}
    if n_bits == size:
        assert (rows[:size] @ rows[:size].T == n_bits * np.eye(size)).all()
        assert (rows[-size:] @ rows[-size:].T == n_bits * np.eye(size)).all()
    if n_bits >= 20:
        agreement = rows @ rows.T / n_bits
        assert np.abs(np.triu(agreement, 1)).max() < 1, "two labels have one row"


def test_orthogonal_rows_are_given_out_as_labels_appear() -> None:
    stream: list[list[str | int]] = [["b", "a"], [], ["c", 1], ["a"], ["d", "c", "b"]]
    whole, parts = LabelCodes(64, 3, "orthogonal"), LabelCodes(64, 3, "orthogonal")
    targets = whole.targets(label_rows(stream))
    one_by_one = [parts.targets(label_rows([sorted(row, key=str)])) for row in stream]
    assert (np.concatenate(one_by_one) == targets).all()
    assert whole.labels == parts.labels == ["a", "b", 1, "c", "d"]
    assert whole.L.tolist() == [orthogonal_row(j, 64, 3).tolist() for j in range(5)]


def test_where_labels_disagree_evenly_nothing_is_known() -> None:
    codes = LabelCodes(64, 0, "orthogonal")
    both, none = codes.targets(label_rows([["a", "b"], []]))
    a, b = codes.L
    assert (both == (a + b) / 2).all()
    assert (both == 0).sum() == 32
    assert not none.any()


CAT = [-0.04803466796875, -0.65118408203125, 0.97955322265625, -1.1138153076171875]
