"""One shared pool of threads for kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from threading import Lock
from typing import Any

_most: ContextVar[int | None] = ContextVar("most", default=None)


def n_cores() -> int:
    """Cores that the caller may use. It is one within the pool, so that no part waits for another."""
    if (most := _most.get()) is not None:
        return most
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def kernels_at_most(cores: int) -> Iterator[None]:
    """Our kernels on no more than so many threads."""
    before = _most.set(cores)
    try:
        yield
    finally:
        _most.reset(before)


@contextmanager
def at_most(cores: int) -> Iterator[None]:
    """Our kernels on no more than so many threads; BLAS and OpenMP, too, and those in the whole process."""
    _libraries().limit(cores)
    try:
        with kernels_at_most(cores):
            yield
    finally:
        _libraries().release(cores)


class _Libraries:
    """Threads of BLAS and OpenMP, in the libraries that are loaded when it is made.

    Limits of several threads may overlap: the lowest holds, and after the last all is as it was.
    """

    def __init__(self) -> None:
        import scipy.linalg  # noqa: F401  (brings a BLAS of its own, which must be there to be limited)
        from threadpoolctl import ThreadpoolController

        self._controller = ThreadpoolController()
        self._lock = Lock()
        self._limits: list[int] = []
        self._before: Any = None

    def limit(self, cores: int) -> None:
        with self._lock:
            self._limits.append(cores)
            limiter = self._controller.limit(limits=min(self._limits))
            if len(self._limits) == 1:
                self._before = limiter

    def release(self, cores: int) -> None:
        with self._lock:
            self._limits.remove(cores)
            if self._limits:
                self._controller.limit(limits=min(self._limits))
            else:
                self._before.restore_original_limits()


@cache
def _libraries() -> _Libraries:
    return _Libraries()


def side_by_side(*works: Callable[[], None]) -> None:
    """Call functions that have nothing to do with each other, each on a core where there are as many."""
    if n_cores() < len(works):
        for work in works:
            work()
    else:
        in_parts(lambda part, first, last: works[part](), len(works), len(works), align=1)


def in_parts(work: Callable[[int, int, int], None], n: int, parts: int, align: int = 64) -> None:
    """Call ``work(part, first, last)`` for ``parts`` consecutive ranges of ``range(n)``.

    The last part runs in the calling thread, so one part costs no thread at all. Ranges start at
    multiples of ``align``. Every part has ended when this returns, also where one has failed.
    """
    bounds = [min(n, -(-n * part // (parts * align)) * align) for part in range(parts)] + [n]
    others = [_executor().submit(work, part, bounds[part], bounds[part + 1]) for part in range(parts - 1)]
    try:
        work(parts - 1, bounds[parts - 1], bounds[parts])
    finally:
        errors = [future.exception() for future in others]
    for error in errors:
        if error is not None:
            raise error


@cache
def _executor() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="onlinehash", initializer=_alone)


def _alone() -> None:
    _most.set(1)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child starts its own
    os.register_at_fork(after_in_child=_executor.cache_clear)
