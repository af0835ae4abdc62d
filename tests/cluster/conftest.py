"""One Ray for all tests of clusters, and actors that are used again: a process takes seconds to start."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("RAY_worker_niceness", "0")
os.environ.setdefault("RAY_AUTH_MODE", "disabled")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")

import pytest
import ray

from onlinehash.cluster import team
from onlinehash.cluster.layout import Layout
from onlinehash.cluster.place import Place
from onlinehash.cluster.shard import Shard


class Again(Shard):
    """A shard that can begin again as another."""

    def begin_again(self, place: Place, layout: Layout, number: int) -> None:
        self.__init__(place, layout, number)  # type: ignore[misc]


@pytest.fixture(scope="session")
def on_ray() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, object_store_memory=100 << 20)
    yield
    ray.shutdown()


@pytest.fixture(scope="session")
def _actors(on_ray: None) -> list[Any]:
    return []


@pytest.fixture
def actors(_actors: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexes take actors that are idle, and give them back."""
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


@pytest.fixture
def uri(tmp_path: Path) -> Path:
    return tmp_path / "photos.lance"
