"""The Index whose base codes lie in Lance and whose live codes are held by Ray's actors.

All that is not about where codes are is the embedded index's own: checking, learning, states, results.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from onlinehash.cluster import team
from onlinehash.cluster.lance_store import LanceStore
from onlinehash.cluster.layout import STRIPE, Layout
from onlinehash.cluster.spread import Spread, SpreadSnapshot, version_of
from onlinehash.codes import Packed, n_bytes
from onlinehash.errors import InvalidParameterError
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.filters import Filter
from onlinehash.index.held import Memory
from onlinehash.index.index import REFRESH, Index, first_hasher
from onlinehash.index.inputs import check_choice
from onlinehash.index.model import checked_base_bits, to_model
from onlinehash.index.results import Hits, Id, Score, Stats
from onlinehash.index.search import Found, candidates, merged
from onlinehash.index.snapshot import Floats, Generation, Slots, Snapshot
from onlinehash.index.store import View

WAIT_SECONDS = 30.0


class ClusterIndex(Index):
    """An Index on many machines. ``onlinehash.cluster.create`` and ``open`` make one."""

    def __init__(
        self, store: LanceStore, layout: Layout, replicas: int, cpus: float, wait_seconds: float, **how: Any
    ):
        self._layout, self._wait_seconds = layout, wait_seconds
        self._asked = threading.local()
        self._members = team.start(store.place, layout, replicas, cpus)
        try:
            super().__init__(store, **how)
        except BaseException:
            members, self._members = self._members, []
            team.stop(members)
            raise

    def search(
        self, vectors: Any = None, k: int = 10, *, ids: Iterable[Id] | None = None, where: Any = None,
        score: Score = "asymmetric", rerank: int | None = None, payloads: bool = False,
        partial: bool = False, wait_seconds: float | None = None,
    ) -> Hits:  # fmt: skip
        """As ``Index.search``.

        A shard that is down is waited for ``wait_seconds``, then ``ShardsMissingError`` names it. With
        ``partial`` the others answer at once, and ``hits.missing`` names the shards that did not.
        """
        asked = self._asked
        names = None if ids is None else list(ids) if not isinstance(ids, (str, bytes, Mapping)) else ids
        while True:
            asked.partial, asked.wait_seconds, asked.missing = partial, wait_seconds, set[int]()
            try:
                hits = super().search(
                    vectors, k, ids=names, where=where, score=score, rerank=rerank, payloads=payloads
                )
            except team.MovedError:
                continue
            finally:
                missing, asked.partial, asked.wait_seconds = asked.missing, False, None
            return replace(hits, missing=tuple(sorted(missing))) if missing else hits

    def stats(self) -> Stats:
        """As ``Index.stats``, with what ``shards`` tells."""
        shards = self.shards()
        return replace(super().stats(), shards=shards, memory=sum(part["memory"] or 0 for part in shards))

    def tidy(self) -> None:
        """Put small files together and bring look-ups up to date: it happens now and then by itself."""
        assert isinstance(self._store, LanceStore)
        with self._writing:
            self._store.tidy()

    def shards(self) -> list[dict[str, Any]]:
        """Of each actor: its shard, whether it is up and, if so, its items, bytes of codes and seconds.

        ``seconds`` are those of its last load and refresh, and of the last time that it was brought back.
        """
        members = [member for of in self._members for member in of]
        told: dict[team.Member, Any] = {}
        if isinstance(self._buffers, Spread):
            told = self._buffers.team.tell([(m, lambda m=m: m.call("loaded")) for m in members if m.up])  # type: ignore[misc]
        found: list[dict[str, Any]] = []
        for member in members:
            part: dict[str, Any] = {"shard": member.shard, "up": member.up, "items": None, "memory": None}
            seconds = {} if member.seconds is None else {"recovery": member.seconds}
            if told.get(member) is not None:
                loaded = told[member]
                part |= {"items": loaded.n_items, "memory": loaded.memory}
                seconds |= loaded.seconds
            found.append({**part, "seconds": seconds})
        return found

    def close(self) -> None:
        """As ``Index.close``; the actors end."""
        with self._behind:
            members, self._members = self._members, []
        if isinstance(self._buffers, Spread):
            self._buffers.team.close()
        try:
            super().close()
        finally:
            team.stop(members)

    # ---- where codes are held

    def _memory(self, generation: Generation, room: int) -> Memory:
        assert isinstance(self._store, LanceStore)
        return Spread(generation, self._layout, self._members, self._wait_seconds, self._store, self._writing)

    def _base_codes(self, view: View, slots: Slots) -> Packed:
        return view.codes(slots)

    def _live_codes(self, snapshot: Snapshot, slots: Slots) -> Packed:
        assert isinstance(snapshot, SpreadSnapshot)
        codes = np.empty((len(slots), n_bytes(self.n_bits)), np.uint8)
        parts = dict(self._layout.divided(slots))
        calls = {
            shard: lambda member, shard=shard, of=of: member.call(
                "live", snapshot.key(shard), self._layout.local(slots[of])
            )
            for shard, of in parts.items()
        }
        for shard, rows in self._ask(snapshot, calls, partial=False).items():
            codes[parts[shard]] = rows
        return codes

    def _nearest(
        self, view: Any, snapshot: Snapshot, queries: Packed, weights: Floats | None, k: int,
        filter: Filter | None,
    ) -> Found:  # fmt: skip
        assert isinstance(snapshot, SpreadSnapshot)
        head = candidates(k, weights is not None)
        costs = None if weights is None else np.abs(weights)
        version = version_of(view)
        calls = {
            shard: lambda member, shard=shard: member.call(
                "search", snapshot.key(shard), queries, costs, head, filter, version
            )
            for shard in range(self._layout.shards)
        }
        found = self._ask(snapshot, calls, getattr(self._asked, "partial", False))
        self._asked.missing = set(calls) - set(found)
        return merged(
            [(near.slots, near.distances, near.costs) for near in found.values()], len(queries), head, k
        )

    def _ask(self, snapshot: SpreadSnapshot, calls: dict[int, Any], partial: bool) -> dict[int, Any]:
        assert isinstance(self._buffers, Spread)
        wait = getattr(self._asked, "wait_seconds", None)
        held = self._buffers
        return held.team.ask(calls, partial, lambda: held.snapshot is snapshot, wait)


def create(
    uri: str | os.PathLike[str], dim: int | None = None, n_bits: int | None = None, *,
    hasher: OHWEU | None = None, sample: Any = None, keep_vectors: bool = False,
    refresh: Literal["auto", "manual"] = "auto", shards: int = 1, replicas: int = 1, cpus: float = 0,
    wait_seconds: float = WAIT_SECONDS, stripe: int = STRIPE,
    storage_options: Mapping[str, str] | None = None,
) -> ClusterIndex:  # fmt: skip
    """Make an index in a new dataset; as ``Index.create``, and as ``open``.

    Stripes of so many slots are dealt out to the shards in turn.
    """
    _check(refresh, shards, replicas, stripe)
    own, width = first_hasher(hasher, sample, dim, n_bits)
    settings = {
        "dim": width, "n_bits": own.n_bits, "keep_vectors": bool(keep_vectors),
        "parameters": own.plain_parameters(), "stripe": int(stripe),
    }  # fmt: skip
    store = LanceStore.create(uri, settings, n_bytes(checked_base_bits(own, width)), storage_options)
    if own.initialized_:
        with store.write() as change:
            change.put_model(to_model(own, 1, first=True), 1)
    return _opened(store, False, refresh, shards, replicas, cpus, wait_seconds)


def open(
    uri: str | os.PathLike[str], *, shards: int = 1, replicas: int = 1, cpus: float = 0,
    wait_seconds: float = WAIT_SECONDS, read_only: bool = False,
    refresh: Literal["auto", "manual"] = "auto", storage_options: Mapping[str, str] | None = None,
) -> ClusterIndex:  # fmt: skip
    """Open a dataset on a Ray cluster: the one that this process is connected to, or one of its own.

    Each of ``shards`` is held by ``replicas`` actors, which take ``cpus`` of Ray's each and are dealt out
    to the nodes in turn. A search waits ``wait_seconds`` for a shard that is down, and a change as long for
    one that is slow. Opening for writing ends whoever wrote before. ``storage_options`` are Lance's.
    """
    _check(refresh, shards, replicas, 1)
    store = LanceStore.open(uri, read_only, storage_options)
    return _opened(store, read_only, refresh, shards, replicas, cpus, wait_seconds)


def _opened(
    store: LanceStore,
    read_only: bool,
    refresh: str,
    shards: int,
    replicas: int,
    cpus: float,
    wait_seconds: float,
) -> ClusterIndex:
    with store.read() as view:
        layout = Layout(int(shards), view.settings()["stripe"])
    try:
        return ClusterIndex(
            store, layout, replicas, cpus, wait_seconds, read_only=read_only, durability="full",
            refresh=refresh, shown=store.name,
        )  # fmt: skip
    except BaseException:
        store.close()
        raise


def _check(refresh: str, shards: int, replicas: int, stripe: int) -> None:
    check_choice(refresh, REFRESH, "refresh")
    for name, value in (("shards", shards), ("replicas", replicas), ("stripe", stripe)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InvalidParameterError(f"{name} must be an int of 1 or more, got {value!r}")
