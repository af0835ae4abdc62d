"""What a benchmark yields: rows, each a ratio between two things measured in the same run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table. ``ratio`` is how many times better than the peer ours is."""

    what: str
    case: str
    unit: str
    ours: float
    peer: float
    against: str
    ratio: float
    goal: float | None = None  # the ratio to reach
    more: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the goal was reached, None where there is none."""
        return None if self.goal is None else self.ratio >= self.goal


@dataclass(frozen=True, slots=True)
class Timing:
    """The quickest of several runs, by wall clock, and that run's CPU seconds."""

    wall: float
    cpu: float


def timed(work: Callable[[], Any], repeats: int = 3, at_least: float = 0.2) -> Timing:
    """Run once to compile and warm up, then ``repeats`` times or until ``at_least`` seconds are used."""
    work()
    best, used, runs = Timing(float("inf"), 0.0), 0.0, 0
    while runs < repeats or (used < at_least and runs < 1000):
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        run = Timing(time.perf_counter() - wall, time.process_time() - cpu)
        best = min(best, run, key=lambda timing: timing.wall)
        used += run.wall
        runs += 1
    return best
