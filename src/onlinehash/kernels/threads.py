"""One shared pool of threads for kernels that release the GIL."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache


def n_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


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
    return ThreadPoolExecutor(n_cores(), thread_name_prefix="onlinehash")


if hasattr(os, "register_at_fork"):  # threads do not survive a fork: the child starts its own
    os.register_at_fork(after_in_child=_executor.cache_clear)
