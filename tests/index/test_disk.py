"""A full disk leaves the index open and intact; damage is found, and refused rather than served."""

import re
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import OHWEU, Index, IndexFileError, StorageError, check

X = np.random.default_rng(0).normal(size=(3000, 64)).astype(np.float32)
LABELS = ["left" if x[0] < 0 else "right" for x in X]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with all tables in use and nothing else beside."""
    file = tmp_path / "index"
    with Index.create(file, hasher=OHWEU(24, n_init=300).fit(X[:300]), keep_vectors=True) as index:
        index.add(range(1200), X[:1200], labels=LABELS[:1200], payloads=[{"n": i} for i in range(1200)])
        index.learn(X[:500], LABELS[:500])
        index.delete(range(0, 1200, 7))
    return file


def test_a_full_disk(path: Path) -> None:
    with Index.open(path) as index:
        answers = index.search(X[:20]).to_dict()
        generation = index.stats().generation
        writer = index._store._writer  # type: ignore[attr-defined]
        (pages,) = writer.execute("PRAGMA page_count").fetchone()
        writer.execute(f"PRAGMA max_page_count = {pages + 2}")
        for change in (
            lambda: index.add(range(2000, 3000), X[:1000]),
            lambda: index.learn(X, [f"label {i}" for i in range(len(X))]),
            lambda: index.tag([1] * 3000, [f"label {i}" for i in range(3000)]),
        ):
            with pytest.raises(StorageError, match="full"):
                change()
            assert index.search(X[:20]).to_dict() == answers
            assert index.stats().generation == generation
            assert index.stats().pending == 0
        index.delete([1])
        writer.execute("PRAGMA max_page_count = 1000000")
        index.add(range(2000, 3000), X[:1000])
        assert 2999 in index
        answers = index.search(X[:20]).to_dict()
    assert check(path) == []
    with Index.open(path) as index:
        assert index.search(X[:20]).to_dict() == answers


LIMITED = """
import resource, sys
import numpy as np
from onlinehash import Index, StorageError
from tests.index.test_disk import X
with Index.open(sys.argv[1]) as index:
    resource.setrlimit(resource.RLIMIT_FSIZE, (900_000, 900_000))  # no file may grow any more
    before = len(index)
    failed = 0
    for i in range(20):
        try:
            index.add(range(5000 + 100 * i, 5100 + 100 * i), X[:100])
            before += 100
        except StorageError:
            failed += 1
        assert len(index) == before
        assert index.search(X[:5]).ids.shape == (5, 10)
    assert failed > 3, failed
    print(before)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits on the size of files")
def test_a_limit_on_the_size_of_files(path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, str(path)], check=False, capture_output=True, text=True,
        cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert check(path) == []
    with Index.open(path) as index:
        assert len(index) == int(done.stdout)


def change(path: Path, sql: str, *values: Any) -> None:
    connection = sqlite3.connect(path)
    assert connection.execute(sql, values).rowcount == 1
    connection.commit()
    connection.close()


def flipped(path: Path, table: str, column: str, row: str) -> None:
    """Flip one bit in the middle of a value."""
    connection = sqlite3.connect(path)
    (value,) = connection.execute(f"SELECT {column} FROM {table} WHERE {row}").fetchone()
    connection.close()
    data = bytearray(value if isinstance(value, bytes) else value.encode())
    data[len(data) // 2] ^= 1
    change(
        path, f"UPDATE {table} SET {column} = ? WHERE {row}",
        bytes(data) if isinstance(value, bytes) else data.decode(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("table", "column", "row", "what"),
    [
        ("chunks", "codes", "number = 1", "chunk 1"),
        ("chunks", "taken", "number = 0", "chunk 0"),
        ("model", "value", "part = 'base'", "the base hash"),
        ("model", "value", "part = 'learnt'", "what was learnt"),
        ("labels", "code", "number = 1", "label 'left'|label 'right'"),
        ("state", "settings", "one = 1", "settings"),
    ],
)
def test_damage_is_found_and_not_opened(path: Path, table: str, column: str, row: str, what: str) -> None:
    flipped(path, table, column, row)
    for how in ({}, {"read_only": True}):
        with pytest.raises(IndexFileError, match=what):
            Index.open(path, **how)  # type: ignore[arg-type]
    (sentence,) = check(path)[:1]
    assert "damaged" in sentence


@pytest.mark.parametrize(
    ("table", "column", "row"), [("items", "payload", "slot = 5"), ("vectors", "vector", "slot = 5")]
)
def test_damaged_items_are_not_served(path: Path, table: str, column: str, row: str) -> None:
    flipped(path, table, column, row)
    assert len(check(path)) == 1
    with Index.open(path) as index:
        with pytest.raises(IndexFileError, match=r"the item 5|slot 5"):
            index.get(5)
        with pytest.raises(IndexFileError):
            index.search(X[5:6], k=1000, rerank=1000)
        assert index.get(6) is not None


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("DELETE FROM items WHERE slot = 9", "1 slots have a base code, but no item, the first in slot 9"),
        ("DELETE FROM chunks WHERE number = 1", "chunk 1 of the base codes is missing"),
        ("DELETE FROM model WHERE part = 'base'", "a part of the model is missing"),
        ("DELETE FROM vectors WHERE slot = 9", "1 items have no vector, the first in slot 9"),
        ("DELETE FROM state", "settings are missing|state"),
    ],
)
def test_what_is_missing_is_found(path: Path, sql: str, what: str) -> None:
    change(path, sql)
    assert any(re.search(what, sentence) for sentence in check(path)), check(path)


def test_damaged_pages(path: Path) -> None:
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    refused = found = 0
    for _ in range(60):
        data = bytearray(whole)
        start = int(rng.integers(len(data) - 200))
        data[start : start + 200] = rng.bytes(200)
        if bytes(data) == whole:
            continue
        path.write_bytes(data)
        problems = check(path)
        found += bool(problems)
        try:
            with Index.open(path) as index:
                index.search(X[:50], k=1000, payloads=True)
        except IndexFileError:
            refused += 1
            assert problems, "what is refused is found"
    assert found >= 50, found  # what is left lies in pages and bytes that nothing uses
    assert refused >= 10, refused


def test_a_truncated_file(path: Path) -> None:
    whole = path.read_bytes()
    for share in (0.001, 0.3, 0.9):
        path.write_bytes(whole[: int(share * len(whole))])
        assert check(path)
        with pytest.raises(IndexFileError):
            Index.open(path)
    path.write_bytes(b"")
    with pytest.raises(IndexFileError):
        Index.open(path)
    Index.create(path, dim=4, n_bits=4).close()  # an empty file holds nothing of anybody's
