"""Scan: exact Hamming k nearest over word-major codes, ties by slot.

Slots are walked in blocks that fit the first-level cache, all queries over each block. A query
keeps a limit: the distance from which on nothing can be among its k nearest any more. For a run of
slots the only question is whether its smallest distance is below the limit, which is a handful of
vector instructions; the few runs that say yes are looked at slot by slot.

Distances are small integers, so no heap is needed: a histogram of the distances taken so far tells
the limit, and a buffer of 2k candidates is thinned out whenever it is full.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from onlinehash.codes import Packed, Words, check_packed, check_words, n_words, packed_to_words
from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.kernels import vectors
from onlinehash.kernels.threads import in_parts, n_cores

Slots = npt.NDArray[np.int64]
Distances = npt.NDArray[np.int32]

_GROUP, _LANES = vectors.GROUP, vectors.LANES
_RUN = 512  # slots of one look
_BLOCK_WORDS = 4096  # words of one block, 32 KiB
_FEW = 1 << 22  # words to compare (half a millisecond) below which a second thread brings next to nothing
_BUFFER_BYTES = 1 << 28  # memory for the candidates of the queries that are scanned together


@dataclass(frozen=True, slots=True, eq=False)
class Mask:
    """Which slots may be found, in the form that the scan reads: made once, used by many searches."""

    closed: npt.NDArray[np.uint8]  # (n,), 1 for a slot that is passed over
    n_open: int

    @classmethod
    def of(cls, allowed: Any, n: int) -> Mask:
        """From a bool array over ``n`` slots."""
        mask = np.asarray(allowed)
        if mask.dtype != bool or mask.shape != (n,):
            raise InvalidInputError(
                f"allowed: expected a bool array of shape ({n},), one for each slot; "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        return cls(np.ascontiguousarray(~mask).view(np.uint8), int(np.count_nonzero(mask)))


def nearest(
    words: Words, queries: Packed, k: int, n_bits: int, *,
    allowed: npt.NDArray[np.bool_] | Mask | None = None, threads: int | None = None,
) -> tuple[Slots, Distances]:  # fmt: skip
    """The k nearest slots of each query: (slots, distances), each of shape (queries, found).

    ``words`` are word-major, perhaps a view into larger memory; ``queries`` are packed. ``found``
    is k, or the number of (allowed) slots where that is less; it never differs between queries.
    Nearest first, the lower slot first among equals. ``allowed`` is a mask over the slots, a bool
    array or a ``Mask``. ``threads`` default to as many as are worth it.
    """
    words = check_words(words, n_bits)
    rows = np.ascontiguousarray(packed_to_words(check_packed(queries, n_bits, "queries"), n_bits).T)
    n = words.shape[1]
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InvalidParameterError(f"k must be an int of 1 or more, got {k!r}")
    closed, found = None, min(int(k), n)
    if allowed is not None:
        mask = allowed if isinstance(allowed, Mask) else Mask.of(allowed, n)
        closed, found = mask.closed, min(found, mask.n_open)
    slots = np.empty((len(rows), found), np.int64)
    distances = np.empty((len(rows), found), np.int32)
    if found:
        room = min(n, max(2 * found, 1024))
        together = max(1, _BUFFER_BYTES // (12 * room * (threads or n_cores())))
        for start in range(0, len(rows), together):
            of = slice(start, start + together)
            _nearest(words, rows[of], found, room, n_bits, closed, slots[of], distances[of], threads)
    return slots, distances


def _nearest(
    words: Words, queries: Words, k: int, room: int, n_bits: int,
    closed: npt.NDArray[np.uint8] | None, slots: Slots, distances: Distances, threads: int | None,
) -> None:  # fmt: skip
    """Scan parts of the slots, each in a thread of its own, and merge what they found."""
    n, width = words.shape[1], (np.uint8(0),) * n_words(n_bits)
    worth = min(n_cores(), n * words.shape[0] * len(queries) // _FEW)
    parts = max(1, min(threads or worth, n // _RUN))
    found_slots = np.empty((parts, len(queries), k), np.int64)
    found_distances = np.empty((parts, len(queries), k), np.int32)
    found = np.empty((parts, len(queries)), np.int64)

    def work(part: int, first: int, last: int) -> None:
        _scan(
            words.ctypes.data, words.strides[0], first, last, queries, width, n_bits, k,
            min(room, last - first), closed, found_slots[part], found_distances[part], found[part],
        )  # fmt: skip

    in_parts(work, n, parts)
    _merge(found_slots, found_distances, found, slots, distances)


@njit(nogil=True, cache=True)
def _scan(
    words: Any, stride: Any, first: int, last: int, queries: Words, width: Any, n_bits: int, k: int,
    room: int, closed: Any, out_slots: Slots, out_distances: Distances, out_found: Slots,
) -> None:  # fmt: skip
    n_queries = queries.shape[0]
    slots = np.empty((n_queries, room), np.int64)
    distances = np.empty((n_queries, room), np.int32)
    taken = np.zeros((n_queries, n_bits + 2), np.int64)  # candidates by distance
    limit = np.full(n_queries, n_bits + 1, np.int64)
    below_limit = np.zeros(n_queries, np.int64)
    size = np.zeros(n_queries, np.int64)
    block = max(_BLOCK_WORDS // len(width), _RUN) // _RUN * _RUN
    for start in range(first, last, block):
        stop = min(start + block, last)
        for q in range(n_queries):
            query = queries.ctypes.data + q * len(width) * 8
            for run in range(start, stop, _RUN):
                run_stop = min(run + _RUN, stop)
                if run_stop - run == _RUN:
                    here = words + run * 8
                    nearest_here = vectors.min_distance(here, stride, query, _RUN // _LANES, width)
                    if np.int64(nearest_here) >= limit[q]:
                        continue
                for group in range(run, run_stop, _GROUP):
                    if group + _GROUP <= run_stop:
                        hits = vectors.below(words + group * 8, stride, query, limit[q], width)
                    else:
                        hits = ~np.uint64(0) >> np.uint64(group + _GROUP - last)
                    while hits:
                        slot = group + np.int64(vectors.lowest_bit(hits))
                        hits &= hits - np.uint64(1)
                        if closed is not None and closed[slot]:
                            continue
                        distance = np.int64(0)
                        for w in range(len(width)):
                            word = vectors.load_word(words + w * stride + slot * 8)
                            distance += np.int64(vectors.popcount(word ^ queries[q, w]))
                        if distance >= limit[q]:
                            continue
                        if size[q] == room:
                            size[q] = _thin(slots[q], distances[q], size[q], limit[q], k - below_limit[q])
                        slots[q, size[q]] = slot
                        distances[q, size[q]] = distance
                        size[q] += 1
                        taken[q, distance] += 1
                        below_limit[q] += 1
                        # Once k candidates are nearer than the limit, the limit itself comes nearer.
                        while below_limit[q] >= k:
                            limit[q] -= 1
                            below_limit[q] -= taken[q, limit[q]]
    for q in range(n_queries):
        kept = _thin(slots[q], distances[q], size[q], limit[q], k - below_limit[q])
        _order(slots[q, :kept], distances[q, :kept], n_bits, out_slots[q], out_distances[q])
        out_found[q] = kept


@njit(nogil=True, cache=True)
def _thin(slots: Slots, distances: Distances, size: int, limit: int, at_limit: int) -> int:
    """Keep the candidates nearer than the limit and the first ``at_limit`` of those at it."""
    kept = 0
    for i in range(size):
        if distances[i] > limit or (distances[i] == limit and at_limit == 0):
            continue
        if distances[i] == limit:
            at_limit -= 1
        slots[kept], distances[kept] = slots[i], distances[i]
        kept += 1
    return kept


@njit(nogil=True, cache=True)
def _order(
    slots: Slots, distances: Distances, n_bits: int, out_slots: Slots, out_distances: Distances
) -> None:
    """Sort by distance; a counting sort is stable, so equals stay in the order of their slots."""
    starts = np.zeros(n_bits + 2, np.int64)
    for distance in distances:
        starts[distance + 1] += 1
    starts = np.cumsum(starts)
    for i in range(len(slots)):
        at = starts[distances[i]]
        starts[distances[i]] += 1
        out_slots[at], out_distances[at] = slots[i], distances[i]


@njit(nogil=True, cache=True)
def _merge(
    found_slots: Slots, found_distances: Distances, found: Slots, slots: Slots, distances: Distances
) -> None:
    """Merge the parts' sorted lists; the first part has the lowest slots and so wins ties."""
    parts, n_queries = found.shape
    at = np.empty(parts, np.int64)
    for q in range(n_queries):
        at[:] = 0
        for i in range(slots.shape[1]):
            best = -1
            for part in range(parts):
                if at[part] < found[part, q] and (
                    best < 0 or found_distances[part, q, at[part]] < found_distances[best, q, at[best]]
                ):
                    best = part
            slots[q, i] = found_slots[best, q, at[best]]
            distances[q, i] = found_distances[best, q, at[best]]
            at[best] += 1


def nearest_numpy(
    words: Words, queries: Packed, k: int, n_bits: int, allowed: npt.NDArray[np.bool_] | None = None
) -> tuple[Slots, Distances]:
    """The plain twin: all distances, a stable sort."""
    rows = packed_to_words(queries, n_bits).T
    differing = rows[:, :, None] ^ words[None]
    distances = np.bitwise_count(differing).sum(axis=1, dtype=np.int32)
    open_slots = np.arange(words.shape[1]) if allowed is None else np.flatnonzero(allowed)
    distances = distances[:, open_slots]
    order = np.argsort(distances, axis=1, kind="stable")[:, :k]
    return open_slots[order], np.take_along_axis(distances, order, axis=1)
