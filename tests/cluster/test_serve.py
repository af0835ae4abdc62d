"""The server and the command line in front of a dataset."""

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from onlinehash import OHWEU, Client, Index, InvalidParameterError, cluster
from onlinehash.cli.export import export
from onlinehash.cli.main import app
from onlinehash.cli.serve import _clusters
from tests.server.conftest import Running

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


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
        metrics = running.client.get("/metrics").text
        assert 'shards_down{index="photos"} 0.0' in metrics
        assert 'onlinehash_shard_up{index="photos",replica="0",shard="1"} 1.0' in metrics
        assert 'onlinehash_shard_step_seconds{index="photos",replica="0",shard="1",step="refresh"}' in metrics
        address = f"{running.url}/photos"
        assert json.loads(said("info", address, "--json"))["shards"] == stats["shards"]
        assert "refresh, s" in said("info", address)
        with Client(running.url, "photos") as client:
            assert len(client) == 300
        assert running.client.delete(at).status_code == 409
    finally:
        running.stop()
    with Index.open(path) as index:
        index.learn(X[:50], ["a", "b"] * 25)
        expected = index.search(X[:5], k=4).to_dict()
    assert answer.json()["hits"] == expected["hits"]
    told, expected_stats = json.loads(said("info", str(uri), "--json")), asdict(cluster.stats(uri))
    assert told == expected_stats
    own = {"path", "memory", "disk", "seconds", "flipped", "read_only", "shards"}
    assert {k: v for k, v in told.items() if k not in own} == {k: v for k, v in stats.items() if k not in own}
    assert "300" in said("info", str(uri))
    assert said("check", str(uri)) == f"{uri}: whole\n"
    export(uri, str(back))
    with Index.open(back) as again:
        assert again.search(X[:5], k=4).to_dict() == expected
    with pytest.raises(InvalidParameterError, match=r"ends with \.oh"):
        export(uri, str(tmp_path / "codes.parquet"))
    with pytest.raises(InvalidParameterError, match="exists"):
        cluster.to_file(uri, back)
