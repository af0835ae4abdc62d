"""One index as it is served: its changes in a queue, its refreshes behind, its searches, its events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict
from typing import Any, TypeVar

from onlinehash.errors import IndexClosedError, OnlineHashError
from onlinehash.index.index import Index
from onlinehash.server.changes import Changes, Refresher
from onlinehash.server.events import Events
from onlinehash.server.limits import Limits
from onlinehash.server.searches import Searches

T = TypeVar("T")


class Served:
    """An open index, opened with ``refresh="manual"``: here it is known when each refresh ends."""

    def __init__(
        self, name: str, index: Index, pool: Executor, limits: Limits, loop: asyncio.AbstractEventLoop,
        measure: Callable[[Index], dict[str, Any]] | None = None,
    ) -> None:  # fmt: skip
        self.name, self.index = name, index
        self.pool = pool
        self.changes = Changes(name, limits.changes)
        self.refresher = Refresher(name, self._refresh)
        self.searches = Searches(index, pool, limits)
        self.events = Events(loop, limits.listeners)
        self.measure = measure  # figures for each new generation
        self.measured: dict[str, Any] = {}
        self.refreshes = 0
        self.refresh_seconds = 0.0  # all together
        if measure is not None:
            self._publish(index.generation)

    async def read(self, work: Callable[[Index], T]) -> T:
        """Something that only reads, in a thread."""
        return await asyncio.get_running_loop().run_in_executor(self.pool, work, self.index)

    async def change(self, work: Callable[[Index], T]) -> T:
        """A change, when its turn has come; on the disk when this returns."""
        return await self.changes.make(lambda: self._changed(work))

    async def learn(self, work: Callable[[Index], int], wait: bool) -> int:
        """A lesson: on the disk when this returns, and served too, unless it is not waited for."""
        number = await self.change(work)
        refreshed = self.refresher.soon()
        if wait:
            await asyncio.shield(asyncio.wrap_future(refreshed))
        return number

    async def refresh(self) -> int:
        """Serve what has been learnt by now; the generation that is served."""
        return await asyncio.shield(asyncio.wrap_future(self.refresher.soon()))

    def stats(self) -> dict[str, Any]:
        """As ``Index.stats``, and without the place where the file lies."""
        return asdict(self.index.stats()) | {"path": self.name, "refresh": "auto"}

    def pulse(self) -> dict[str, Any]:
        """What changes from second to second, without a look at the disk."""
        return {
            "generation": self.index.generation, "items": self.index._snapshot.n_items,
            "queries": self.searches.queries, "waiting": self.changes.waiting,
        }  # fmt: skip

    def close(self) -> None:
        """Make the changes that wait, then close the file."""
        self.changes.close()
        self.refresher.close()
        self.index.close()

    def _changed(self, work: Callable[[Index], T]) -> T:
        before = self.index.generation
        result = work(self.index)
        self.events.publish("items", self.pulse())
        if not before and self.index.generation:  # it was initialised
            self._publish(before)
        return result

    def _refresh(self) -> int:
        before = self.index.generation
        number = self.index.refresh()
        if number != before:
            self.refreshes += 1
            self._publish(before)
        return number

    def _publish(self, before: int) -> None:
        try:
            stats = self.index.stats()
            measured = {} if self.measure is None else self.measure(self.index)
        except (IndexClosedError, OnlineHashError):
            return
        if measured.pop("generation", stats.generation) != stats.generation:
            measured = {}  # of the next one, which is served already and tells of it itself
        self.measured |= measured
        self.refresh_seconds += stats.seconds.get("refresh", 0.0)
        self.events.publish(
            "generation",
            {
                "generation": stats.generation, "before": before, "refreshed": stats.items,
                "milliseconds": 1000 * stats.seconds.get("refresh", 0.0), "flipped": stats.flipped,
                "mistakes_P": stats.mistakes_P, "mistakes_R": stats.mistakes_R, "loss_P": stats.loss_P,
                "loss_R": stats.loss_R, "learnt": stats.learnt, "labels": stats.labels,
                "items": stats.items, "pending": stats.pending, "memory": stats.memory, "disk": stats.disk,
            } | measured,
        )  # fmt: skip
