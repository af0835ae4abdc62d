"""One shard: a part of the slots in memory, searched and refreshed by the kernels of the embedded index.

It keeps a snapshot for each pair of state and generation that somebody may still ask for; the head says
which these are. What it has not (it was restarted, or is still reading) it says, and is given again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from onlinehash.cluster.layout import Layout
from onlinehash.cluster.part import Part
from onlinehash.cluster.place import Place
from onlinehash.codes import Packed, n_bytes, words_to_packed
from onlinehash.index.buffers import Buffers, Ready
from onlinehash.index.filters import Filter
from onlinehash.index.search import mask_of
from onlinehash.index.snapshot import Floats, Generation, Slots, Snapshot
from onlinehash.index.store import Chunk
from onlinehash.kernels.costs import cost_distances
from onlinehash.kernels.refresh import lookup_tables
from onlinehash.kernels.scan import nearest

Key: TypeAlias = tuple[int, int]  # state, generation


class LateError(Exception):
    """A change was sent before the shard was loaded again, which it then contains."""


@dataclass(frozen=True, slots=True)
class Version:
    """A version of the dataset, and what its state says of slots."""

    number: int
    n_slots: int
    width: int
    sequence: int


@dataclass(frozen=True, slots=True, eq=False)
class Projection:
    """All that a shard is sent of a generation: P. It stands in for the hasher in its ``Generation``."""

    number: int
    P_: Floats
    base_bits_: int
    n_bits: int

    def generation(self) -> Generation:
        """With the tables made."""
        hasher: Any = self
        return Generation(self.number, hasher, lookup_tables(self.P_, self.base_bits_))


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """What a shard tells of itself."""

    n_items: int
    top: int  # all own slots with items are below
    free: Slots  # free ones among them
    memory: int
    seconds: dict[str, float]


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """Of one shard: slots, distances by Hamming, and costs where they were asked for."""

    slots: Slots
    distances: Floats
    costs: Floats | None


class Shard:
    """The part that is kept in memory. Searches may come while it is changed; changes take turns."""

    def __init__(self, place: Place, layout: Layout, number: int) -> None:
        self._place, self._layout, self._number = place, layout, number
        self._changing = threading.Lock()
        self._buffers: Buffers | None = None
        self._snapshots: dict[Key, Snapshot] = {}
        self._ready: Ready | None = None
        self._work: Callable[[Generation], int] | None = None
        self._coming: Generation | None = None
        self._parts: dict[Version, Part] = {}
        self._epoch = 0  # of the last load
        self._seconds: dict[str, float] = {}

    # ---- what it holds

    def load(self, epoch: int, version: Version, sequence: int, projection: Projection) -> Loaded:
        """Read the own part of a version, and refresh it."""
        started = time.perf_counter()
        version = replace(version, width=n_bytes(projection.base_bits_))  # an empty one does not know it
        return self._filled(epoch, self._part(version), sequence, projection, started)

    def fill(
        self, epoch: int, n_slots: int, slots: Slots, codes: Packed, sequence: int, projection: Projection
    ) -> Loaded:
        """Hold codes that are given, by own slots: those of items from before initialisation."""
        started = time.perf_counter()
        return self._filled(epoch, _Given(n_slots, slots, codes, sequence), sequence, projection, started)

    def loaded(self) -> Loaded | None:
        """What is held, None where nothing is."""
        buffers = self._buffers
        if buffers is None:
            return None
        snapshot = buffers.snapshot
        closed = np.empty(0, np.int64) if snapshot.open is None else np.flatnonzero(snapshot.open.closed)
        return Loaded(snapshot.n_items, snapshot.live.shape[1], closed, buffers.n_bytes, dict(self._seconds))

    # ---- changes

    def prepare(self, epoch: int, sequence: int, opened: Slots, codes: Packed, closed: Slots) -> None:
        """Make a change ready: own slots that open, with base codes, and that close."""
        with self._changed(epoch) as buffers:
            if len(opened):
                buffers.write(opened, codes)
            self._ready = buffers.ready(sequence, opened, closed)

    def accept(self, epoch: int, sequence: int, keep: Collection[Key]) -> None:
        """The change is committed: from now on it can be searched."""
        with self._changed(epoch) as buffers:
            assert self._ready is not None
            assert self._ready.snapshot.sequence == sequence
            buffers.accept(self._ready)
            self._ready = None
            self._publish(keep)

    def begin(self, epoch: int) -> None:
        """From now on what is written is noted, for the refresh that comes."""
        with self._changed(epoch) as buffers:
            if self._work is not None:
                buffers.cancel_refresh()
            self._work = buffers.begin_refresh()

    def refresh(self, epoch: int, projection: Projection) -> int:
        """Live codes of a new generation, beside those that are searched; how many bits changed."""
        with self._changed(epoch):
            work, self._coming = self._work, projection.generation()
        assert work is not None
        started = time.perf_counter()
        flipped = work(self._coming)
        self._seconds["refresh"] = time.perf_counter() - started
        return flipped

    def publish(self, epoch: int, keep: Collection[Key]) -> None:
        """Every shard has the new generation: serve it."""
        with self._changed(epoch) as buffers:
            assert self._coming is not None
            buffers.end_refresh(self._coming)
            self._work = self._coming = None
            self._publish(keep)

    def cancel(self, epoch: int) -> None:
        """The refresh has failed elsewhere."""
        with self._changed(epoch) as buffers:
            if self._work is not None:
                buffers.cancel_refresh()
            self._work = self._coming = None

    def keep(self, epoch: int, keep: Collection[Key]) -> None:
        """Let go of snapshots that nobody asks for any more."""
        with self._changed(epoch):
            self._publish(keep)

    # ---- searches

    def search(
        self, key: Key, queries: Packed, weights: Floats | None, k: int, where: Filter | None,
        version: Version,
    ) -> Near | None:  # fmt: skip
        """The k nearest of the own slots; None where the snapshot is not here."""
        snapshot = self._snapshots.get(key)
        if snapshot is None or snapshot.generation is None:
            return None
        mask = snapshot.open
        if where is not None:
            view: Any = self._part(version)
            mask = mask_of(snapshot, view, where)
        local, distances = nearest(snapshot.live, queries, k, snapshot.generation.hasher.n_bits, allowed=mask)
        costs = None if weights is None else cost_distances(snapshot.live, queries, weights, local)
        return Near(self._layout.slots(self._number, local), distances.astype(np.float32), costs)

    def live(self, key: Key, local: Slots) -> Packed | None:
        """Live codes of own slots."""
        snapshot = self._snapshots.get(key)
        if snapshot is None or snapshot.generation is None:
            return None
        words = np.ascontiguousarray(snapshot.live[:, local])
        return words_to_packed(words, snapshot.generation.hasher.n_bits)

    # ---- how it works

    @contextmanager
    def _changed(self, epoch: int) -> Iterator[Buffers]:
        """One change at a time, and none that was sent before the last ``load``."""
        with self._changing:
            if self._buffers is None or epoch != self._epoch:
                raise LateError(f"shard {self._number}: sent in epoch {epoch}, now it is {self._epoch}")
            yield self._buffers

    def _filled(self, epoch: int, part: Any, sequence: int, projection: Projection, started: float) -> Loaded:
        generation = projection.generation()
        buffers = Buffers(generation, part.n_slots())
        buffers.follow(part, generation)
        with self._changing:
            if epoch <= self._epoch:
                raise LateError(f"shard {self._number}: sent in epoch {epoch}, now it is {self._epoch}")
            self._epoch = epoch
            self._buffers, self._ready, self._work, self._coming = buffers, None, None, None
            self._snapshots = {(sequence, generation.number): buffers.snapshot}
        self._seconds = {"load": time.perf_counter() - started}
        loaded = self.loaded()
        assert loaded is not None
        return loaded

    def _publish(self, keep: Collection[Key]) -> None:
        assert self._buffers is not None
        snapshot = self._buffers.snapshot
        kept = {key: old for key, old in self._snapshots.items() if key in keep}
        self._snapshots = {**kept, (snapshot.sequence, snapshot.number): snapshot}

    def _part(self, version: Version) -> Part:
        part = self._parts.get(version)
        if part is None:
            dataset = self._place.open(version.number)
            part = Part(dataset, self._layout, self._number, version.n_slots, version.width, version.sequence)
            self._parts = {version: part}
        return part


class _Given:
    """Codes that are given, as a part of a dataset."""

    def __init__(self, n_slots: int, slots: Slots, codes: Packed, sequence: int) -> None:
        self.sequence = sequence
        self._chunk = Chunk(0, np.zeros((n_slots, codes.shape[1]), np.uint8), np.zeros(n_slots, bool))
        self._chunk.codes[slots], self._chunk.taken[slots] = codes, True

    def n_slots(self) -> int:
        return len(self._chunk.taken)

    def chunks(self, since: int = 0) -> list[Chunk]:
        return [self._chunk]
