"""Base and live codes in memory. One writer changes them while many read; nothing is copied an item.

How readers are safe without waiting:

- A snapshot sees a fixed number of slots. New items go into slots past it, in the same memory.
- Which slots are closed is copied when it changes for slots that a snapshot may see.
- A freed slot is given out again only when no snapshot in which it was open is alive.
- A refresh writes into memory of its own; so does growing. Old memory goes with its last snapshot.
- All is made ready before the store commits. What follows is the assignment of references.

Slots that are written while a refresh runs are noted and refreshed again before it is published.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onlinehash.codes import Packed, Words, n_words, packed_to_words, words_to_packed
from onlinehash.hashers.ohweu import OHWEU
from onlinehash.index.snapshot import Generation, Slots, Snapshot
from onlinehash.index.store import View
from onlinehash.index.vacancies import Vacancies
from onlinehash.kernels.scan import Mask
from onlinehash.memory import aligned_empty

_SPARE = 4096  # slots of room that a new buffer has at least
_SLICE = 1 << 18


@dataclass(frozen=True, slots=True, eq=False)
class Ready:
    """What becomes true when the store has committed."""

    snapshot: Snapshot
    mask: npt.NDArray[np.uint8]
    opened: Slots
    closed: Slots


class Buffers:
    """The memory of an index. All its methods are the writer's, one at a time."""

    def __init__(self, generation: Generation, room: int = 0) -> None:
        self.base_bits = generation.hasher.base_bits_
        self.n_bits = generation.hasher.n_bits
        self._base = _allocate(self.base_bits, room + _SPARE)
        self._live = _allocate(self.n_bits, room + _SPARE)
        self._mask: npt.NDArray[np.uint8] = np.zeros(self._live.shape[1], np.uint8)
        self._vacancies = Vacancies()
        self._written: list[Slots] | None = None  # while a refresh runs
        self._coming: Words | None = None  # what it writes to
        self.snapshot = Snapshot(0, 0, generation, self._live[:, :0])

    @property
    def hasher(self) -> OHWEU:
        """Of the generation served."""
        assert self.snapshot.generation is not None
        return self.snapshot.generation.hasher

    @property
    def n_bytes(self) -> int:
        """Bytes of codes and mask in use."""
        return int(self.snapshot.live.shape[1]) * (8 * (len(self._base) + len(self._live)) + 1)

    def base_codes(self, slots: Slots) -> Packed:
        """Base codes of some slots."""
        return words_to_packed(np.ascontiguousarray(self._base[:, slots]), self.base_bits)

    # ---- a change: slots, codes, the snapshot that will be, and that it is

    def vacant(self, n: int) -> Slots:
        """Slots for ``n`` items: freed ones that nobody sees any more, then new ones."""
        return self._vacancies.take(n, self.snapshot.sequence, self.snapshot.live.shape[1])

    def write(self, slots: Slots, codes: Packed) -> None:
        """Base and live codes of vacant slots."""
        words = packed_to_words(codes, self.base_bits)
        self._reserve(int(slots.max(initial=-1)) + 1)
        live = _allocate(self.n_bits, len(slots))
        assert self.snapshot.generation is not None
        self.snapshot.generation.refresh(words, live)
        self._base[:, slots], self._live[:, slots] = words, live
        if self._written is not None:
            self._written.append(slots)

    def ready(self, sequence: int, opened: Slots, closed: Slots) -> Ready:
        """The snapshot in which some slots have been opened and others closed."""
        before, mask = self.snapshot, self._mask
        top = before.live.shape[1]
        if len(closed) or (opened < top).any():
            mask = mask.copy()
            mask[closed] = 1
        mask[opened] = 0
        n = max(top, int(opened.max(initial=-1)) + 1)
        n_items = before.n_items + len(opened) - len(closed)
        snapshot = _snapshot(sequence, n_items, before.generation, self._live[:, :n], mask)
        return Ready(snapshot, mask, opened, closed)

    def accept(self, ready: Ready) -> None:
        """The store has committed it."""
        self._vacancies.taken(int((ready.opened < self.snapshot.live.shape[1]).sum()))
        self._vacancies.free_after(ready.snapshot.sequence, ready.closed)
        self._mask = ready.mask
        self._publish(ready.snapshot)

    # ---- a refresh: begun and ended by the writer, run by anybody in between

    def begin_refresh(self) -> Callable[[Generation], int]:
        """The work to be done; what is written from now on is noted."""
        before, base = self.snapshot, self._base[:, : self.snapshot.live.shape[1]]
        live = _allocate(self.n_bits, self._live.shape[1])
        self._written, self._coming = [], live
        return lambda generation: _refresh(base, live, generation, before)

    def end_refresh(self, generation: Generation) -> None:
        """Publish refreshed codes, after those of slots that were written in the meantime."""
        assert self._written is not None
        assert self._coming is not None
        written, live = self._written, _grown(self._coming, self._live.shape[1])
        self._written = self._coming = None
        n = self.snapshot.live.shape[1]
        for slots in written:
            base = _allocate(self.base_bits, len(slots))
            base[...] = self._base[:, slots]
            again = _allocate(self.n_bits, len(slots))
            generation.refresh(base, again)
            live[:, slots] = again
        self._live = live
        before = self.snapshot
        self._publish(_snapshot(before.sequence, before.n_items, generation, live[:, :n], self._mask))

    def cancel_refresh(self) -> None:
        """It has failed; all is as it was."""
        self._written = self._coming = None

    # ---- from the store

    def follow(self, view: View, generation: Generation) -> None:
        """Come to the state of a view: at first everything, later what has changed."""
        before = self.snapshot
        top, since = before.live.shape[1], before.sequence
        moved = not since or generation is not before.generation
        self._reserve(view.n_slots())
        mask, live = self._mask.copy(), self._live
        for chunk in view.chunks(since):
            of = slice(chunk.first, chunk.first + len(chunk.taken))
            words, closed = packed_to_words(chunk.codes, self.base_bits), ~chunk.taken
            seen = max(0, min(top, of.stop) - of.start)
            same = (self._base[:, of][:, :seen] == words[:, :seen]).all()
            if live is self._live and not moved and not (same and (mask[of][:seen] == closed[:seen]).all()):
                live = live.copy() if seen else live
            self._base[:, of], mask[of] = words, closed
            if not moved:
                generation.refresh(words, live[:, of])
        taken = np.flatnonzero(mask[: view.n_slots()] == 0)
        n = int(taken[-1]) + 1 if len(taken) else 0
        if moved:
            live = _allocate(self.n_bits, self._live.shape[1])
            generation.refresh(self._base[:, :n], live[:, :n])
        self._mask, self._live = mask, live
        self._vacancies.reset(np.flatnonzero(mask[:n]))
        self._publish(_snapshot(view.sequence, len(taken), generation, live[:, :n], mask))

    # ---- how it works

    def _publish(self, snapshot: Snapshot) -> None:
        self._vacancies.replaced(self.snapshot)
        self.snapshot = snapshot

    def _reserve(self, n: int) -> None:
        """Room for ``n`` slots: half as much again, so that an item is copied a few times at most."""
        room = self._live.shape[1]
        if n > room:
            room = max(n, room + room // 2)
            self._base, self._live = _grown(self._base, room), _grown(self._live, room)
            mask = np.zeros(self._live.shape[1], np.uint8)
            mask[: len(self._mask)] = self._mask
            self._mask = mask


def _refresh(base: Words, live: Words, generation: Generation, before: Snapshot) -> int:
    """Base codes to the first of ``live``; how many bits of items are not as before."""
    n = base.shape[1]
    generation.refresh(base, live[:, :n])
    flipped = 0
    for start in range(0, n, _SLICE):
        of = slice(start, min(start + _SLICE, n))
        bits = np.bitwise_count(live[:, of] ^ before.live[:, of])
        if before.open is not None:
            bits[:, before.open.closed[of] > 0] = 0
        flipped += int(bits.sum())
    return flipped


def _snapshot(
    sequence: int, n_items: int, generation: Generation | None, live: Words, mask: npt.NDArray[np.uint8]
) -> Snapshot:
    n = live.shape[1]
    return Snapshot(sequence, n_items, generation, live, None if n == n_items else Mask(mask[:n], n_items))


def _allocate(n_bits: int, n: int) -> Words:
    """As ``allocate_words``, but not zeroed: pages that are never written to cost nothing."""
    words: Words = aligned_empty((n_words(n_bits), -(-n // 8) * 8), "<u8")
    return words[:, :n]


def _grown(words: Words, n: int) -> Words:
    if words.shape[1] >= n:
        return words
    more: Words = aligned_empty((len(words), -(-n // 8) * 8), "<u8")
    more[:, : words.shape[1]] = words
    return more
