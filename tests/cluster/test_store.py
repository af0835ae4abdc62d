"""The dataset itself: damage is found, and failures of the storage leave it and the index whole."""

import os
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

from onlinehash import OHWEU, Index, IndexFileError, OnlineHashError, StorageError, cluster
from onlinehash.cluster import lance_store
from onlinehash.cluster.place import Disk

pytestmark = [pytest.mark.usefixtures("actors"), pytest.mark.xdist_group("ray")]

X = np.random.default_rng(0).normal(size=(400, 24)).astype(np.float32)
KINDS = ["a" if x[0] > 0 else "b" for x in X]
HASHER = OHWEU(32, n_init=100).initialize(X)


@pytest.fixture
def index(uri: Path) -> Iterator[Index]:
    with cluster.create(uri, hasher=HASHER, shards=2, stripe=32) as made:
        made.add(range(300), X[:300], payloads=[{"n": i} for i in range(300)])
        yield made


def test_models_that_no_state_names_are_removed(
    uri: Path, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance_store, "_KEEP", timedelta(0))
    models = uri.with_name("photos.lance-models")
    base = os.listdir(models)
    for _ in range(3):
        index.learn(X[:100], KINDS[:100])
        index._write_down()
    foreign = [".DS_Store", "notes-of mine", f"000000000009-another-{index._snapshot.sequence + 1}"]
    for name in (*foreign, "000000000009-died-1"):
        (models / name).mkdir()
    index.tidy()
    left = set(os.listdir(models))
    assert len(left) == 2 + len(foreign)
    assert left > {*base, *foreign}
    answers = index.search(X[:9], k=9).to_dict()
    index.close()
    with cluster.open(uri) as again:
        assert again.search(X[:9], k=9).to_dict() == answers


def test_tidying_may_fail(uri: Path, index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("anything")

    monkeypatch.setattr(lance_store, "_TIDY", 1)
    monkeypatch.setattr(lance_store, "remove_unnamed", fails)
    for id in range(1000, 1004):
        index.add([id], X[:1])
    assert len(index) == 304
    assert cluster.check(uri) == []
    assert index.search(X[:1], k=5).ids[0].tolist() == [0, 1000, 1001, 1002, 1003]


def test_it_is_tidied_whoever_writes(uri: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lance_store, "_TIDY", 6)
    cluster.create(uri, hasher=HASHER).close()
    for turn in range(9):  # a change or two each
        with cluster.open(uri) as index:
            index.add([turn], X[turn : turn + 1])
    assert len(lance.dataset(uri).get_fragments()) < 8


def test_what_is_no_dataset(tmp_path: Path) -> None:
    with pytest.raises(IndexFileError, match="no such dataset"):
        cluster.open(tmp_path / "nothing.lance")
    Index.create(tmp_path / "photos.oh", hasher=HASHER).close()
    with pytest.raises(IndexFileError, match="a file, and no Lance dataset"):
        cluster.open(tmp_path / "photos.oh")
    (tmp_path / "folder.lance").mkdir()
    with pytest.raises(IndexFileError, match="no such dataset"):
        cluster.open(tmp_path / "folder.lance")
    with pytest.raises(IndexFileError, match="a folder, and no index's file"):
        Index.open(tmp_path)


def test_a_disk_that_fails_while_opening_is_no_other_writer(
    uri: Path, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any, **__: Any) -> Any:
        raise OSError("no space left")

    index.close()
    with monkeypatch.context() as full:
        full.setattr(lance_store, "write_fragments", fails)
        with pytest.raises(StorageError, match="no space left"):
            cluster.open(uri)
    with cluster.open(uri) as again:
        assert len(again) == 300


def test_a_change_that_failed_can_be_made_again(index: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = lance.LanceDataset.commit

    def fails(*_: Any, **__: Any) -> Any:
        monkeypatch.setattr(lance.LanceDataset, "commit", commit)
        raise OSError("the network was away")

    index.learn(X[:9], KINDS[:9])
    answers = index.search(X[:9], k=9).to_dict()
    for change in (
        lambda: index.add([1000], X[:1]),
        lambda: index.learn(X, KINDS),
        lambda: write_down(index),
    ):
        monkeypatch.setattr(lance.LanceDataset, "commit", fails)
        with pytest.raises(StorageError, match="the network was away"):
            change()
        assert index.search(X[:9], k=9).to_dict() == answers
        change()
        answers = index.search(X[:9], k=9).to_dict()
    assert 1000 in index
    assert index._store.verify() == []


def write_down(index: Any) -> None:
    """What was learnt as a model, as closing does, but errors are seen."""
    from onlinehash.index.model import to_model

    with index._change() as change:
        change.put_model(to_model(index._hasher, index._generation, first=False), index._generation)
        index._prepare(change, index._buffers, np.empty(0, np.int64), np.empty(0, np.int64))


def test_a_change_of_which_nobody_knows_is_not_built_upon(
    uri: Path, index: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Committed, and then the disk fails: it may be there after a power failure, or not."""
    sync, calls = Disk.sync, []

    def fails(disk: Disk) -> None:
        calls.append(disk)
        if len(calls) == 2:  # rows are on the disk, the version is not
            raise OSError("the disk fails")
        sync(disk)

    monkeypatch.setattr(Disk, "sync", fails)
    with pytest.raises(StorageError, match="the disk fails"):
        index.add([1000], X[:1])
    for _ in range(2):
        with pytest.raises(StorageError, match="open it again to see"):
            index.add([1001], X[1:2])
    assert len(index) == 300
    index.close()
    with cluster.open(uri) as again:
        assert 1001 not in again
        again.add([1002], X[:1])
        assert again._store.verify() == []


@pytest.mark.parametrize(
    "what", ["a payload", "a code", "the count", "a slot", "a model", "a file", "a version"]
)
def test_damage_is_found(uri: Path, index: Any, what: str) -> None:
    index.learn(X, KINDS)
    index.close()
    assert cluster.check(uri) == []
    data = sorted((uri / "data").iterdir(), key=lambda path: path.stat().st_size)[-1]
    model = max(uri.with_name("photos.lance-models").glob("*/data/*"), key=lambda path: path.stat().st_mtime)
    table = lance.dataset(uri).to_table(filter="slot = 7")
    if what == "a payload":
        lance.dataset(uri).update({"payload": "'{}'"}, where="slot = 7")
    elif what == "a code":
        codes = pa.array([bytes(table["code"].type.byte_width)], table["code"].type)
        lance.dataset(uri).delete("slot = 7")
        lance.write_dataset(
            table.set_column(table.schema.get_field_index("code"), "code", codes), uri, mode="append"
        )
    elif what == "the count":
        lance.dataset(uri).delete("slot = 7")
    elif what == "a slot":
        lance.write_dataset(table, uri, mode="append")
    elif what == "a model":
        content = model.read_bytes()
        middle = len(content) // 2
        model.write_bytes(
            content[:middle] + bytes(b ^ 255 for b in content[middle : middle + 64]) + content[middle + 64 :]
        )
    elif what == "a file":
        data.write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    else:
        for version in (uri / "_versions").iterdir():
            version.write_bytes(b"something else")
    found = cluster.check(uri)
    assert found
    assert all(str(uri) in sentence and ".rs:" not in sentence for sentence in found)
    if what in ("a model", "a file", "a version"):
        with pytest.raises((IndexFileError, StorageError)):
            cluster.stats(uri)
        with pytest.raises(OnlineHashError):
            cluster.open(uri)
