"""Start: how long ``import onlinehash`` takes, beside importing NumPy alone."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator

from benchmarks.rows import Row


def seconds(code: str, repeats: int) -> float:
    """The quickest of several new processes that run ``code``."""
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        best = min(best, time.perf_counter() - start)
    return best


def rows(quick: bool) -> Iterator[Row]:
    """Seconds above those of an empty process."""
    repeats = 1 if quick else 5
    empty = seconds("pass", repeats)
    numpy = seconds("import numpy", repeats) - empty
    for what, code in (
        ("import onlinehash", "import onlinehash"),
        ("import, and name OHWEU", "import onlinehash; onlinehash.OHWEU"),
    ):
        ours = seconds(code, repeats) - empty
        yield Row("start", what, "s", ours, numpy, "import numpy", numpy / max(ours, 1e-4))
