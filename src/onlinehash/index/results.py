"""What an index gives back: plain dataclasses that go to JSON with ``dataclasses.asdict`` or ``to_dict``."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.labels import Label

Id: TypeAlias = str | int
Payload: TypeAlias = dict[str, Any]
Score = Literal["hamming", "asymmetric"]


@dataclass(slots=True)  # not frozen: that would cost most of the time of making many
class Item:
    """A stored item."""

    id: Id
    payload: Payload | None = None
    labels: list[Label] = field(default_factory=list)
    vector: list[float] | None = None  # where the index keeps vectors


@dataclass(frozen=True, slots=True)
class Hit:
    """One neighbour of one query."""

    id: Id
    distance: float
    payload: Payload | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Hits:
    """The neighbours of each query, nearest first: always of shape (queries, k).

    Where fewer than k items may be found, a row ends in padding: the id None at distance infinity.
    Iterating, indexing and ``to_dict`` leave padding out: ``hits[0]`` lists what query 0 has found.
    """

    ids: npt.NDArray[np.object_]
    distances: npt.NDArray[np.float32]
    generation: int  # what was learnt in it, and all before, is in these hits
    score: str  # what distances are: "hamming", "asymmetric" or "cosine"
    payloads: npt.NDArray[np.object_] | None = None
    missing: tuple[int, ...] = ()  # shards that have not answered, where an index on many was asked anyway

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, query: int) -> list[Hit]:
        n = sum(id is not None for id in self.ids[query])
        payloads = [None] * n if self.payloads is None else self.payloads[query, :n]
        rows = zip(self.ids[query, :n], self.distances[query, :n].tolist(), payloads, strict=True)
        return [Hit(*row) for row in rows]

    def __iter__(self) -> Iterator[list[Hit]]:
        return (self[query] for query in range(len(self)))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: a list of hits for each query, without padding."""
        names = ("id", "distance") + (() if self.payloads is None else ("payload",))
        hits = [[{name: getattr(hit, name) for name in names} for hit in row] for row in self]
        missing = {"missing": list(self.missing)} if self.missing else {}
        return {"hits": hits, "generation": self.generation, "score": self.score, **missing}


@dataclass(frozen=True, slots=True)
class Page:
    """Some items, in the order of slots, and where to go on: ``items(after=page.next)``, None at the end."""

    items: list[Item]
    next: int | None
    generation: int

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self.items)


@dataclass(frozen=True, slots=True, eq=False)
class Codes:
    """Base and live codes of some items, packed as by ``np.packbits``, one row an item."""

    base: Packed
    live: Packed
    base_bits: int
    n_bits: int
    generation: int  # the one that the live codes are of

    def __len__(self) -> int:
        return len(self.base)


@dataclass(frozen=True, slots=True)
class Stats:
    """What an index holds, what it serves, and how its learning goes."""

    path: str
    items: int
    dim: int
    n_bits: int
    base_bits: int | None  # None before initialisation
    initialized: bool
    waiting: int  # vectors kept so far for the initial sample
    n_init: int  # vectors that it takes
    generation: int  # the one served
    pending: int  # calls of learn and tag that no served generation contains yet
    flipped: float | None  # share of the live bits that the last refresh changed
    labels: int  # labels met in learning
    learnt: int  # labelled rows that P has learnt from
    mistakes_P: float | None  # share of bits that were wrong before they were learnt from
    mistakes_R: float | None
    loss_P: float | None  # mean hinge loss a bit, before the step
    loss_R: float | None
    seconds: dict[str, float]  # what the last hash, store, learn and refresh took
    memory: int  # bytes of codes in memory
    disk: int  # bytes of the file, with its log
    keep_vectors: bool
    durability: str
    refresh: str
    read_only: bool
    shards: list[dict[str, Any]] = field(default_factory=list)  # on a cluster: each actor, and how it is
