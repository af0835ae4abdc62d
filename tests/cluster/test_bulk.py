"""Files loaded by tasks side by side hold the same items as if they had been added."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from onlinehash import OHWEU, Index, InvalidInputError, cluster

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(900, 24)).astype(np.float32)


def test_numpy_and_parquet(uri: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "first.npy", X[:500])
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X[500:].ravel()), 24)
    pq.write_table(pa.table({"vector": vectors}), tmp_path / "second.parquet")
    hasher = OHWEU(32, n_init=200).initialize(X[:200])
    names = [f"item {i}" for i in range(400)]
    with Index.create(":memory:", hasher=hasher) as embedded, cluster.create(
        uri, hasher=hasher, shards=2, stripe=64
    ) as index:  # fmt: skip
        embedded.add(range(500), X[:500])
        embedded.add(names, X[500:])
        with pytest.raises(InvalidInputError, match="expected 500"):
            cluster.load(index, tmp_path / "first.npy", names)
        assert cluster.load(index, tmp_path / "first.npy", rows=150, side_by_side=2) == 500
        assert cluster.load(index, tmp_path / "second.parquet", names, rows=150, side_by_side=1) == 400
        assert index.search(X[:90], k=12).to_dict() == embedded.search(X[:90], k=12).to_dict()
