"""Searches over HTTP on this machine, by wrk: idle and while it learns, beside searches in process."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.index import KINDS, build
from benchmarks.rows import Row
from onlinehash import Client, Index

BASE_BITS, N_BITS = 512, 64  # and as many features as base bits
MISSING = "wrk is not installed (Debian: apt-get install wrk)"
_PARTS = 5  # of the run that shows whether memory grows
_LUA = Path(__file__).with_name("search.lua")
Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Load:
    """What a load generator has seen."""

    rate: float  # answers a second
    p50: float  # milliseconds
    p99: float


def rows(quick: bool) -> Iterator[Row]:
    """One index in a file, in this process and then in a server's."""
    if shutil.which("wrk") is None:
        print(f"server: {MISSING}", file=sys.stderr)
        return
    n, seconds = (20_000, 1.0) if quick else (1_000_000, 10.0)
    X = np.random.default_rng(1).standard_normal((256, BASE_BITS), np.float32)
    case = f"{BASE_BITS}→{N_BITS} bits, {n / 1e6:g}M items, k=10"
    with tempfile.TemporaryDirectory(dir=".") as folder:
        path = Path(folder, "bench.oh")
        build(path, n, BASE_BITS, N_BITS)
        with Index.open(path, durability="normal") as index:
            index.learn(X, _labels(X))
            alone, taught = (
                {c: _in_process(index, X, c, seconds, t) for c in (1, 16)} for t in (False, True)
            )
        bodies = Path(folder, "bodies")
        bodies.write_text("".join(json.dumps({"vectors": [x], "k": 10}) + "\n" for x in X.tolist()))
        with _server(folder) as (url, pid):
            for connections in (1, 16):
                _wrk(url, bodies, connections, 1)  # what is compiled is compiled
                quiet = _wrk(url, bodies, connections, seconds)
                with _learning(url, X) as lessons:
                    busy = _wrk(url, bodies, connections, seconds)
                learnt = len(lessons) / seconds
                callers, threads = f"{case}, {connections} at a time", "in process, as many threads"
                for when, ours, peer, more in (
                    ("", quiet, alone[connections], {}),
                    (" while learning", busy, taught[connections], {"lessons of 256 rows a second": learnt}),
                ):
                    yield Row(f"searches over HTTP{when}", callers, "/s", ours.rate, peer.rate, threads,
                              ours.rate / peer.rate, more=more)  # fmt: skip
                    for name in ("p50", "p99"):
                        here, there = getattr(ours, name), getattr(peer, name)
                        yield Row(f"search over HTTP{when}, {name}", callers, "ms", here, there, threads,
                                  there / here)  # fmt: skip
            yield _memory(url, pid, bodies, X, 0.2 if quick else 10, case)


def _memory(url: str, pid: int, bodies: Path, X: Floats, minutes: float, case: str) -> Row:
    """Whether the server grows while it is asked and taught without a pause."""
    sizes: list[float] = []
    answered = 0.0
    with _learning(url, X) as lessons:
        for _ in range(_PARTS):
            answered += _wrk(url, bodies, 16, 60 * minutes / _PARTS).rate * 60 * minutes / _PARTS
            sizes.append(_resident(pid))
    early, more = sizes[1], {"searches": answered, "lessons": len(lessons), "MB in all": sizes}
    return Row("memory of the server", f"{case}, {minutes:g} minutes of searches and lessons", "MB",
               sizes[-1], early, "after 40 % of them", early / sizes[-1], more=more)  # fmt: skip


def _in_process(index: Index, X: Floats, threads: int, seconds: float, learning: bool) -> Load:
    taken: list[float] = []
    until = time.perf_counter() + seconds

    def ask(first: int) -> None:
        i = first
        while (started := time.perf_counter()) < until:
            index.search(X[i % len(X) :][:1], k=10)
            taken.append(time.perf_counter() - started)
            i += 1

    index.search(X[:1], k=10)
    at_work = [threading.Thread(target=ask, args=(17 * i,)) for i in range(threads)]
    for thread in at_work:
        thread.start()
    while learning and time.perf_counter() < until:
        index.learn(X, _labels(X))
    for thread in at_work:
        thread.join()
    p50, p99 = (float(np.quantile(taken, share)) * 1e3 for share in (0.5, 0.99))
    return Load(len(taken) / seconds, p50, p99)


@contextmanager
def _server(folder: str) -> Iterator[tuple[str, int]]:
    command = [sys.executable, "-m", "onlinehash", "serve", folder, "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            yield server.stdout.readline().split()[-1], server.pid
        finally:
            server.terminate()


def _wrk(url: str, bodies: Path, connections: int, seconds: float) -> Load:
    done = subprocess.run(
        ["wrk", "-t1", f"-c{connections}", f"-d{max(1, round(seconds))}s", "--timeout", "10s", "-s",
         str(_LUA), f"{url}/v1/indexes/bench/search"],
        env={**os.environ, "ONLINEHASH_BODIES": str(bodies)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.split("RESULT ")[1])
    assert not found["failed"], done.stdout
    return Load(found["requests"] / found["seconds"], found["p50"], found["p99"])


@contextmanager
def _learning(url: str, X: Floats) -> Iterator[list[int]]:
    """One client teaches without a pause."""
    lessons: list[int] = []
    stop = threading.Event()

    def teach() -> None:
        with Client(url, "bench") as client:
            while not stop.is_set():
                lessons.append(client.learn(X, _labels(X)))

    thread = threading.Thread(target=teach)
    thread.start()
    try:
        yield lessons
    finally:
        stop.set()
        thread.join()


def _labels(X: Floats) -> list[str]:
    return [KINDS[i % len(KINDS)] for i in range(len(X))]


def _resident(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
