"""Between an embedded index, a dataset and another dataset: the same answers everywhere."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, InvalidParameterError, cluster

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(1000, 24)).astype(np.float32)


@pytest.mark.parametrize(("n_init", "keep_vectors"), [(100, False), (100, True), (900, False)])
def test_there_and_back(uri: Path, n_init: int, keep_vectors: bool) -> None:
    path, back = uri.with_suffix(".oh"), uri.with_suffix(".again")
    how: Any = {"dim": 24, "hasher": OHWEU(32, n_init=n_init), "keep_vectors": keep_vectors}
    with Index.create(path, **how) as index:
        index.add(range(500), X[:500], labels=["one"] * 500, payloads=[{"n": i} for i in range(500)])
        index.learn(X[500:700], ["a" if x[0] > 0 else "b" for x in X[500:700]])
        index.delete(range(0, 500, 7))
        index.tag([1, 2], ["x", "y"])
        answers = index.search(X[:90], k=12, payloads=True).to_dict()
        assert cluster.to_lance(path, uri, stripe=32) == len(index)
    with pytest.raises(InvalidParameterError, match="exists"):
        cluster.to_lance(path, uri)
    with cluster.open(uri, shards=2) as moved:
        assert moved.search(X[:90], k=12, payloads=True).to_dict() == answers
        moved.backup(str(uri.with_name("copy.lance")))
        item = moved.get(1)
    assert cluster.to_file(uri, back) == len(range(500)) - len(range(0, 500, 7))
    for opened in (Index.open(back), cluster.open(uri.with_name("copy.lance"))):
        with opened as again:
            assert again.search(X[:90], k=12, payloads=True).to_dict() == answers
            assert again.get(1) == item
            again.learn(X[:900], ["c"] * 900)
            again.add([5000], X[:1])
            assert 5000 in again
