from pathlib import Path

import faiss
import numpy as np
import pyarrow.parquet as pq
import pytest

from onlinehash import OHWEU, Index, InvalidInputError, InvalidParameterError, NotInitializedError
from tests.index.kinds import Kind

X = np.random.default_rng(0).normal(size=(900, 48)).astype(np.float32)


def test_faiss_finds_the_same(kind: Kind, tmp_path: Path) -> None:
    hasher = OHWEU(32, n_init=300).fit(X, ["a" if x[0] > 0 else "b" for x in X])
    with kind.create(":memory:", hasher=hasher) as index:
        index.add([f"i{i}" for i in range(800)], X[:800])
        index.delete(["i3", "i4"])
        binary, ids = index.to_faiss()
        assert binary.ntotal == len(ids) == 798
        hits = index.search(X[:20], k=9, score="hamming")
        distances, rows = binary.search(hasher.encode_query(X[:20]), 9)
        assert (distances == hits.distances).all()
        for row, found, distance in zip(rows, hits.ids, distances, strict=True):
            nearer = distance < distance[-1]  # ties at the end may fall either way
            assert {ids[i] for i in row[nearer]} == set(found[nearer])


def test_base_codes_come_from_faiss() -> None:
    hasher = OHWEU(16, base_bits=48, n_init=300).initialize(X)
    binary = faiss.IndexBinaryFlat(48)
    binary.add(hasher.hash(X))
    with Index.from_faiss(":memory:", binary, hasher=hasher) as index, Index.create(
        ":memory:", hasher=hasher
    ) as added:  # fmt: skip
        added.add(range(900), X)
        assert index.search(X[:9]).to_dict() == added.search(X[:9]).to_dict()
    with Index.from_faiss(":memory:", binary, hasher=hasher, ids=[f"i{i}" for i in range(900)]) as index:
        assert "i899" in index
    with pytest.raises(InvalidInputError, match="IndexBinaryFlat, got a IndexFlat"):
        Index.from_faiss(":memory:", faiss.IndexFlatL2(48), hasher=hasher)
    with pytest.raises(InvalidInputError, match="base codes"):
        Index.from_faiss(":memory:", faiss.IndexBinaryFlat(32), hasher=hasher)


def test_parquet(kind: Kind, tmp_path: Path) -> None:
    with kind.create(":memory:", n_bits=20, sample=X[:300]) as index:
        for ids in (list(range(50)), [f"i{i}" for i in range(50)]):
            index.add(ids, X[:50])
            index.to_parquet(tmp_path / "codes.parquet")
            table = pq.read_table(tmp_path / "codes.parquet")
            assert table["id"].to_pylist() == ids
            codes = np.frombuffer(b"".join(table["code"].to_pylist()), np.uint8).reshape(50, 3)
            assert (codes == index.to_numpy()[1]).all()
            index.delete(ids)
        index.add([1, "1"], X[:2])
        with pytest.raises(InvalidInputError, match="one type"):
            index.to_parquet(tmp_path / "codes.parquet")
        with pytest.raises(InvalidParameterError, match="multiple of 8"):
            index.to_faiss()
    with kind.create(":memory:", dim=48) as index, pytest.raises(NotInitializedError):
        index.to_numpy()
