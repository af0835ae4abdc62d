"""What is so of files only: one writer, forks, and what is refused as no index."""

import os
import sqlite3
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import (
    OHWEU,
    Index,
    IndexClosedError,
    IndexFileError,
    IndexLockedError,
    InvalidInputError,
    InvalidParameterError,
    ReadOnlyError,
)

Clusters = tuple[npt.NDArray[np.float32], npt.NDArray[np.int64]]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "photos.oh"


def test_one_writer_many_readers(path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    with Index.create(path, dim=40, hasher=OHWEU(32, n_init=200)) as index:
        with pytest.raises(IndexLockedError, match="open for writing already"):
            Index.open(path)
        with pytest.raises(IndexLockedError):
            Index.create(path, dim=40)
        with Index.open(path, read_only=True) as reader:
            for change in (
                lambda: index.add(range(100), X[:100]),
                lambda: index.delete([5, 6]),
                lambda: index.add(range(100, 900), X[100:900]),
                lambda: index.add([1000], X[:1]),
                lambda: index.delete(range(10, 300)),
                lambda: index.add(range(2000, 2100), X[1000:1100]),
                lambda: index.learn(X, Y),
                lambda: index.add([1], X[50:51], replace=True),
                lambda: index.tag([1], ["tag"]),
            ):
                change()
                assert len(reader) == len(index)
                assert reader.search(X[:80], k=30).to_dict() == index.search(X[:80], k=30).to_dict()
            assert reader.stats().generation == reader.refresh() == index.stats().generation
            for refused in (lambda: reader.add([9999], X[:1]), lambda: reader.delete([1]),
                            lambda: reader.learn(X[:1], ["a"]), lambda: reader.tag([1], ["a"])):  # fmt: skip
                with pytest.raises(ReadOnlyError):
                    refused()
    with Index.open(path) as index:
        assert len(index) == 709


def test_files_that_are_not_indexes(path: Path, clusters: Clusters) -> None:
    with pytest.raises(IndexFileError, match="no such file"):
        Index.open(path)
    path.write_text("something else, long enough to have a header" * 100)
    for how in ({}, {"read_only": True}):
        with pytest.raises(IndexFileError):
            Index.open(path, **how)  # type: ignore[arg-type]
    with pytest.raises(IndexFileError):
        Index.create(path, dim=4)
    path.unlink()
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE notes (text)")
    connection.close()
    with pytest.raises(IndexFileError, match="not an index of onlinehash"):
        Index.open(path)
    with pytest.raises(InvalidParameterError, match="exists"):
        Index.create(path, dim=4)
    path.unlink()
    Index.create(path, dim=4, n_bits=4).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(IndexFileError, match="version 9"):
        Index.open(path)


def test_creating(path: Path, clusters: Clusters) -> None:
    X, Y = clusters
    fitted = OHWEU(16, n_init=100).fit(X, Y)
    for how, what in (
        ({}, "dim must be"),
        ({"dim": 0}, "dim must be"),
        ({"dim": 40, "n_bits": 0}, "n_bits must be"),
        ({"dim": 41, "sample": X}, "dim is 41"),
        ({"dim": 41, "hasher": fitted}, "dim is 41"),
        ({"n_bits": 8, "hasher": fitted}, "n_bits is 8"),
        ({"sample": X, "hasher": fitted}, "not both"),
        ({"dim": 4, "hasher": "OHWEU"}, "expected an OHWEU"),
        ({"dim": 4, "durability": "none"}, "durability must be one of full, normal"),
        ({"dim": 4, "refresh": "never"}, "refresh must be one of auto, manual"),
        ({"dim": 4, "hasher": OHWEU(64, base_bits=None)}, "64"),
    ):
        with pytest.raises((InvalidParameterError, InvalidInputError), match=what):
            Index.create(path, **how)
        assert not path.exists()
    with Index.create(path, hasher=fitted, exist_ok=True) as index:
        index.add([1], X[:1])
    with Index.create(path, dim=40, n_bits=16, exist_ok=True) as index:
        assert len(index) == 1
    with pytest.raises(InvalidParameterError, match="asked for dim=40, n_bits=17"):
        Index.create(path, dim=40, n_bits=17, exist_ok=True)
    with pytest.raises(InvalidParameterError, match="created, not opened"):
        Index.open(":memory:")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_told_to_open_its_own(path: Path, clusters: Clusters) -> None:
    X, _ = clusters
    with Index.create(path, sample=X[:300]) as index:
        index.add([1], X[:1])
        child = os.fork()
        if child == 0:  # pragma: no cover
            status = 1
            try:
                index.search(X[:1])
            except IndexClosedError as error:
                index.close()
                with Index.open(path, read_only=True) as own:
                    status = 0 if "forked" in str(error) and 1 in own else 2
            finally:
                os._exit(status)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        index.add([2], X[1:2])
        assert len(index) == 2
