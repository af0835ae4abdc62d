"""The changes of one index, one after another, in a thread of their own.

Those that wait are bounded: one more is refused, and told when to ask again. A change is answered when
it is on the disk, so whatever was answered survives; when the server stops, those that wait are made.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from onlinehash.errors import BusyError

T = TypeVar("T")

_FORGET = 0.2  # how much the last change weighs in what the next one is thought to take


class Changes:
    """A bounded queue and the thread that works it off."""

    def __init__(self, name: str, most: int) -> None:
        self._name, self._most = name, most
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"changes-{name}")
        self._lock = threading.Lock()
        self._seconds = 0.01  # of a change, about
        self.waiting = 0  # with the one under way

    async def make(self, work: Callable[[], T]) -> T:
        """Do this when its turn has come. It is done even if nobody waits for the answer any more."""
        with self._lock:
            if self.waiting >= self._most:
                raise BusyError(
                    f"{self._name}: {self.waiting} changes wait already", self.waiting * self._seconds
                )
            self.waiting += 1
        future = self._thread.submit(self._timed, work)
        return await asyncio.shield(asyncio.wrap_future(future))

    def _timed(self, work: Callable[[], T]) -> T:
        started = time.perf_counter()
        try:
            return work()
        finally:
            with self._lock:
                self.waiting -= 1
                self._seconds += _FORGET * (time.perf_counter() - started - self._seconds)

    def close(self) -> None:
        """Make those that wait, then end."""
        self._thread.shutdown(wait=True)


class Refresher:
    """Refreshes in a thread of its own. What is asked for while one waits is done by that one."""

    def __init__(self, name: str, refresh: Callable[[], int]) -> None:
        self._refresh = refresh
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=f"refresh-{name}")
        self._lock = threading.Lock()
        self._waits: Future[int] | None = None

    def soon(self) -> Future[int]:
        """The generation that is served after a refresh that begins from now on."""
        with self._lock:
            if self._waits is None:
                self._waits = self._thread.submit(self._run)
            return self._waits

    def _run(self) -> int:
        with self._lock:
            self._waits = None
        return self._refresh()

    def close(self) -> None:
        """Wait for the one under way; what was learnt after it is served when the file is opened."""
        self._thread.shutdown(wait=True, cancel_futures=True)
