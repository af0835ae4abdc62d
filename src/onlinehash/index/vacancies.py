"""Which slots are given out: freed ones first, once no snapshot in which they were open is alive."""

from __future__ import annotations

from weakref import ref

import numpy as np

from onlinehash.index.snapshot import Slots, Snapshot


class Vacancies:
    """The writer's, as all that changes memory."""

    def __init__(self) -> None:
        self._free: list[int] = []  # slots to give out again
        self._freed: list[tuple[int, list[int]]] = []  # not yet: the state that freed them, and slots
        self._replaced: list[ref[Snapshot]] = []

    def alive(self) -> list[Snapshot]:
        """Snapshots that have been replaced, and that somebody still reads."""
        self._replaced = [one for one in self._replaced if one() is not None]
        return [snapshot for one in self._replaced if (snapshot := one()) is not None]

    def take(self, n: int, sequence: int, top: int) -> Slots:
        """``n`` slots in the state of that number, whose first new slot is ``top``."""
        oldest = min((snapshot.sequence for snapshot in self.alive()), default=sequence)
        while self._freed and self._freed[0][0] <= oldest:
            self._free += self._freed.pop(0)[1]
        again = self._free[max(0, len(self._free) - n) :]
        return np.concatenate([np.array(again, np.int64), np.arange(top, top + n - len(again))])

    def taken(self, again: int) -> None:
        """So many of the slots that were given out again hold items now."""
        if again:
            del self._free[-again:]

    def free_after(self, sequence: int, closed: Slots) -> None:
        """In that state these slots were freed."""
        if len(closed):
            self._freed.append((sequence, closed.tolist()))

    def replaced(self, snapshot: Snapshot) -> None:
        """Another snapshot has been published."""
        self._replaced.append(ref(snapshot))

    def reset(self, free: Slots) -> None:
        """Begin again with free slots in ascending order."""
        self._free, self._freed = free[::-1].tolist(), []
