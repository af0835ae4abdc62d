"""What Prometheus reads at ``/metrics``: requests as they come, indexes as they are when it asks."""

from __future__ import annotations

from collections import Counter as Counter_
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from onlinehash.errors import OnlineHashError
from onlinehash.server.served import Served

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SHARD = ("index", "shard", "replica")
_SECONDS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """The metrics of one server."""

    def __init__(self, indexes: Callable[[], Iterable[Served]]) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Indexes(indexes))
        ProcessCollector(registry=self._registry)
        self._requests = Counter(
            "onlinehash_requests", "Requests answered", ("method", "route", "status"), registry=self._registry
        )
        self._seconds = Histogram(
            "onlinehash_request_seconds", "From a request to the end of its answer", ("route",),
            buckets=_SECONDS, registry=self._registry,
        )  # fmt: skip

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one."""
        method = method if method in ("GET", "HEAD", "PUT", "POST", "DELETE", "OPTIONS") else "other"
        self._requests.labels(method, route, str(status)).inc()
        if not route.endswith("/events"):  # which last for hours
            self._seconds.labels(route).observe(seconds)

    def text(self) -> bytes:
        """All of them."""
        return generate_latest(self._registry)


class _Indexes(Collector):
    def __init__(self, indexes: Callable[[], Iterable[Served]]) -> None:
        self._indexes = indexes

    def collect(self) -> Iterator[Metric]:
        """Gauges and counters of every index."""
        gauges = {
            name: GaugeMetricFamily(f"onlinehash_index_{name}", text, labels=["index"])
            for name, text in (
                ("items", "Items"),
                ("generation", "Generation that is served"),
                ("pending", "Lessons that no served generation contains yet"),
                ("memory_bytes", "Codes in memory"),
                ("disk_bytes", "The file with its log"),
                ("flipped_ratio", "Share of live bits that the last refresh changed"),
                ("mistakes_P_ratio", "Share of bits of stored codes that were wrong before they were learnt"),
                ("mistakes_R_ratio", "Share of bits of query codes that were wrong before they were learnt"),
                ("changes_waiting", "Changes in the queue, with the one under way"),
                ("searches_waiting", "Searches in the queue"),
                ("listeners", "Open streams of events"),
                ("held_out_map_ratio", "mAP of the generation served, where rows are held out"),
                ("shards_down", "Actors of an index on a cluster that are being brought back"),
            )
        }
        shards = {
            name: GaugeMetricFamily(f"onlinehash_shard_{name}", text, labels=[*_SHARD, *more])
            for name, text, *more in (
                ("up", "Whether an actor of a cluster answers with the newest state"),
                ("items", "Items that it holds"),
                ("memory_bytes", "Codes in its memory"),
                ("step_seconds", "Time of its last load, refresh or recovery", "step"),
            )
        }
        counters = {
            name: CounterMetricFamily(f"onlinehash_index_{name}", text, labels=["index"])
            for name, text in (
                ("queries", "Queries answered"),
                ("search_batches", "Searches of the index that answered them"),
                ("learnt_rows", "Labelled rows that P has learnt from"),
                ("refreshes", "Refreshes"),
                ("refresh_seconds", "Time that they took together"),
            )
        }
        for served in self._indexes():
            try:
                stats = served.index.stats()
            except OnlineHashError:
                continue
            values = {
                "items": stats.items, "generation": stats.generation, "pending": stats.pending,
                "memory_bytes": stats.memory, "disk_bytes": stats.disk, "flipped_ratio": stats.flipped,
                "mistakes_P_ratio": stats.mistakes_P, "mistakes_R_ratio": stats.mistakes_R,
                "changes_waiting": served.changes.waiting, "searches_waiting": served.searches.waiting,
                "listeners": served.events.listeners, "held_out_map_ratio": served.measured.get("map"),
                "shards_down": sum(not part["up"] for part in stats.shards),
            }  # fmt: skip
            for name, value in values.items():
                if value is not None:
                    gauges[name].add_metric([served.name], value)
            for name, total in (
                ("queries", served.searches.queries), ("search_batches", served.searches.batches),
                ("learnt_rows", stats.learnt), ("refreshes", served.refreshes),
                ("refresh_seconds", served.refresh_seconds),
            ):  # fmt: skip
                counters[name].add_metric([served.name], total)
            _tell_shards(shards, served.name, stats.shards)
        yield from gauges.values()
        yield from shards.values()
        yield from counters.values()


def _tell_shards(gauges: dict[str, GaugeMetricFamily], name: str, parts: list[dict[str, Any]]) -> None:
    replicas: Counter_[int] = Counter_()
    for part in parts:
        at = [name, str(part["shard"]), str(replicas[part["shard"]])]
        replicas[part["shard"]] += 1
        gauges["up"].add_metric(at, part["up"])
        if part["items"] is not None:
            gauges["items"].add_metric(at, part["items"])
            gauges["memory_bytes"].add_metric(at, part["memory"])
        for step, seconds in part["seconds"].items():
            gauges["step_seconds"].add_metric([*at, step], seconds)
