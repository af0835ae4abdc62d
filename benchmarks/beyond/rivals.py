"""The paper's rivals on the same splits, beside the defaults; queries are asked once.

    onlinehash paper fig2 --tier standard

measures the same jobs, each rival with the parameters that the validation part chose for it at 32 bits
(``onlinehash/paper/methods.py`` has the grids). What lies in results/paper by then is not measured again,
and an interrupted run goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import photographs
from benchmarks.beyond.record import Record
from onlinehash.paper.found import Found
from onlinehash.paper.jobs import TIERS, Job, plan
from onlinehash.paper.measure import Bench
from onlinehash.paper.methods import METHODS, RIVALS
from onlinehash.paper.run import Results, run
from onlinehash.paper.sources import photographs as settings_of

ABOUT = "mAP by the number of bits, beside the paper's rivals"
FIGURE, AXES = "curves", {"xlabel": "bits", "ylabel": "mAP", "xticks": (32, 64, 96, 128)}
SEEDS = 3
NOT_SHOWN = ("ohweu-released", "itq", "lsh")
SETTINGS = ("no-person", "all", "tags")
FOLDER = Path("results/paper")


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Ours, the published method, then the rivals."""
    if quick or not photographs.available():
        return
    settings = {setting.name: setting for setting in settings_of(photographs.FOLDER)}
    jobs = [
        job
        for job in plan(("fig2",), TIERS["standard"], list(settings.values()))
        if job.method not in NOT_SHOWN and job.seed < seeds
    ]
    results = Results(FOLDER / "results.jsonl")
    run(jobs, Bench(settings, FOLDER), results, 1, _say)
    found = Found(jobs, results.records())
    gains = []
    for setting in SETTINGS:
        for n_bits in TIERS["standard"].bits:
            ours, best = [], 0.0
            for name in (name for name in METHODS if name not in NOT_SHOWN):
                values = found.values("mAP", "stream", data=setting, method=name, n_bits=n_bits).tolist()
                yield Record(setting, METHODS[name].title, n_bits, values)
                if name == "ohweu":
                    ours = values
                elif name in RIVALS:
                    best = max(best, float(np.mean(values)))
            gain = float(np.mean(ours)) - best
            gains.append(Record("ours over the best of the rivals", setting, n_bits, [gain], 0))
    yield from gains


def _say(job: Job, ended: int, total: int) -> None:
    print(f"rivals: {ended} of {total}, {job.title}", file=sys.stderr, flush=True)
