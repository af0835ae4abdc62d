"""Measuring a machine changes nothing, and measures what it says."""

from pathlib import Path

import numpy as np
import pytest

from onlinehash import OHWEU, Index, InvalidInputError
from onlinehash.index.bench import measure


def test_on_made_items() -> None:
    found = list(measure(items=3000, dim=20, n_bits=12))
    assert [one.what for one in found] == ["scan, one query", "scan, 32 queries", "refresh", "learn"]
    assert all(one.ours > 0 and one.ratio == one.ours / one.numpy for one in found)


@pytest.mark.parametrize("learner", ["ridge", "pa"])
def test_on_an_index_that_stays_as_it_is(learner: str, tmp_path: Path) -> None:
    X = np.random.default_rng(0).standard_normal((300, 20)).astype(np.float32)
    hasher = OHWEU(16, base_bits=32, learner=learner).initialize(X)  # type: ignore[arg-type]
    path = tmp_path / "t.oh"
    with Index.create(path, hasher=hasher) as index:
        index.add(range(300), X)
        index.learn(X, (X[:, 0] > 0).astype(int))
    before = path.read_bytes()
    with Index.open(path, read_only=True) as index:
        generation = index.stats().generation
        assert len(list(measure(index))) == 4
        assert index.stats().generation == generation
    assert path.read_bytes() == before


def test_nothing_to_measure() -> None:
    with Index.create(":memory:", dim=4) as index, pytest.raises(InvalidInputError, match="no codes yet"):
        next(measure(index))
