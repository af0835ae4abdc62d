"""Running a plan: what is done is skipped, the rest is measured and written down one by one.

Results are lines of JSON in one file, each with its job, values, versions and machine. A run that is
interrupted goes on where it stopped. Measurements of codes may run in several processes, each on one
core; measurements of time run one after another, alone and on one core.
"""

from __future__ import annotations

import json
import logging
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass
from importlib.metadata import version
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from onlinehash.kernels.threads import at_most
from onlinehash.paper.jobs import TIMED, Job
from onlinehash.paper.measure import Bench
from onlinehash.paper.methods import Parameters

log = logging.getLogger(__name__)

Record = dict[str, Any]
Progress = Callable[[Job, int, int], None]  # the job that has ended, how many have, how many there are


@dataclass(frozen=True, slots=True)
class Results:
    """The file of results."""

    path: Path

    def records(self) -> list[Record]:
        """All that was measured; a line that was cut off by an interruption counts as not there."""
        found = []
        for line in self.path.read_text().splitlines() if self.path.exists() else ():
            try:
                found.append(json.loads(line))
            except ValueError:
                log.warning("%s: a line is cut off, it is measured again", self.path)
        return found

    def add(self, record: Record) -> None:
        """Write one more line, at once."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("ab+") as file:
            file.seek(max(file.tell() - 1, 0))
            cut_off = file.read(1) not in (b"", b"\n")
            file.write((b"\n" if cut_off else b"") + json.dumps(record).encode() + b"\n")


def chosen(records: Sequence[Record]) -> dict[tuple[str, str], Parameters]:
    """The best parameters of each rival on each data set, as the validation part has it."""
    best: dict[tuple[str, str], tuple[float, Parameters]] = {}
    for record in records:
        job = record["job"]
        if job["kind"] == "tune":
            of = (job["data"], job["method"])
            mAP = record["values"]["mAP"]
            if of not in best or mAP > best[of][0]:
                best[of] = (mAP, job["parameters"])
    return {of: parameters for of, (_, parameters) in best.items()}


def resolved(jobs: Sequence[Job], records: Sequence[Record]) -> Iterator[Job]:
    """The jobs, those of rivals with the parameters that were chosen for them."""
    best = chosen(records)
    for job in jobs:
        of = (job.data, job.method)
        yield job.with_parameters(best[of]) if job.kind == "stream" and of in best else job


def run(jobs: Sequence[Job], bench: Bench, results: Results, workers: int, progress: Progress) -> None:
    """Measure what has not been measured yet."""
    total = len(jobs)
    ended = 0
    for stage in (("tune",), ("C", "stream"), TIMED):
        records = results.records()
        done = {record["key"] for record in records}
        of_stage = [job for job in resolved(jobs, records) if job.kind in stage]
        waiting = [job for job in of_stage if job.key not in done]
        ended += len(of_stage) - len(waiting)
        measured = _alone(waiting, bench) if stage is TIMED else _together(waiting, bench, workers)
        for job, values, took in measured:
            record = {"key": job.key, "job": job.to_dict(), "values": values, "took": took}
            results.add(record | {"machine": machine()})
            ended += 1
            progress(job, ended, total)


def _alone(jobs: Sequence[Job], bench: Bench) -> Iterator[tuple[Job, Any, float]]:
    for job in jobs:
        log.info("measuring %s", job.title)
        yield job, *_measured(bench, job)


def _together(jobs: Sequence[Job], bench: Bench, workers: int) -> Iterator[tuple[Job, Any, float]]:
    if workers <= 1 or len(jobs) <= 1:
        yield from _alone(jobs, bench)
        return
    pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
    try:
        queue = list(reversed(jobs))
        running: dict[Future[Any], Job] = {}
        while queue or running:
            while queue and len(running) < 2 * workers:
                job = queue.pop()
                running[pool.submit(_measured, bench, job)] = job
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                yield running.pop(future), *future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _measured(bench: Bench, job: Job) -> tuple[Any, float]:
    """The values, and the seconds that it took to get them, on one core."""
    began = time.perf_counter()
    with at_most(1):
        values = bench.run(job)
    return values, time.perf_counter() - began


def machine() -> dict[str, str]:
    """What figures may depend on."""
    versions = {name: version(name) for name in ("onlinehash", "numpy", "numba", "scikit-learn")}
    return {"python": platform.python_version(), "processor": platform.machine(), **versions}
