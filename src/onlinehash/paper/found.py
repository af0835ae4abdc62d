"""What was measured, for those who draw it: records of a plan, looked up by what they are of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.paper.jobs import Job
from onlinehash.paper.run import Record, resolved


class Found:
    """The records of a plan's jobs. Several repeats of one thing stand in the order of their seeds."""

    def __init__(self, jobs: Sequence[Job], records: Sequence[Record]) -> None:
        wanted = {job.key: job for job in resolved(jobs, records)}
        of_key = {record["key"]: record for record in records if record["key"] in wanted}
        self.records = sorted(of_key.values(), key=lambda record: _order(record["job"]))
        self.missing = len(wanted) - len(self.records)

    def of(self, kind: str, **wanted: Any) -> list[Record]:
        """Records of a kind whose jobs have these values."""
        return [
            record
            for record in self.records
            if record["job"]["kind"] == kind and all(record["job"][k] == v for k, v in wanted.items())
        ]

    def values(self, name: str, kind: str, **wanted: Any) -> npt.NDArray[np.float64]:
        """One named value of each repeat; empty where nothing was measured."""
        return np.array(
            [r["values"][name] for r in self.of(kind, **wanted) if name in r["values"]], np.float64
        )

    def mean(self, name: str, kind: str, **wanted: Any) -> float | None:
        """The mean over repeats."""
        values = self.values(name, kind, **wanted)
        return float(values.mean()) if len(values) else None

    def distinct(self, what: str, kind: str, **wanted: Any) -> list[Any]:
        """The different data sets, methods, numbers of bits … in what was measured, in their order."""
        return list(dict.fromkeys(record["job"][what] for record in self.of(kind, **wanted)))


def spread(values: Iterable[float], digits: int = 3) -> str:
    """Mean ± standard deviation over repeats, as text."""
    array = np.array(list(values), np.float64)
    if not len(array):
        return ""
    mean = f"{array.mean():.{digits}f}"
    return mean if len(array) == 1 else f"{mean} ± {array.std(ddof=1):.{digits}f}"


def _order(job: dict[str, Any]) -> tuple[Any, ...]:
    return job["kind"], job["n_bits"], job["seed"], str(job["parameters"]), str(job["protocol"])
