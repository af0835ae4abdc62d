"""Defaults: what each of OHWEU's parameters is worth, on validation queries and never on the queries.

One parameter is moved at a time away from the defaults. The ratio column shows differences in mAP.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks import photographs
from benchmarks.rows import Row
from onlinehash import OHWEU, HammingRanking
from onlinehash.hashers import ohweu as module
from onlinehash.kernels.learn import RULES

MOVES: tuple[dict[str, Any], ...] = (
    {},
    *({"rule": rule, "C_P": C, "C_R": C} for rule in RULES for C in (1.0, 0.3, 0.1, 0.01)),
    *({"rule": "paper", "C_P": C} for C in (0.01, 0.003, 0.001)),
    {"C_P": 1.0},
    {"C_P": 0.1},
    {"C_R": 1.0},
    {"C_R": 0.1},
    {"average": False},
    {"average": False, "rule": "paper", "C_P": 0.1, "C_R": 0.1},
    {"base_bits": None, "n_init": 300},
    {"base_bits": 128, "n_init": 300},
    {"base_bits": 256, "n_init": 300},
    {"base_bits": 256},
    {"base_bits": 512, "n_init": 600},
    {"base_bits": 512, "n_init": 2000},
    {"base_bits": 800},
    {"start": "random"},
    {"unit_norm": False},
    {"centre": False},
)


def rows(quick: bool) -> Iterator[Row]:
    """MAP of each move and its difference to the defaults."""
    if not photographs.available():
        print(f"defaults: {photographs.MISSING}", file=sys.stderr)
        return
    ohweu: Any = module
    learnt, ohweu.pca_itq = ohweu.pca_itq, _remembering(ohweu.pca_itq)
    try:
        for setting in ("no-person",) if quick else photographs.SETTINGS:
            splits = [photographs.split(setting, seed) for seed in ((0,) if quick else (0, 1))]
            for n_bits in (32,) if quick else (32, 64):
                values = {repr(move): _measure(splits, n_bits, move) for move in MOVES}
                base = values["{}"]
                for move, value in values.items():
                    more = {"setting": setting, "n_bits": n_bits, "move": move}
                    yield Row(
                        "defaults", f"{setting}, {n_bits} bits: {move}", "mAP", value, base,
                        "defaults (difference)", value - base, None, more,
                    )  # fmt: skip
    finally:
        ohweu.pca_itq = learnt


def _measure(splits: list[photographs.Split], n_bits: int, move: dict[str, Any]) -> float:
    found = []
    for seed, s in enumerate(splits):
        hasher = OHWEU(n_bits, random_state=seed).set_params(**move).fit(s.X, s.Y)
        ranking = HammingRanking(
            hasher.encode_query(s.X_validation), hasher.encode(s.X), s.Y_validation, s.Y, n_bits=n_bits
        )
        found.append(ranking.mean_average_precision())
    return float(np.mean(found))


def _remembering(learn: Any) -> Any:
    """The base hash depends on few of the parameters: learn each one once."""
    known: dict[tuple[Any, ...], Any] = {}

    def remembered(sample: Any, *settings: Any, **more: Any) -> Any:
        key = (sample.tobytes(), *settings, *more.values())
        if key not in known:
            known[key] = learn(sample, *settings, **more)
        return known[key]

    return remembered
