"""Which slot lies in which shard: stripes of slots, dealt out in turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onlinehash.index.store import Slots

STRIPE = 1 << 16


@dataclass(frozen=True, slots=True)
class Layout:
    """Slot s lies in shard (s // stripe) % shards, in the order of slots.

    A shard numbers its slots 0, 1, … without gaps ("local"), so order among equals stays the same.
    """

    shards: int
    stripe: int = STRIPE

    def shard_of(self, slots: Slots) -> Slots:
        """The shard of each slot."""
        return slots // self.stripe % self.shards

    def local(self, slots: Slots) -> Slots:
        """Each slot's number within its shard."""
        return slots // (self.stripe * self.shards) * self.stripe + slots % self.stripe

    def slots(self, shard: int, local: Slots) -> Slots:
        """The slots of a shard's own numbers."""
        return (local // self.stripe * self.shards + shard) * self.stripe + local % self.stripe

    def n_local(self, shard: int, n_slots: int) -> int:
        """How many of the first slots lie in a shard."""
        whole, rest = divmod(n_slots, self.stripe * self.shards)
        return whole * self.stripe + min(max(rest - shard * self.stripe, 0), self.stripe)

    def condition(self, shard: int, n_slots: int) -> str:
        """The rows of a shard's items, as a condition for Lance."""
        if self.shards == 1:
            return "slot >= 0"
        starts = range(shard * self.stripe, n_slots, self.shards * self.stripe)
        runs = [f"slot >= {start} AND slot < {start + self.stripe}" for start in starts]
        return " OR ".join(runs) or "slot < -1 AND slot > 0"

    def divided(self, slots: Slots) -> list[tuple[int, np.ndarray[tuple[int], np.dtype[np.intp]]]]:
        """Shards that some slots lie in, and which of the slots."""
        shards = self.shard_of(slots)
        return [(shard, np.flatnonzero(shards == shard)) for shard in np.unique(shards).tolist()]


WHOLE = Layout(1)
