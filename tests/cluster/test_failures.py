"""Actors and nodes that die during adds, learns and searches: nothing is lost, no answer is wrong."""

import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import ray
from ray.cluster_utils import Cluster

from onlinehash import OHWEU, Index, IndexLockedError, ShardsMissingError, cluster
from onlinehash.cluster.index import ClusterIndex
from onlinehash.cluster.team import Member
from onlinehash.codes import packed_to_words

pytestmark = pytest.mark.xdist_group("ray")

X = np.random.default_rng(0).normal(size=(3000, 24)).astype(np.float32)
LABELS = ["left" if x[0] < 0 else "right" for x in X]
HASHER = OHWEU(32, n_init=200).initialize(X[:200])


def members(index: ClusterIndex) -> list[Member]:
    return [member for of in index._members for member in of]


def until_up(index: ClusterIndex, seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not all(member.up for member in members(index)):
        assert time.monotonic() < end, "it does not come back"
        time.sleep(0.05)


def same(ours: Index, theirs: Index) -> None:
    a, b = (index.search(X[:60], k=40) for index in (ours, theirs))
    assert (a.ids == b.ids).all()
    assert a.distances.tobytes() == b.distances.tobytes()
    assert a.generation == b.generation


class Load:
    """One thread changes an embedded index and one on a cluster, another searches and checks."""

    def __init__(self, embedded: Index, on_cluster: ClusterIndex) -> None:
        self.embedded, self.on_cluster = embedded, on_cluster
        self.acknowledged = len(on_cluster)
        self.searches = 0
        self.errors: list[BaseException] = []
        self._done = threading.Event()
        self._hashers: dict[int, OHWEU] = {}
        self._threads = [
            threading.Thread(target=self._run, args=(work,)) for work in (self._change, self._search)
        ]

    def __enter__(self) -> "Load":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._done.set()
        for thread in self._threads:
            thread.join(180)
            assert not thread.is_alive()
        if self.errors:
            raise self.errors[0]

    def _run(self, work: Any) -> None:
        try:
            turn = 0
            while not self._done.is_set():
                work(turn)
                turn += 1
        except BaseException as error:
            self.errors.append(error)

    def _change(self, turn: int) -> None:
        rows = [(turn * 13 + i) % 3000 for i in range(10)]
        ids = [f"{turn} {i}" for i in range(10)]
        for index in (self.on_cluster, self.embedded):
            index.add(ids, X[rows], payloads=[{"row": row} for row in rows])
            if turn % 3 == 0:
                number = index.learn(X[rows], [LABELS[row] for row in rows])
                assert index._hasher is not None
                self._hashers[number] = index._hasher
        self.acknowledged += 10

    def _search(self, turn: int) -> None:
        queries, there = X[turn % 100 : turn % 100 + 3], self.acknowledged
        hits = self.on_cluster.search(queries, k=5000, score="hamming", payloads=True, wait_seconds=120)
        assert hits.payloads is not None
        self.searches += 1
        hasher = self._hashers.get(hits.generation)
        for q in range(len(queries)):
            rows = [payload["row"] for payload in hits.payloads[q] if payload]
            assert len(rows) >= there
            if hasher is not None:
                query = packed_to_words(hasher.encode_query(queries), 32)[0][q]
                live = packed_to_words(hasher.encode(X[rows]), 32)[0]
                assert (np.bitwise_count(live ^ query) == hits.distances[q, : len(rows)]).all()


@pytest.fixture
def pair(uri: Path) -> Any:
    on_cluster = cluster.create(uri, hasher=HASHER, shards=2, stripe=32, wait_seconds=120)
    embedded = Index.create(":memory:", hasher=HASHER)
    for index in (embedded, on_cluster):
        index.add(range(500), X[:500], payloads=[{"row": i} for i in range(500)])
    yield embedded, on_cluster
    embedded.close()
    on_cluster.close()


@pytest.mark.usefixtures("on_ray")
def test_actors_that_are_killed(pair: tuple[Index, ClusterIndex]) -> None:
    embedded, on_cluster = pair
    with Load(embedded, on_cluster) as load:
        for turn in range(2):
            before = load.searches
            while load.searches < before + 2 and not load.errors:
                time.sleep(0.02)
            ray.kill(members(on_cluster)[turn % 2].handle, no_restart=False)
    until_up(on_cluster)
    same(embedded, on_cluster)
    assert len(on_cluster) == load.acknowledged
    assert not on_cluster._store.verify()
    assert [one["up"] for one in on_cluster.shards()] == [True, True]
    # what the others have, if asked; all of it, if waited for
    ray.kill(members(on_cluster)[1].handle, no_restart=False)
    hits = on_cluster.search(X[:5], k=20, partial=True)
    assert hits.missing == (1,)
    assert hits.to_dict()["missing"] == [1]
    whole = embedded.search(X[:5], k=5000, score="hamming")
    found = set(hits.ids.ravel().tolist()) - {None}
    assert found
    assert found < set(whole.ids.ravel().tolist())
    with pytest.raises(ShardsMissingError, match=r"shards \[1\] of 2"):
        on_cluster.search(X[:5], wait_seconds=0.01)
    same(embedded, on_cluster)


@pytest.mark.slow
def test_a_node_that_is_lost(uri: Path, on_ray: Cluster) -> None:
    node = on_ray.add_node(num_cpus=1, object_store_memory=100 << 20)
    embedded = Index.create(":memory:", hasher=HASHER)
    on_cluster = cluster.create(uri, hasher=HASHER, shards=2, replicas=2, stripe=32, wait_seconds=120)
    for index in (embedded, on_cluster):
        index.add(range(500), X[:500], payloads=[{"row": i} for i in range(500)])
    at = {actor.id: actor.node_id for actor in _alive()}
    where = [{at[member.handle._actor_id.hex()] for member in of} for of in on_cluster._members]
    with Load(embedded, on_cluster) as load:
        while load.searches < 2 and not load.errors:
            time.sleep(0.02)
        on_ray.remove_node(node, allow_graceful=False)
        before, end = load.searches, time.monotonic() + 120
        while load.searches < before + 3 and not load.errors and time.monotonic() < end:
            time.sleep(0.02)
    until_up(on_cluster)
    same(embedded, on_cluster)
    assert len(on_cluster) == load.acknowledged
    assert [len(nodes) for nodes in where] == [2, 2], "replicas were on different nodes"
    assert len({actor.node_id for actor in _alive()}) == 1
    on_cluster.close()
    embedded.close()


def _alive() -> list[Any]:
    from ray._private.state import actors

    class Actor:
        def __init__(self, of: dict[str, Any]) -> None:
            self.id, self.node_id = of["ActorID"], of["Address"]["NodeID"]

    return [
        Actor(of)
        for of in actors().values()
        if of["State"] == "ALIVE" and "Again" not in of["ActorClassName"]
    ]


@pytest.mark.usefixtures("actors")
def test_a_writer_that_was_cut_off_can_write_no_more(uri: Path) -> None:
    first = cluster.create(uri, hasher=HASHER, shards=1)
    first.add([1], X[:1])
    first.tidy()
    second = cluster.open(uri)
    first.tidy()  # does not come by the other's state
    with pytest.raises(IndexLockedError, match="opened for writing elsewhere"):
        first.add([2], X[1:2])
    assert 2 not in first
    second.add([3], X[2:3])
    with cluster.open(uri, read_only=True, shards=2) as reader:
        for i in range(10, 12):
            second.add([i], X[i : i + 1])
            second.learn(X[:50], LABELS[:50])
            assert reader.search(X[:9], k=9).to_dict() == second.search(X[:9], k=9).to_dict()
    first.close()
    second.close()
