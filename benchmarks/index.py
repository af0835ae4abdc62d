"""The live index: durable adds, opening, learning under searches, memory and disk, scores."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import faiss
import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_limits

from benchmarks import photographs
from benchmarks.rows import Row, timed
from onlinehash import OHWEU, Index
from onlinehash.codes import n_bytes, packed_to_words
from onlinehash.index.results import Score
from onlinehash.index.snapshot import Generation

SHAPES = ((64, 64), (512, 64))
BATCH = 100_000
KINDS = [f"kind {i}" for i in range(20)]


def rows(quick: bool) -> Iterator[Row]:
    """Everything in files on the disk that the project lies on."""
    with tempfile.TemporaryDirectory(dir=".") as folder, threadpool_limits(1):  # of BLAS; scans take all
        yield from _adds(Path(folder), quick)
        for n in (20_000,) if quick else (1_000_000, 10_000_000):
            for base_bits, n_bits in SHAPES:
                path = Path(folder) / "index"
                build(path, n, base_bits, n_bits)
                yield from opened(path, n, base_bits, n_bits)
                yield from under_load(path, n, base_bits, n_bits, quick)
                clear(path)
        yield from _beside_vectors(Path(folder), 5_000 if quick else 200_000)
        yield from _scores(Path(folder), 20_000 if quick else 1_000_000)
    yield from _precision(quick)


def build(path: Path, n: int, base_bits: int, n_bits: int) -> None:
    """An index of ``n`` random base codes with ids 0, 1, …"""
    clear(path)
    rng = np.random.default_rng(0)
    sample = rng.standard_normal((2 * base_bits, base_bits), np.float32)
    hasher = OHWEU(n_bits, base_bits=base_bits, n_init=len(sample)).initialize(sample)
    with Index.create(path, hasher=hasher, durability="normal") as index:
        for start in range(0, n, BATCH):
            size = min(BATCH, n - start)
            codes = rng.integers(0, 256, (size, n_bytes(base_bits)), np.uint8)
            index.add_codes(range(start, start + size), codes)


def clear(path: Path) -> None:
    """Take an index's files away."""
    for end in ("", "-wal", "-shm", "-lock"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _adds(folder: Path, quick: bool) -> Iterator[Row]:
    """Durable adds beside rows of an id and a code in a plain SQLite table with the same durability."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 128), np.float32)
    singles, many = (50, 5_000) if quick else (1000, 500_000)
    codes = rng.integers(0, 256, (many, 8), np.uint8)
    hasher = OHWEU(64, base_bits=64, n_init=300).initialize(X)
    with Index.create(folder / "adds", hasher=hasher) as index, _table(folder / "plain") as insert:
        seconds = {"ours": 0.0, "peer": 0.0}
        for i in range(singles):  # in turn: the disk's moods meet both
            with _added_to(seconds, "ours"):
                index.add([i], X[i : i + 1])
            with _added_to(seconds, "peer"):
                insert([(i, codes[i].tobytes())])
        yield Row(
            "durable adds", "one at a time, 128 features → 64 bits", "items/s", singles / seconds["ours"],
            singles / seconds["peer"], "sqlite3: an insert of id and code", seconds["peer"] / seconds["ours"],
            0.5,
        )  # fmt: skip
        seconds = {"ours": 0.0, "peer": 0.0}
        for start in range(0, many, BATCH):
            size = min(BATCH, many - start)
            ids = range(10_000 + start, 10_000 + start + size)
            with _added_to(seconds, "ours"):
                index.add_codes(ids, codes[start : start + size])
            with _added_to(seconds, "peer"):
                blobs = [code.tobytes() for code in codes[start : start + size]]
                insert(list(zip(ids, blobs, strict=True)))
        yield Row(
            "durable adds", "100,000 base codes at a time", "items/s", many / seconds["ours"],
            many / seconds["peer"], "sqlite3: executemany of id and code", seconds["peer"] / seconds["ours"],
        )  # fmt: skip
    clear(folder / "adds")


@contextmanager
def _table(path: Path) -> Iterator[Any]:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("CREATE TABLE items (slot INTEGER PRIMARY KEY, id UNIQUE, code BLOB)")

        def insert(values: list[tuple[int, bytes]]) -> None:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO items (id, code) VALUES (?, ?)", values)
            connection.execute("COMMIT")

        yield insert


@contextmanager
def _added_to(seconds: dict[str, float], name: str) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds[name] += time.perf_counter() - started


_MEASURE = """
import json, sys, time
from onlinehash import Index, nearest
import numpy as np
Index.create(":memory:", sample=np.random.default_rng(0).normal(size=(300, 8)), n_bits=8).close()
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
before, started = resident(), time.perf_counter()
index = Index.open(sys.argv[1], read_only=True)
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "memory": resident() - before, "items": len(index)}))
"""


def opened(path: Path, n: int, base_bits: int, n_bits: int) -> Iterator[Row]:
    """Opening in a new process, and what it takes there and on disk."""
    case = f"{base_bits}→{n_bits} bits, {n / 1e6:g}M items"
    found: dict[str, Any] = {}
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", _MEASURE, str(path)], check=True, capture_output=True)
        again = json.loads(done.stdout)
        found = min(found or again, again, key=lambda one: float(one["seconds"]))
    assert found["items"] == n
    read = timed(lambda: _read(path), 2).wall
    yield Row(
        "open", case, "s", found["seconds"], read, "reading the whole file once", read / found["seconds"],
    )  # fmt: skip
    vectors = 4 * max(base_bits, 64)
    for what, size in (("memory", found["memory"] / n), ("disk", path.stat().st_size / n)):
        yield Row(
            f"{what} an item", case, "bytes", size, vectors, f"{vectors // 4} float32", vectors / size,
        )  # fmt: skip


def _read(path: Path) -> None:
    with path.open("rb") as file:
        while file.read(1 << 20):
            pass


def under_load(path: Path, n: int, base_bits: int, n_bits: int, quick: bool) -> Iterator[Row]:
    """One thread searches without a pause: alone, then while another learns without a pause."""
    case = f"{base_bits}→{n_bits} bits, {n / 1e6:g}M items"
    rng = np.random.default_rng(1)
    X = rng.standard_normal((256, base_bits), np.float32)
    labels = [KINDS[i % len(KINDS)] for i in range(len(X))]
    with Index.open(path, durability="normal") as index:
        index.learn(X, labels)
        alone = _refresh_alone(index)
        seconds: list[float] = []
        stop = threading.Event()
        thread = threading.Thread(target=_searching, args=(index, X, seconds, stop))
        thread.start()
        time.sleep(0.2 if quick else 5)
        idle, visible = len(seconds), []
        for _ in range(3 if quick else 100 if n <= 1_000_000 else 20):
            started = time.perf_counter()
            index.learn(X, labels)
            visible.append(time.perf_counter() - started)
        stop.set()
        thread.join()
    for name, value in (("median", np.median(visible)), ("p99", np.quantile(visible, 0.99))):
        yield Row(
            f"learn to visible, {name}", f"{case}, 256 rows, under searches", "s", float(value), alone,
            "the refresh alone, all cores", alone / float(value),
        )  # fmt: skip
    quiet, busy = np.array(seconds[5:idle]) * 1e3, np.array(seconds[idle:]) * 1e3
    for name, share, goal in (("median", 0.5, None), ("p99", 0.99, 0.5)):
        ours, peer = float(np.quantile(busy, share)), float(np.quantile(quiet, share))
        yield Row(
            f"search while learning, {name}", f"{case}, one query, k=10", "ms", ours, peer,
            "the same while nobody learns", peer / ours, goal,
        )  # fmt: skip


def _searching(index: Index, X: npt.NDArray[np.float32], seconds: list[float], stop: threading.Event) -> None:
    i = 0
    while not stop.is_set():
        started = time.perf_counter()
        index.search(X[i % len(X) :][:1], k=10)
        seconds.append(time.perf_counter() - started)
        i += 1


def _refresh_alone(index: Index) -> float:
    with index._pinned() as (view, snapshot):
        assert snapshot.generation is not None
        hasher = snapshot.generation.hasher
        codes = np.concatenate([chunk.codes[chunk.taken] for chunk in view.chunks()])
        base, out = packed_to_words(codes, hasher.base_bits_), np.empty_like(snapshot.live)
        return timed(lambda: Generation.of(0, hasher).refresh(base, out), 2).wall


def _beside_vectors(folder: Path, n: int) -> Iterator[Row]:
    """The same collection as vectors in faiss: what it takes, and what another model costs there."""
    width, path = 512, folder / "beside"
    case = f"{width} features, {n:,} items"
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, width), np.float32)
    labels = [KINDS[i % len(KINDS)] for i in range(1000)]
    flat = faiss.IndexFlatIP(width)
    with Index.create(path, n_bits=64, sample=X[:2000]) as index:
        index.add(range(n), X)
        flat.add(X)
        faiss.write_index(flat, str(folder / "faiss"))
        ours = timed(lambda: index.search(X[:1], k=10), 20).wall * 1e3
        peer = timed(lambda: flat.search(X[:1], 10), 20).wall * 1e3
        yield Row(
            "search beside vectors", f"{case}, one query, k=10", "ms", ours, peer, "faiss IndexFlatIP",
            peer / ours,
        )  # fmt: skip
        ours = timed(lambda: index.search(X[:100], k=10), 3).wall * 1e3
        peer = timed(lambda: flat.search(X[:100], 10), 3).wall * 1e3
        yield Row(
            "search beside vectors", f"{case}, 100 queries, k=10", "ms", ours, peer, "faiss IndexFlatIP",
            peer / ours,
        )  # fmt: skip

        def again() -> None:
            flat.reset()
            flat.add(X)

        ours = timed(lambda: index.learn(X[:1000], labels), 3).wall
        peer = timed(again, 2).wall
        yield Row(
            "a model change", f"{case}: learn 1,000 rows, to visible", "s", ours, peer,
            "faiss: adding all new vectors again, once somebody has made them", peer / ours,
        )  # fmt: skip
        memory, disk = index.stats().memory, path.stat().st_size
    yield Row("memory beside vectors", case, "MB", memory / 1e6, 4 * width * n / 1e6, "faiss IndexFlatIP",
              4 * width * n / memory)  # fmt: skip
    written = (folder / "faiss").stat().st_size
    yield Row(
        "disk beside vectors", case, "MB", disk / 1e6, written / 1e6, "faiss.write_index", written / disk
    )
    clear(path)


def _scores(folder: Path, n: int) -> Iterator[Row]:
    """What the asymmetric score costs."""
    path = folder / "scores"
    build(path, n, 64, 64)
    X = np.random.default_rng(0).standard_normal((100, 64), np.float32)
    with Index.open(path) as index:
        for queries in (1, 100):
            ours = search_time(index, X[:queries], "asymmetric")
            peer = search_time(index, X[:queries], "hamming")
            yield Row(
                "search, asymmetric", f"64 bits, {n / 1e6:g}M items, queries={queries}, k=10", "ms",
                ours, peer, "by Hamming distance", peer / ours,
            )  # fmt: skip
    clear(path)


def search_time(index: Index, X: npt.NDArray[np.float32], score: Score = "asymmetric") -> float:
    """Milliseconds of one search."""
    return timed(lambda: index.search(X, k=10, score=score), 5).wall * 1e3


def _precision(quick: bool) -> Iterator[Row]:
    """What the asymmetric score brings on photographs, through the index."""
    if not photographs.available():
        print(f"index: the scores' precision: {photographs.MISSING}", file=sys.stderr)
        return
    for setting in ("tags",) if quick else ("no-person", "tags"):
        split = photographs.split(setting, 0, *((200, 100) if quick else ()))
        for n_bits in (32,) if quick else (32, 64, 128):
            hasher = OHWEU(n_bits).fit(split.X, split.Y)
            with Index.create(":memory:", hasher=hasher) as index:
                index.add(range(len(split.X)), split.X)
                for k in (10, 100):
                    ours, peer = (_share(index, split, k, score) for score in ("asymmetric", "hamming"))
                    yield Row(
                        f"precision at {k}, asymmetric", f"photographs, {setting}, {n_bits} bits", "share",
                        ours, peer, "by Hamming distance", ours / peer, 1.0,
                    )  # fmt: skip


def _share(index: Index, split: photographs.Split, k: int, score: Any) -> float:
    """Of the first k the share with a label of the query."""
    ids = index.search(split.X_query, k=k, score=score).ids.astype(int)
    found = [(split.Y[row] @ query > 0).mean() for row, query in zip(ids, split.Y_query, strict=True)]
    return float(np.mean(found))
