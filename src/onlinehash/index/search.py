"""Finding neighbours in one snapshot: slots and distances, padded to k.

By Hamming distance the scan is exact. The asymmetric distance is finer: a bit in which the item and
the query differ costs |Rᵀz| of that bit, how sure the query is of it, instead of 1. It orders a head
of the Hamming ranking that is longer than k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed
from onlinehash.index.filters import Filter
from onlinehash.index.snapshot import Floats, Slots, Snapshot, unit
from onlinehash.index.store import View
from onlinehash.kernels.costs import cost_distances
from onlinehash.kernels.scan import Mask, nearest

NONE = -1  # a slot that pads a row
HEAD = 10  # candidates for each of the k that the asymmetric distance orders
LEAST = 100  # candidates at least

_MASKS = 4  # filters whose masks a snapshot keeps


@dataclass(frozen=True, slots=True)
class Found:
    """Slots (queries, k), padded with NONE, and distances, padded with infinity."""

    slots: Slots
    distances: Floats

    def without(self, own: Slots) -> Found:
        """Each row without one slot, the query's own, and one column less."""
        # a stable sort by "is it to go?" moves the own slot to the end and keeps the others' order
        last = np.argsort(self.slots == own[:, None], axis=1, kind="stable")[:, :-1]
        return self._taken(last)

    def first(self, k: int) -> Found:
        """The first k columns, or as many more of padding."""
        n, width = self.slots.shape
        slots, distances = np.full((n, k), NONE), np.full((n, k), np.inf, np.float32)
        slots[:, :width], distances[:, :width] = self.slots[:, :k], self.distances[:, :k]
        return Found(slots, distances)

    def ordered(self, distances: Floats) -> Found:
        """The same slots by other distances; padding stays last, equals stay in their order."""
        distances = np.where(self.slots == NONE, np.float32(np.inf), distances).astype(np.float32)
        return Found(self.slots, distances)._taken(np.argsort(distances, axis=1, kind="stable"))

    def _taken(self, order: Slots) -> Found:
        slots = np.take_along_axis(self.slots, order, axis=1)
        return Found(slots, np.take_along_axis(self.distances, order, axis=1))


def mask_of(snapshot: Snapshot, view: View, where: Filter) -> Mask:
    """The slots that a filter lets through; the last few are kept with the snapshot."""
    key = f"{view.sequence} {where!r}"
    mask = snapshot.masks.get(key)
    if mask is None:
        slots = view.matching(where)
        closed = np.ones(snapshot.live.shape[1], np.uint8)
        closed[slots] = 0
        mask = Mask(closed, len(slots))
        if len(snapshot.masks) >= _MASKS:
            snapshot.masks.clear()
        snapshot.masks[key] = mask
    return mask


def by_codes(snapshot: Snapshot, queries: Packed, weights: Floats | None, k: int, mask: Mask | None) -> Found:
    """The k nearest to query codes; by the asymmetric distance where there are weights (queries, n_bits)."""
    n_bits = 0 if snapshot.generation is None else snapshot.generation.hasher.n_bits
    head = candidates(k, weights is not None)
    slots, distances = nearest(snapshot.live, queries, head, n_bits, allowed=mask or snapshot.open)
    found = Found(slots, distances.astype(np.float32))
    if weights is not None:
        found = found.ordered(cost_distances(snapshot.live, queries, np.abs(weights), slots))
    return found.first(k)


def candidates(k: int, weighted: bool) -> int:
    """How many of the Hamming ranking are looked at for k neighbours."""
    return max(HEAD * k, LEAST) if weighted else k


def merged(parts: list[tuple[Slots, Floats, Floats | None]], queries: int, head: int, k: int) -> Found:
    """What parts of the slots have found, each its ``head`` nearest, as one scan would have found it.

    Of each part slots, their distances by Hamming and, where there are weights, by these.
    """
    if not parts:
        return Found(np.empty((queries, 0), np.int64), np.empty((queries, 0), np.float32)).first(k)
    slots, distances = (np.concatenate([part[i] for part in parts], axis=1) for i in (0, 1))
    order = np.lexsort((slots, distances), axis=1)[:, :head]
    found = Found(np.take_along_axis(slots, order, 1), np.take_along_axis(distances, order, 1))
    if parts[0][2] is not None:
        costs = np.concatenate([part[2] for part in parts], axis=1)
        found = found.ordered(np.take_along_axis(costs, order, 1))
    return found.first(k)


def by_cosine(snapshot: Snapshot, queries: Floats, k: int, allowed: Slots | None) -> Found:
    """Before initialisation: the k nearest vectors by 1 - cosine."""
    unhashed = snapshot.unhashed
    if unhashed is None:
        return Found(np.empty((len(queries), 0), np.int64), np.empty((len(queries), 0), np.float32)).first(k)
    slots, Z = unhashed.slots, unhashed.Z
    if allowed is not None:
        chosen = np.isin(slots, allowed)
        slots, Z = slots[chosen], Z[chosen]
    distances = np.maximum(0, 1 - unit(queries) @ Z.T)
    every = np.broadcast_to(slots, distances.shape)
    return Found(every, distances).ordered(distances).first(k)


def reranked(found: Found, queries: Floats, view: View) -> Found:
    """The same slots by 1 - cosine to the vectors that are kept."""
    slots, vectors = view.vectors(np.unique(found.slots[found.slots != NONE]))
    if not len(slots):
        return found
    Z = unit(vectors)[np.minimum(np.searchsorted(slots, found.slots), len(slots) - 1)]
    cosines: npt.NDArray[np.float32] = np.einsum("qkd,qd->qk", Z, unit(queries))
    return found.ordered(np.maximum(0, 1 - cosines))
