"""The server and the command line in front of a dataset."""

from pathlib import Path

import numpy as np
import pytest

from onlinehash import OHWEU, Index, InvalidParameterError, cluster
from onlinehash.cli.export import export
from onlinehash.cli.serve import _clusters
from tests.server.conftest import Running

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(300, 12)).astype(np.float32)


def test_exported_served_and_back(uri: Path, tmp_path: Path) -> None:
    path, back = tmp_path / "photos.oh", tmp_path / "back.oh"
    with Index.create(path, hasher=OHWEU(32, n_init=100).initialize(X[:100])) as index:
        index.add(range(300), X)
    export(path, str(uri))
    for wrong in ("photos", "=x", "photos="):
        with pytest.raises(InvalidParameterError, match="NAME=URI"):
            _clusters([wrong], 1, 1)
    running = Running(tmp_path / "served", others=_clusters([f"photos={uri}"], 2, 1))
    try:
        at, queries = "/v1/indexes/photos", X[:5].tolist()
        learnt = running.client.post(
            f"{at}/learn", json={"vectors": X[:50].tolist(), "labels": ["a", "b"] * 25}
        )
        learnt.raise_for_status()
        answer = running.client.post(f"{at}/search", json={"vectors": queries, "k": 4})
        stats = running.client.get(at).json()["stats"]
        assert [(part["shard"], part["up"]) for part in stats["shards"]] == [(0, True), (1, True)]
        assert 'shards_down{index="photos"} 0.0' in running.client.get("/metrics").text
        assert running.client.delete(at).status_code == 409
    finally:
        running.stop()
    with Index.open(path) as index:
        index.learn(X[:50], ["a", "b"] * 25)
        expected = index.search(X[:5], k=4).to_dict()
    assert answer.json()["hits"] == expected["hits"]
    export(uri, str(back))
    with Index.open(back) as again:
        assert again.search(X[:5], k=4).to_dict() == expected
    with pytest.raises(InvalidParameterError, match=r"ends with \.oh"):
        export(uri, str(tmp_path / "codes.parquet"))
    with pytest.raises(InvalidParameterError, match="exists"):
        cluster.to_file(uri, back)
