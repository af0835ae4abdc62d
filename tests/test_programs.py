"""What is run from the command line: the example, the demo and the benchmarks."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def run(*arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, check=False, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_example_shows_that_it_learns() -> None:
    out = run("examples/digits.py", "--json")
    seen = [json.loads(line) for line in out.splitlines()]
    assert seen[-1]["mAP"] > seen[0]["mAP"] + 0.1
    assert seen[-1]["mAP"] > seen[-1]["mAP, PCA-ITQ"] + 0.04
    assert seen[-1]["labels"] >= 12


def test_the_demo_checks_itself_and_ends() -> None:
    out = run("-m", "onlinehash", "demo")  # nobody is at a terminal here
    assert "the page answers" in out
    assert "1500 labelled pictures streamed in, generation 61" in out


@pytest.mark.slow
def test_benchmarks_run(tmp_path: Path) -> None:
    target = tmp_path / "bench.json"
    names = (
        "start", "learn", "refresh", "scan", "rank", "quality", "index", "server", "images",
        "large",
    )  # fmt: skip
    run("-m", "benchmarks", *names, "--quick", "--json", str(target))
    found = json.loads(target.read_text())
    assert set(found) == set(names)
    for name, part in found.items():
        assert {"cpu", "blas", "numpy"} <= set(part["machine"])
        assert part["rows"] or name in ("quality", "images", "server"), (
            "only photographs, torch and wrk may be missing"
        )
        assert all(row["ratio"] == row["ratio"] and row["ours"] > 0 for row in part["rows"])


@pytest.mark.slow
def test_questions_beyond_the_paper_run_without_photographs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLINEHASH_DATA", str(tmp_path))
    target = tmp_path / "beyond.json"
    names = ("goals", "others", "cold_start")
    run("-m", "benchmarks.beyond", *names, "--quick", "--json", str(target))
    found = json.loads(target.read_text())
    assert found["cold_start"]["records"] == [], "it is about photographs only"
    lines = {record["line"]: record["values"][0] for record in found["others"]["records"]}
    assert lines["defaults"] > lines["PCA-ITQ"]
    assert found["goals"]["records"]
