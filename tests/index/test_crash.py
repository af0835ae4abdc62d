"""Kill -9 at any moment loses nothing that was acknowledged, and leaves a whole file."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from onlinehash import OHWEU, Index
from tests.index.crash_writer import DIM, N_BITS, apply, expected, step_of
from tests.index.kinds import Kind

ROOT = Path(__file__).parent.parent.parent


def killed_after(kind: Kind, path: Path, first: int, seconds: float) -> int:
    """Let a process write from step ``first`` on, kill it; the last step that it acknowledged."""
    command = [sys.executable, "-m", "tests.index.crash_writer", str(path), str(first)]
    if kind.ray_address is not None:
        command.append(kind.ray_address)
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        lines = process.stdout.read().split("\n")
        process.wait()
        timer.join()
    assert process.returncode == -9
    return max([first - 1, *(int(line) for line in lines[:-1])])  # a line without its end is not one


def killed_again_and_again(kind: Kind, path: Path, times: int, seconds: float) -> None:
    rng = np.random.default_rng(times)
    last = -1
    model = Model()
    for _ in range(times):
        acknowledged = killed_after(kind, path, last + 1, float(rng.random() * seconds))
        assert kind.check(path) == []
        with kind.open(path) as index:
            either = expected(acknowledged) | expected(acknowledged + 1)
            items = {id: index.get(id) for id in either}
            found = {id: item.payload["step"] for id, item in items.items() if item and item.payload}
            # the step that was under way is there whole, or not at all
            last = next(
                step for step in (acknowledged, acknowledged + 1)
                if expected(step) == found and len(index) == len(found)
            )  # fmt: skip
            if step_of(acknowledged + 1)[0] == "learn":  # leaves no trace among the items
                last = acknowledged + (index.stats().generation > model.to(acknowledged).generation)
            again = model.to(last)
            X = np.random.default_rng(0).normal(size=(5, DIM))
            hits = index.search(X, k=20)
            assert hits.generation == again.generation
            assert [sorted(row) for row in hits.distances.tolist()] == again.distances(X)
    model.index.close()


class Model:
    """The same steps in an index that was never killed."""

    def __init__(self) -> None:
        self.index = Index.create(":memory:", dim=DIM, hasher=OHWEU(N_BITS, n_init=50))
        self.done = -1

    def to(self, last: int) -> "Model":
        while self.done < last:
            self.done += 1
            apply(self.index, self.done)
        self.index.refresh()
        return self

    @property
    def generation(self) -> int:
        return self.index.stats().generation

    def distances(self, X: npt.NDArray[np.float64]) -> Any:
        return self.index.search(X, k=20).distances.tolist()


@pytest.mark.slow
def test_killed_a_few_times(kind: Kind, tmp_path: Path) -> None:
    killed_again_and_again(kind, tmp_path / "index", 6 if kind.ray_address is None else 3, 0.5)


@pytest.mark.skipif(
    "not config.getoption('keyword')", reason="hundreds of kills: by name, with -k many_times"
)
def test_killed_many_times(kind: Kind, tmp_path: Path) -> None:
    killed_again_and_again(kind, tmp_path / "index", 300 if kind.ray_address is None else 50, 0.5)
