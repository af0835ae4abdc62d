"""One function for each kind of job: what is measured, and how."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.hashers.base import OnlineHasher
from onlinehash.hashers.chunked import ChunkedHasher
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.paper import protocol
from onlinehash.paper.jobs import Job
from onlinehash.paper.methods import METHODS
from onlinehash.paper.protocol import CHUNK, encoded
from onlinehash.paper.sources import MS_COCO, NUS_WIDE, Made, Setting

Values = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Bench:
    """What a job works with: the settings by name, and a folder for made data."""

    settings: dict[str, Setting]
    folder: Path

    def run(self, job: Job) -> Values:
        """Measure; nothing is kept between jobs."""
        return _MEASURES[job.kind](job, self)


class Clock:
    """Seconds spent in what is timed, start to end of each ``with``."""

    def __init__(self, now: Callable[[], float] = time.perf_counter) -> None:
        self.seconds, self._now = 0.0, now

    @contextmanager
    def running(self) -> Iterator[None]:
        """Add the time until the end of the block."""
        began = self._now()
        try:
            yield
        finally:
            self.seconds += self._now() - began


def tune(job: Job, bench: Bench) -> Values:
    """MAP on the validation part for one set of a rival's parameters."""
    parts, hasher = _start(job, bench)
    _learn(hasher, parts.stream.chunks(CHUNK))
    _finish(hasher)
    return {"mAP": _score(hasher, parts.validation, parts.stream, job.n_bits)}


def constant(job: Job, bench: Bench) -> Values:
    """MAP on the queries for one C."""
    parts, hasher = _start(job, bench)
    _learn(hasher, parts.stream.chunks(CHUNK))
    return {"mAP": _score(hasher, parts.queries, parts.stream, job.n_bits)}


def stream(job: Job, bench: Bench) -> Values:
    """One pass over the stream, with a look at shares of it: mAP, time, flipped bits, staleness."""
    parts, hasher = _start(job, bench)
    # of the processor: other measurements may run beside this one
    learning, hashing, refreshing = (Clock(time.process_time) for _ in range(3))
    H: Packed | None = None
    old: Packed | None = None
    seen, curve = 0, []
    for share in job.protocol["shares"]:
        until = max(round(share * parts.stream.n), min(parts.stream.n, hasher.n_init))
        if until == seen:
            continue
        with learning.running():
            _learn(hasher, parts.stream.select(np.arange(seen, until)).chunks(CHUNK))
            if until == parts.stream.n:
                _finish(hasher)
        seen = until
        if isinstance(hasher, OHWEU):
            if H is None:
                with hashing.running():
                    H = encoded(hasher.hash, parts.stream)
            with refreshing.running():
                codes = hasher.project(H)
        else:
            with refreshing.running():
                codes = encoded(hasher.encode, parts.stream)
        asked = encoded(hasher.encode_query, parts.queries)
        fresh = protocol.score(asked, codes, parts.queries, parts.stream, job.n_bits)
        look = {"share": share, "n": until, "mAP": fresh, "learning": learning.seconds}
        if old is not None:
            flipped = np.bitwise_count(old ^ codes).sum() / (len(codes) * job.n_bits)
            stale = protocol.score(asked, old, parts.queries, parts.stream, job.n_bits)
            look |= {"flipped": float(flipped), "mAP, new queries on old codes": stale}
        curve.append(look)
        old = codes
    database = protocol.score(asked, codes, parts.queries, parts.stream, job.n_bits, "database")
    values: Values = {
        "mAP": fresh, "mAP, ties in database order": database, "curve": curve, "n": parts.stream.n,
        "dim": parts.stream.dim, "learning": learning.seconds, "hashing once": hashing.seconds,
        "refresh": refreshing.seconds / len(curve),
    }  # fmt: skip
    if isinstance(hasher, OHWEU):
        symmetric = encoded(lambda X: hasher.encode_query(X, symmetric=True), parts.queries)
        values["mAP, symmetric"] = protocol.score(symmetric, codes, parts.queries, parts.stream, job.n_bits)
    return values | _memory(hasher, parts.stream.dim)


def training(job: Job, bench: Bench) -> Values:
    """Seconds to learn from made data of the paper's shape, read from disk a chunk at a time."""
    made = _made(job.data)
    hasher = METHODS[job.method].make(job.n_bits, job.seed, job.parameters)
    rows = hasher.n_init + job.protocol["rows"]
    data = made.open(bench.folder, min(max(rows, 2000), made.n))
    _warm_up(job)
    starting, learning = Clock(), Clock()
    X, Y = next(data.chunks(hasher.n_init))
    with starting.running():
        hasher.partial_fit(X, Y)
    n = min(rows, data.n) - hasher.n_init
    for X, Y in data.select(np.arange(hasher.n_init, hasher.n_init + n)).chunks(CHUNK):
        with learning.running():
            hasher.partial_fit(X, Y)
    with learning.running():
        _finish(hasher)
    each = learning.seconds / n
    return {
        "rows": n, "start": starting.seconds, "seconds an item": each, "n": made.n,
        "seconds": starting.seconds + each * (made.n - hasher.n_init),
        "measured whole": rows >= made.n,
    } | _memory(hasher, made.dim)  # fmt: skip


def accumulate(job: Job, bench: Bench) -> Values:
    """Figure 5: after every chunk, all that was received so far is brought up to date.

    OHWEU reads base codes, in memory. The others read every item's features from disk again, past
    the page cache where the system lets one, and hash them.
    """
    chunks = job.protocol["chunks"]
    made = _made(job.data)
    data = made.open(bench.folder, max(2000, chunks * CHUNK))
    path = made.path(bench.folder, data.n)
    hasher = METHODS[job.method].make(job.n_bits, job.seed, job.parameters)
    _warm_up(job)
    learning, refreshing, reading = Clock(), Clock(), Clock()
    H = np.empty((0, 0), np.uint8)
    found = []
    for number, (X, Y) in enumerate(data.chunks(CHUNK)):
        if number == chunks:
            break
        with learning.running():
            hasher.partial_fit(X, Y)
        if not hasher.initialized_:
            continue
        if isinstance(hasher, OHWEU):
            with refreshing.running():
                fresh = (
                    hasher.hash(X) if len(H) else hasher.hash(data.rows(np.arange((number + 1) * CHUNK))[0])
                )
                H = np.concatenate([H, fresh]) if len(H) else fresh
                hasher.project(H)
        else:
            for start in range(0, (number + 1) * CHUNK, CHUNK):
                with reading.running():
                    rows = _from_disk(path, start, CHUNK, made.dim)
                with refreshing.running():
                    hasher.encode(rows)
        total = learning.seconds + refreshing.seconds + reading.seconds
        found.append({
            "n": (number + 1) * CHUNK, "total": total, "learning": learning.seconds,
            "refreshing": refreshing.seconds, "reading": reading.seconds,
        })  # fmt: skip
    return {"accumulated": found}


def width(job: Job, bench: Bench) -> Values:
    """Seconds an item to bring stored codes up to date, by the number of features."""
    dim, rows = job.protocol["width"], job.protocol["rows"]
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows, dim), np.float32)
    Y = rng.random((rows, 21)) < 0.1
    hasher = METHODS[job.method].make(job.n_bits, job.seed, job.parameters).fit(X, Y)
    if isinstance(hasher, OHWEU):
        base = np.resize(hasher.hash(X), (100_000, -(-hasher.base_bits_ // 8)))
        return {"seconds an item": _quickest(lambda: hasher.project(base)) / len(base)}
    return {"seconds an item": _quickest(lambda: hasher.encode(X)) / rows}


_MEASURES: dict[str, Callable[[Job, Bench], Values]] = {
    "tune": tune, "stream": stream, "C": constant, "time": training, "accumulate": accumulate, "width": width,
}  # fmt: skip


def _start(job: Job, bench: Bench) -> tuple[protocol.Parts, OnlineHasher]:
    data = bench.settings[job.data].open()
    parts = protocol.divide(data, job.seed, job.protocol["queries"], job.protocol["validation"])
    return parts, METHODS[job.method].make(job.n_bits, job.seed, job.parameters)


def _learn(hasher: OnlineHasher, chunks: Iterator[tuple[Any, Any]]) -> None:
    for X, Y in chunks:
        hasher.partial_fit(X, Y)


def _finish(hasher: OnlineHasher) -> None:
    """The stream has ended: what still waits for company is learnt from as it is."""
    if not hasher.initialized_:
        hasher.initialize()
    if isinstance(hasher, ChunkedHasher):
        hasher.flush()


def _score(hasher: OnlineHasher, asked: Any, stored: Any, n_bits: int) -> float:
    queries, codes = encoded(hasher.encode_query, asked), encoded(hasher.encode, stored)
    return protocol.score(queries, codes, asked, stored, n_bits)


def _memory(hasher: OnlineHasher, dim: int) -> Values:
    """Bytes of what is learnt, and of what a refresh must have of every item."""
    needed = 4 * dim if hasher.refreshes_from == "features" else 0
    if isinstance(hasher, OHWEU):
        needed = -(-hasher.base_bits_ // 8)
    return {"state bytes": sum(a.nbytes for a in hasher._state()[0].values()), "bytes an item": needed}


def _warm_up(job: Job) -> None:
    """Have this method's kernels compiled before anything is timed."""
    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal((400, 1024), np.float32), rng.integers(0, 5, 400)
    small = {name: value for name, value in job.parameters.items() if name != "chunk_size"}
    hasher = METHODS[job.method].make(job.n_bits, 0, small)
    hasher.fit(X[:330], Y[:330]).encode(X)


def _made(name: str) -> Made:
    return next(made for made in (NUS_WIDE, MS_COCO) if made.name == name)


def _quickest(work: Callable[[], Any], repeats: int = 3) -> float:
    clocks = [Clock() for _ in range(repeats + 1)]
    for clock in clocks:
        with clock.running():
            work()
    return min(clock.seconds for clock in clocks[1:])


def _from_disk(path: Path, start: int, count: int, dim: int) -> npt.NDArray[np.float32]:
    with path.open("rb") as file:
        np.lib.format.read_magic(file)
        np.lib.format.read_array_header_1_0(file)
        offset = file.tell() + start * dim * 4
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(file.fileno(), offset, count * dim * 4, os.POSIX_FADV_DONTNEED)
        file.seek(offset)
        return np.fromfile(file, np.float32, count * dim).reshape(count, dim)
