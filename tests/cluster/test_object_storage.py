"""The dataset on object storage: moto's S3, over HTTP, on this machine."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from urllib.request import Request, urlopen

import lance
import numpy as np
import pytest
from lance.file import LanceFileSession
from moto.server import ThreadedMotoServer

from onlinehash import OHWEU, Index, IndexFileError, IndexLockedError, cluster
from onlinehash.cluster import lance_store

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(900, 24)).astype(np.float32)
LABELS = ["left" if x[0] < 0 else "right" for x in X]


@pytest.fixture(scope="module")
def options() -> Iterator[dict[str, str]]:
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    address = f"http://{host}:{port}"
    with urlopen(Request(f"{address}/bucket", method="PUT")):
        yield {
            "aws_endpoint": address, "allow_http": "true", "aws_region": "us-east-1",
            "aws_access_key_id": "anybody", "aws_secret_access_key": "anything",
        }  # fmt: skip
    server.stop()


def test_an_index_on_s3(options: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    uri, hasher = "s3://bucket/photos.lance", OHWEU(32, n_init=300)
    with pytest.raises(IndexFileError, match="no such dataset"):
        cluster.open(uri, storage_options=options)
    embedded = Index.create(":memory:", dim=24, hasher=hasher)
    first = cluster.create(uri, dim=24, hasher=hasher, shards=2, stripe=32, storage_options=options)
    for index in (embedded, first):
        index.add(range(500), X[:500], payloads=[{"n": i} for i in range(500)])
        index.learn(X[500:], LABELS[500:])
        index.delete(range(0, 500, 9))
        index.tag([1, 2], ["x", "y"])
        index.add([1], X[600:601], replace=True)
    answers = embedded.search(X[:50], k=9, where={"n": {"lt": 400}}).to_dict()
    assert first.search(X[:50], k=9, where={"n": {"lt": 400}}).to_dict() == answers
    second = cluster.open(uri, shards=1, storage_options=options)
    assert second.search(X[:50], k=9, where={"n": {"lt": 400}}).to_dict() == answers
    with pytest.raises(IndexLockedError):
        first.learn(X[:9], LABELS[:9])
    assert second.learn(X[:9], LABELS[:9]) == embedded.learn(X[:9], LABELS[:9])
    monkeypatch.setattr(lance_store, "_KEEP", timedelta(0))
    models = LanceFileSession(f"{uri}-models", options)
    before = {file.split("/")[0] for file in models.list()}
    for _ in range(2):
        second._write_down()
        assert second.learn(X[:9], LABELS[:9]) == embedded.learn(X[:9], LABELS[:9])
    second.tidy()
    after = {file.split("/")[0] for file in models.list()}
    assert len(after) == 2, "the first, with what never moves, and the last"
    assert len(after & before) == 1
    first.close()
    second.close()
    with cluster.open(uri, read_only=True, storage_options=options) as again:
        assert again.search(X[:50], k=9).to_dict() == embedded.search(X[:50], k=9).to_dict()
    embedded.close()


def test_an_answer_of_the_storage_that_is_lost(
    options: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The change is there, and nobody has heard of it: it is taken for made."""
    commit, uri = lance.LanceDataset.commit, "s3://bucket/lost.lance"

    def unheard(*values: Any, **how: Any) -> Any:
        monkeypatch.setattr(lance.LanceDataset, "commit", commit)
        commit(*values, **how)
        raise OSError("the connection was closed")

    hasher = OHWEU(32, n_init=300).initialize(X)
    with cluster.create(uri, hasher=hasher, storage_options=options) as index:
        for id in range(4):
            if id % 2:
                monkeypatch.setattr(lance.LanceDataset, "commit", unheard)
            index.add([id], X[id : id + 1])
        assert index.search(X[:4], k=1).ids.ravel().tolist() == [0, 1, 2, 3]
    assert cluster.check(uri, storage_options=options) == []
