"""One Ray for all tests of clusters, and actors that are used again: a process takes seconds to start.

Nothing of Ray is imported before a test asks for it.
"""

import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("RAY_worker_niceness", "0")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import pytest


@pytest.fixture(scope="session")
def on_ray() -> Iterator[Any]:
    """One node, to which tests add others; a lost one is noticed within two seconds."""
    import ray
    from ray.cluster_utils import Cluster

    quick = {
        "health_check_initial_delay_ms": 0,
        "health_check_period_ms": 300,
        "health_check_timeout_ms": 1000,
        "health_check_failure_threshold": 3,
    }
    node = {
        "num_cpus": 2,
        "include_dashboard": False,
        "object_store_memory": 100 << 20,
        "_system_config": quick,
    }
    nodes = Cluster(initialize_head=True, head_node_args=node)
    ray.init(address=nodes.address, log_to_driver=False)
    yield nodes
    ray.shutdown()
    nodes.shutdown()  # type: ignore[no-untyped-call]


@pytest.fixture(scope="session")
def _actors(on_ray: Any) -> list[Any]:
    return []


@pytest.fixture
def actors(_actors: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes take actors that are idle, and give them back."""
    import ray

    from onlinehash.cluster import team
    from onlinehash.cluster.layout import Layout
    from onlinehash.cluster.place import Place
    from tests.again import Again

    kind: Any = ray.remote(Again).options(num_cpus=0, max_restarts=-1, max_concurrency=8)

    def start(place: Place, layout: Layout, replicas: int, cpus: float) -> list[list[team.Member]]:
        def one(shard: int) -> team.Member:
            actor = _actors.pop() if _actors else kind.remote(place, layout, shard)
            ray.get(actor.begin_again.remote(place, layout, shard))
            return team.Member(shard, actor)

        return [[one(shard) for _ in range(replicas)] for shard in range(layout.shards)]

    def stop(members: list[list[team.Member]]) -> None:
        _actors.extend(member.handle for of in members for member in of)

    monkeypatch.setattr(team, "start", start)
    monkeypatch.setattr(team, "stop", stop)
