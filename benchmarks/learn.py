"""Learn: the blocked recursion beside the loop, the bare matrix products, and the published time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
from threadpoolctl import threadpool_info

from benchmarks.rows import Row, timed
from onlinehash import OHWEU
from onlinehash.kernels.learn import Learner, block_size
from onlinehash.kernels.threads import at_most

Floats = npt.NDArray[np.float32]

WIDTH = 4096
# The paper's Table 1, NUS-WIDE: seconds to train OHWEU on 193,834 items, by the number of bits.
PUBLISHED = {32: 181, 64: 354, 96: 550, 128: 688}
PUBLISHED_ITEMS = 193_834
SKYLAKE = {"OPENBLAS_CORETYPE": "SkylakeX"}


def rows(quick: bool) -> Iterator[Row]:
    """R alone, as the kernel learns it, on one core; then all of ``partial_fit``, on all cores."""
    n = 2_000 if quick else 20_000
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((n, WIDTH), np.float32)
    Z /= np.linalg.norm(Z, axis=1, keepdims=True)
    with at_most(1):
        square = rng.standard_normal((2048, 2048), np.float32)
        peak = 2 * 2048**3 / timed(lambda: square @ square).wall
        for n_bits in (32, 64) if quick else (32, 64, 96, 128):
            targets = np.where(rng.random((n, n_bits)) < 0.5, -1, 1).astype(np.float32)
            for averaged in (False, True):
                yield from _kernel(Z, targets, averaged, peak)
    for n_bits in (32,) if quick else (32, 64, 96, 128):
        yield _published(Z, n_bits)
    if not quick and _blas_is_behind():
        yield from _again(SKYLAKE)


def _blas_is_behind() -> bool:
    """Whether OpenBLAS took older kernels than this CPU can run: it does with CPUs that it does not know."""
    flags = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    chosen = {lib.get("architecture") for lib in threadpool_info() if lib["user_api"] == "blas"}
    return "avx512vl" in flags and chosen <= {"Haswell", "Zen"}


def _again(setting: dict[str, str]) -> Iterator[Row]:
    """The same in a process whose OpenBLAS is told which kernels to take."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder, "rows.json")
        command = [sys.executable, "-m", "benchmarks", "learn", "--json", str(target)]
        subprocess.run(command, env=os.environ | setting, stdout=subprocess.DEVNULL, check=False)
        for row in json.loads(target.read_text())["learn"]["rows"]:
            del row["met"]
            (said,) = (f"{name}={value}" for name, value in setting.items())
            yield Row(**{**row, "case": f"{row['case']}, {said}"})


def _kernel(Z: Floats, targets: Floats, averaged: bool, peak: float) -> Iterator[Row]:
    n, n_bits = targets.shape
    start = np.zeros((WIDTH, n_bits), np.float32)
    case = f"D={WIDTH} K={n_bits} N={n:,}{' averaged' if averaged else ''}"

    ours = timed(lambda: Learner.start(start.copy(), 0.1, "paper", averaged).learn(Z, targets), 2)
    some = min(n, 500)
    loop = timed(lambda: _loop(start.copy(), Z[:some], targets[:some], averaged), 2).wall / some
    yield Row(
        "learn", case, "µs/sample", ours.wall / n * 1e6, loop * 1e6, "the per-sample NumPy loop",
        loop * n / ours.wall, 8, {"cpu": ours.cpu, "wall": ours.wall},
    )  # fmt: skip

    block = block_size(n_bits)
    products = timed(lambda: _products(Z, targets, block, averaged), 2).wall
    operations = n * WIDTH * ((6 if averaged else 4) * n_bits + block)
    yield Row(
        "learn", case, "s", ours.wall, products, "its matrix products alone",
        products / ours.wall, 0.6,
        {"GFLOP/s": operations / ours.wall / 1e9, "share of a square product": operations / ours.wall / peak},
    )  # fmt: skip


def _loop(M: Floats, Z: Floats, targets: Floats, averaged: bool) -> Floats:
    """The rule as one writes it first: one sample after another."""
    mean = M.copy()
    for t, (z, g) in enumerate(zip(Z, targets, strict=True)):
        tau = np.minimum(0.1, np.maximum(0, 1 - g * (z @ M)) / (z @ z))
        M += np.outer(z, tau * g)
        if averaged:
            mean += (M - mean) / (t + 2)
    return mean


def _products(Z: Floats, targets: Floats, block: int, averaged: bool) -> None:
    """The matrix products that blocks of this size cannot do without, and nothing else."""
    M = np.zeros((WIDTH, targets.shape[1]), np.float32)
    for start in range(0, len(Z), block):
        rows = Z[start : start + block]
        rows @ M
        rows @ rows.T
        rows.T @ targets[start : start + block]
    if averaged:
        for start in range(0, len(Z), 1024):
            Z[start : start + 1024].T @ targets[start : start + 1024]


def _published(Z: Floats, n_bits: int) -> Row:
    """Everything that training takes: features, base codes, targets, P and R."""
    hasher = OHWEU.as_published(n_bits).partial_fit(Z[:300])
    labels = np.random.default_rng(1).random((len(Z), 21)) < 0.1
    began = time.perf_counter()
    hasher.partial_fit(Z, labels)
    ours = (time.perf_counter() - began) / len(Z)
    published = PUBLISHED[n_bits] / PUBLISHED_ITEMS
    return Row(
        "train as published, all cores", f"D={WIDTH} K={n_bits} N={len(Z):,}", "µs/item",
        ours * 1e6, published * 1e6, "the paper's seconds on its machine", published / ours, 100,
    )  # fmt: skip
