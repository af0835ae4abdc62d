"""The paper's rivals on the same splits, beside the defaults; queries are asked once.

Each rival's parameters are chosen on the validation part at 32 bits (``onlinehash/paper/methods.py`` has
the grids). What has been measured lies in results/rivals.jsonl and is not measured again, so an
interrupted run goes on.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks import photographs
from benchmarks.beyond.record import Record
from benchmarks.beyond.sets import cases
from onlinehash import OHWEU
from onlinehash.paper.found import Found
from onlinehash.paper.jobs import Job
from onlinehash.paper.measure import Bench
from onlinehash.paper.methods import METHODS
from onlinehash.paper.run import Results, run
from onlinehash.paper.sources import photographs as settings_of

ABOUT = "mAP by the number of bits, beside the paper's rivals"
FIGURE, AXES = "curves", {"xlabel": "bits", "ylabel": "mAP", "xticks": (32, 64, 96, 128)}
SEEDS = 3
BITS = (32, 64, 96, 128)
SETTINGS = ("no-person", "all", "tags")
STRONG, OTHERS = ("osuph", "bsodh", "okh"), ("osh", "mihash")
RESULTS = Results(Path("results/rivals.jsonl"))
_DRAWN = {"queries": 2000, "validation": 1000}


def measure(seeds: int, quick: bool) -> Iterator[Record]:
    """Ours; the strong rivals with as many seeds; the others, and the published method, with one."""
    for case in cases(SETTINGS, seeds, "queries", quick):
        for n_bits in BITS[:1] if quick else BITS:
            hasher = OHWEU(n_bits, random_state=case.seed).fit(case.X, case.Y)
            yield Record(case.name, METHODS["ohweu"].title, n_bits, [case.score_of(hasher)])
    if not quick and photographs.available():
        yield from rivals(seeds)


def rivals(seeds: int) -> Iterator[Record]:
    """Measured by the runner of ``onlinehash paper``."""
    bench = Bench({s.name: s for s in settings_of(photographs.FOLDER)}, Path("results"))
    for setting in SETTINGS:
        for name in ("ohweu-paper", *STRONG, *OTHERS):
            jobs = list(_jobs(setting, name, seeds if name in STRONG else 1))
            run(jobs, bench, RESULTS, 1, lambda job, *_: print(job.title, file=sys.stderr, flush=True))
            found = Found(jobs, RESULTS.records())
            for n_bits in BITS:
                values = found.values("mAP", "stream", n_bits=n_bits).tolist()
                yield Record(setting, METHODS[name].title, n_bits, values)


def _jobs(setting: str, name: str, seeds: int) -> Iterator[Job]:
    method = METHODS[name]
    if method.grid:
        for candidate in method.candidates():
            yield Job("tune", setting, name, BITS[0], 0, candidate, _DRAWN)
    for seed in range(seeds):
        for n_bits in BITS:
            yield Job("stream", setting, name, n_bits, seed, {}, {**_DRAWN, "shares": (1.0,)})
