"""What distribution costs on one machine: search and refresh by 1, 2 and 4 shards beside the embedded index.

A Ray cluster of its own is started; every process shares the same cores, so more shards are not faster
here. What counts is how little is added, how the work of each shard falls, what goes over the wire for a
refresh, and how long a killed actor is away.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.index import BATCH, build
from benchmarks.rows import Row, timed
from onlinehash import Index

FEATURES = 1280  # of the photographs: what hashing again would read of an item, in float32


def rows(quick: bool) -> Iterator[Row]:
    """Half a million random codes, 64 bits to 64 bits."""
    os.environ.setdefault("RAY_worker_niceness", "0")
    os.environ.setdefault("RAY_AUTH_MODE", "disabled")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    import ray

    from onlinehash import cluster

    n = 20_000 if quick else 500_000
    ray.init(num_cpus=4, include_dashboard=False, log_to_driver=False, object_store_memory=200 << 20)
    try:
        with tempfile.TemporaryDirectory(dir=".") as folder:
            path, uri = Path(folder) / "index", Path(folder) / "index.lance"
            build(path, n, 64, 64)
            started = time.perf_counter()
            cluster.to_lance(path, uri, stripe=1 << 14)
            moved = n / (time.perf_counter() - started)
            with Index.open(path) as embedded:
                peer = _measured(embedded, n)
            yield Row("export", f"{n:,} items to Lance", "items/s", moved, BATCH, "one batch", moved / BATCH)
            for shards in (1, 2, 4):
                copy = Path(folder) / f"{shards}.lance"
                shutil.copytree(uri, copy)
                shutil.copytree(f"{uri}-models", f"{copy}-models")
                started = time.perf_counter()
                with cluster.open(copy, shards=shards) as index:
                    opened = time.perf_counter() - started
                    ours = _measured(index, n)
                    shard_seconds = max(part["seconds"]["refresh"] for part in index.shards())
                    yield from _rows(shards, n, ours, peer)
                    yield Row(
                        "refresh, of the slowest shard alone", f"{shards} shards", "s", shard_seconds,
                        peer["refresh"], "the embedded index", peer["refresh"] / shard_seconds,
                        more={"s to open": opened},
                    )  # fmt: skip
                    if shards == 4:
                        yield _recovery(index, opened)
            wire = 64 * 64 * 4
            yield Row(
                "bytes to each shard for a refresh", "P, 64 → 64 bits", "bytes", wire, n * FEATURES * 4,
                f"features of {n:,} items, {FEATURES} in float32", n * FEATURES * 4 / wire,
            )  # fmt: skip
    finally:
        ray.shutdown()
    yield from _lost_nodes(quick)


def _lost_nodes(quick: bool) -> Iterator[Row]:
    """A node that dies as a machine does, noticed by Ray's own settings, while searches come in."""
    soon = {f"health_check_{name}_ms": ms for name, ms in
            (("initial_delay", 0), ("period", 300), ("timeout", 1000))}  # fmt: skip
    import ray
    from ray.cluster_utils import Cluster

    from onlinehash import cluster

    n = 5_000 if quick else 500_000
    node: Any = {"num_cpus": 2, "object_store_memory": 100 << 20}
    for replicas in (2,) if quick else (1, 2):
        head = {**node, "include_dashboard": False, "_system_config": soon if quick else {}}
        nodes = Cluster(initialize_head=True, head_node_args=head)
        ray.init(address=nodes.address, log_to_driver=False)
        try:
            other = nodes.add_node(**node)
            nodes.wait_for_nodes()
            with tempfile.TemporaryDirectory(dir=".") as folder:
                path, uri = Path(folder) / "index", Path(folder) / "index.lance"
                build(path, n, 64, 64)
                cluster.to_lance(path, uri, stripe=1 << 10)
                started = time.perf_counter()
                with cluster.open(uri, shards=2, replicas=replicas) as index:
                    opened = time.perf_counter() - started
                    assert len(_nodes_of_actors()) == 2
                    lose = partial(nodes.remove_node, other, allow_graceful=False)
                    longest, back = _outlived(index, lose, replicas)
            case = f"2 shards, {replicas} replica{'s' * (replicas > 1)}, {n:,} items"
            for what, seconds in (("longest search", longest), ("all actors are back", back)):
                yield Row(f"a node is lost: {what}", case, "s", seconds, opened, "opening", opened / seconds)
        finally:
            ray.shutdown()
            nodes.shutdown()  # type: ignore[no-untyped-call]


def _outlived(index: Any, lose: Callable[[], None], lost: int) -> tuple[float, float]:
    """Search until so many actors have been lost and are back: the longest search, and all the time."""
    queries, longest = np.zeros((1, 64), np.float32), 0.0
    members = [member for of in index._members for member in of]
    losing = threading.Thread(target=lose)
    started = time.perf_counter()
    losing.start()
    while True:
        begun = time.perf_counter()
        index.search(queries, k=10, wait_seconds=300)
        longest = max(longest, time.perf_counter() - begun)
        if sum(member.seconds is not None for member in members) == lost:
            break
    back = time.perf_counter() - started
    losing.join()
    return longest, back


def _nodes_of_actors() -> set[str]:
    from ray._private.state import actors

    return {of["Address"]["NodeID"] for of in actors().values() if of["State"] == "ALIVE"}


def _measured(index: Index, n: int) -> dict[str, float]:
    rng = np.random.default_rng(1)
    queries = rng.standard_normal((100, 64), np.float32)
    found = {
        f"{count} queries": timed(lambda count=count: index.search(queries[:count], k=10), 5).wall  # type: ignore[misc]
        for count in (1, 100)
    }
    X, labels = rng.standard_normal((500, 64), np.float32), [i % 20 for i in range(500)]
    seconds = []
    for _ in range(4):
        index.learn(X, labels)
        seconds.append(index.stats().seconds["refresh"])
    adding: list[float] = []
    for i in range(10):
        started = time.perf_counter()
        index.add([n + i], queries[i : i + 1])
        adding.append(time.perf_counter() - started)
    return {**found, "refresh": min(seconds), "durable add of 1": min(adding)}


def _rows(shards: int, n: int, ours: dict[str, float], peer: dict[str, float]) -> Iterator[Row]:
    for what, value in ours.items():
        case = f"{shards} shards, {n:,} items"
        yield Row(what, case, "s", value, peer[what], "the embedded index", peer[what] / value)


def _recovery(index: Any, opened: float) -> Row:
    import ray

    member = index._members[0][0]
    longest, back = _outlived(index, partial(ray.kill, member.handle, no_restart=False), 1)
    return Row("a killed actor is back", "4 shards", "s", back, opened, "opening", opened / back,
               more={"s the longest search": longest})  # fmt: skip
