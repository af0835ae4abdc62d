"""The codes of an index, held by shards: what ``Buffers`` is for one process. See ``index.held.Memory``.

The dataset is what counts. A shard that misses a change is loaded again; a change never waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import ray

from onlinehash.cluster.lance_change import LanceChange
from onlinehash.cluster.lance_store import LanceStore
from onlinehash.cluster.lance_view import CODE, LanceView
from onlinehash.cluster.layout import Layout
from onlinehash.cluster.shard import Key, Loaded, Projection, Version
from onlinehash.cluster.team import Member, Team
from onlinehash.codes import Packed
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.snapshot import Generation, Slots, Snapshot
from onlinehash.index.vacancies import Vacancies

_NO_SLOTS: Slots = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class SpreadSnapshot(Snapshot):
    """One state, with the state in which each shard was last changed. Live codes are with the shards."""

    parts: tuple[int, ...] = ()
    n_slots: int = 0

    def key(self, shard: int) -> Key:
        """What to ask a shard for."""
        return self.parts[shard], self.number


@dataclass(frozen=True, slots=True, eq=False)
class SpreadReady:
    """What becomes true when the store has committed."""

    snapshot: SpreadSnapshot
    opened: Slots
    closed: Slots
    told: dict[Member, tuple[Any, ...]]  # who has it ready
    changes: dict[int, tuple[Any, ...]]  # by shard


class Spread:
    """All its methods are the writer's, one at a time."""

    snapshot: SpreadSnapshot

    def __init__(
        self, generation: Generation, layout: Layout, members: list[list[Member]], wait_seconds: float,
        store: LanceStore, writing: threading.RLock,
    ) -> None:  # fmt: skip
        self.layout = layout
        self.team = Team(members, wait_seconds, self._mend)
        self._store, self._writing = store, writing
        self._vacancies = Vacancies()
        self._codes: list[tuple[Slots, Packed]] = []  # written, to be made ready
        self._refreshing: set[Member] = set()
        self._projection = ray.put(projection(generation))
        self.snapshot = SpreadSnapshot(0, 0, generation, parts=(0,) * layout.shards)

    @property
    def hasher(self) -> OHWEU:
        """Of the generation served."""
        assert self.snapshot.generation is not None
        return self.snapshot.generation.hasher

    @property
    def n_bytes(self) -> int:
        """Bytes of codes in all shards, as last told."""
        return sum(member.memory for member in self.team.all)

    # ---- a change

    def vacant(self, n: int) -> Slots:
        """Slots for ``n`` items: freed ones that nobody sees any more, then new ones."""
        return self._vacancies.take(n, self.snapshot.sequence, self.snapshot.n_slots)

    def write(self, slots: Slots, codes: Packed) -> None:
        """Base codes of vacant slots; shards have them with what makes them ready."""
        self._codes = [(slots, codes)]

    def ready(self, sequence: int, opened: Slots, closed: Slots) -> SpreadReady:
        """The shards concerned make the change ready."""
        before, (codes, self._codes) = self.snapshot, (self._codes, [])
        changes: dict[int, tuple[Any, ...]] = {}
        width = 0 if not codes else codes[0][1].shape[1]
        of_closed = dict(self.layout.divided(closed))
        of_opened = dict(self.layout.divided(opened))
        for shard in sorted({*of_closed, *of_opened}):
            new = of_opened.get(shard)
            rows = np.empty((0, width), np.uint8) if new is None else codes[0][1][new]
            opens = _NO_SLOTS if new is None else self.layout.local(opened[new])
            gone = of_closed.get(shard)
            closes = _NO_SLOTS if gone is None else self.layout.local(closed[gone])
            changes[shard] = sequence, opens, rows, closes
        concerned = [member for shard in changes for member in self.team.members[shard] if member.up]
        told = self.team.tell(
            [(m, lambda m=m: m.change("prepare", *changes[m.shard])) for m in concerned]  # type: ignore[misc]
        )
        snapshot = SpreadSnapshot(
            sequence, before.n_items + len(opened) - len(closed), before.generation,
            parts=tuple(sequence if shard in changes else at for shard, at in enumerate(before.parts)),
            n_slots=max(before.n_slots, int(opened.max(initial=-1)) + 1),
        )  # fmt: skip
        return SpreadReady(snapshot, opened, closed, told, changes)

    def accept(self, ready: SpreadReady) -> None:
        """The store has committed it: shards publish it, then it can be seen."""
        self._vacancies.taken(int((ready.opened < self.snapshot.n_slots).sum()))
        self._vacancies.free_after(ready.snapshot.sequence, ready.closed)
        sequence = ready.snapshot.sequence
        self.team.tell(
            [(m, lambda m=m: m.change("accept", sequence, self._keep(m.shard))) for m in ready.told if m.up]  # type: ignore[misc]
        )
        for shard, change in ready.changes.items():
            for member in self.team.members[shard]:
                if not member.up:
                    member.missed.append(change)
        self._publish(ready.snapshot)

    # ---- a refresh

    def begin_refresh(self) -> Callable[[Generation], int]:
        """Shards note what is written from now on."""
        begun = self.team.tell([(m, lambda m=m: m.change("begin")) for m in self.team.all if m.up])  # type: ignore[misc]
        self._refreshing = set(begun)
        return self._refresh

    def end_refresh(self, generation: Generation) -> None:
        """Every shard that is up has the generation: they publish it, then it is served."""
        self._projection = self._coming
        late = [member for member in self.team.all if member.up and member not in self._refreshing]
        for member in late:  # it came back in the meantime
            self._bring(member, self._coming)
        before = self.snapshot
        self.team.tell(
            [(m, lambda m=m: m.change("publish", self._keep(m.shard))) for m in self._refreshing if m.up]  # type: ignore[misc]
        )
        self._refreshing = set()
        self._publish(
            SpreadSnapshot(
                before.sequence, before.n_items, generation, parts=before.parts, n_slots=before.n_slots
            )
        )

    def cancel_refresh(self) -> None:
        """It has failed; all is as it was."""
        self.team.tell([(m, lambda m=m: m.change("cancel")) for m in self._refreshing if m.up])  # type: ignore[misc]
        self._refreshing = set()

    # ---- from the store

    def follow(self, view: Any, generation: Generation) -> None:
        """Every shard reads its part of a state."""
        self._projection = ray.put(projection(generation))
        if isinstance(view, LanceChange):
            loaded = self._fill(view)
        else:
            version = version_of(view)
            loaded = self._load_all(version)
        items, free, top = 0, [_NO_SLOTS], 0
        for shard, part in loaded.items():
            items += part.n_items
            free.append(self.layout.slots(shard, part.free))
            if part.top:
                top = max(top, int(self.layout.slots(shard, np.array([part.top - 1]))[0]) + 1)
            holes = np.arange(part.top, self.layout.n_local(shard, view.n_slots()))
            free.append(self.layout.slots(shard, holes))
        vacant = np.sort(np.concatenate(free))
        self._vacancies.reset(vacant[vacant < top])
        self._publish(
            SpreadSnapshot(
                view.sequence, items, generation, parts=(view.sequence,) * self.layout.shards, n_slots=top
            )
        )

    def _fill(self, change: LanceChange) -> dict[int, Loaded]:
        """Codes of items from before initialisation, which no version holds yet."""
        slots = np.array(sorted(s for s, row in change.put_rows_of.items() if s >= 0 and row[CODE]), np.int64)
        width, n_slots = self.hasher_bytes, change.n_slots()
        codes = change.codes(slots) if len(slots) else np.empty((0, width), np.uint8)
        parts = dict(self.layout.divided(slots))
        calls = []
        for member in self.team.all:
            member.epoch += 1
            of = parts.get(member.shard, np.empty(0, np.intp))
            local, n_local = self.layout.local(slots[of]), self.layout.n_local(member.shard, n_slots)
            values = n_local, local, codes[of], change.sequence, self._projection
            calls.append((member, lambda m=member, v=values: m.change("fill", *v)))
        return self._taken_up(self.team.tell(calls))

    def _load_all(self, version: Version) -> dict[int, Loaded]:
        calls = []
        for member in self.team.all:
            member.epoch += 1
            member.up, member.missed = False, []
            calls.append((member, member.change("load", version, version.sequence, self._projection)))
        ray.wait([ref for _, ref in calls], num_returns=len(calls))  # all have ended, also where one fails
        return self._taken_up({member: ray.get(ref) for member, ref in calls})

    def _taken_up(self, found: dict[Member, Loaded]) -> dict[int, Loaded]:
        for member, loaded in found.items():
            member.memory = loaded.memory
            self.team.up(member)
        return {member.shard: loaded for member, loaded in found.items()}

    # ---- how it works

    @property
    def hasher_bytes(self) -> int:
        """Bytes of a base code."""
        return -(-int(self.hasher.base_bits_) // 8)

    def _refresh(self, generation: Generation) -> int:
        self._coming = ray.put(projection(generation))
        members = [member for member in self._refreshing if member.up]
        calls = {m.change("refresh", self._coming): m for m in members}
        flipped: dict[int, int] = {}
        for ref, member in calls.items():
            try:
                flipped[member.shard] = ray.get(ref)
            except ray.exceptions.RayError:
                self._refreshing.discard(member)
                self.team.down(member)
        return sum(flipped.values())

    def _bring(self, member: Member, coming: Any) -> None:
        """Bring one member to a generation while nobody writes."""
        ray.get(member.change("begin"), timeout=self.team.wait_seconds)
        ray.get(member.change("refresh", coming))
        ray.get(member.change("publish", self._keep(member.shard)), timeout=self.team.wait_seconds)

    def _mend(self, member: Member) -> None:
        """Load what the dataset holds now, then what has changed since."""
        with self._writing:
            with self._store.read() as view:
                version = version_of(view)
            sequence, projected, number = (
                self.snapshot.parts[member.shard],
                self._projection,
                self.snapshot.number,
            )
            member.epoch += 1
            member.missed = []
        loaded: Loaded = ray.get(member.change("load", version, sequence, projected))
        with self._writing:
            for change in member.missed:
                ray.get(member.change("prepare", *change), timeout=self.team.wait_seconds)
                ray.get(member.change("accept", change[0], []), timeout=self.team.wait_seconds)
            member.missed = []
            if self.snapshot.number != number:
                self._bring(member, self._projection)
            member.memory = loaded.memory
            self.team.up(member)

    def _keep(self, shard: int) -> list[Key]:
        """Snapshots that somebody may ask a shard for."""
        alive = [one for one in self._vacancies.alive() if isinstance(one, SpreadSnapshot)]
        return sorted({one.key(shard) for one in (self.snapshot, *alive)})

    def _publish(self, snapshot: SpreadSnapshot) -> None:
        self._vacancies.replaced(self.snapshot)
        self.snapshot = snapshot


def projection(generation: Generation) -> Projection:
    """What shards need of a generation."""
    hasher = generation.hasher
    return Projection(generation.number, hasher.P_, hasher.base_bits_, hasher.n_bits)


def version_of(view: LanceView) -> Version:
    """For shards to read."""
    return Version(view.dataset.version, view.n_slots(), view.state["width"] or 0, view.sequence)
