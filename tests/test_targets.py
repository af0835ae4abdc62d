from itertools import pairwise
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlinehash.labels import label_rows
from onlinehash.targets import LabelCodes, label_row

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


CAT = [-0.04803466796875, -0.65118408203125, 0.97955322265625, -1.1138153076171875]
