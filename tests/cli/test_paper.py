"""``onlinehash paper`` from end to end, on digits and on small made data."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from onlinehash import InvalidParameterError, __version__
from onlinehash.cli.main import app

SMALL = ["--tier", "quick", "--bits", "16"]


def ran(*arguments: str) -> str:
    done = CliRunner().invoke(app, list(arguments), catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


@pytest.mark.slow
def test_the_quick_tier_measures_draws_and_does_not_measure_twice(tmp_path: Path) -> None:
    out = str(tmp_path / "out")
    said = json.loads(ran("paper", *SMALL, "--out", out, "--json"))
    results = tmp_path / "out" / "results.jsonl"
    before = results.read_bytes()
    assert said["measurements"] == len(before.splitlines()) > 30
    report = Path(said["report"]).read_text()
    for title in (
        "Figure 2",
        "Figure 3",
        "Figure 5",
        "Figure 6",
        "Figure 7",
        "Table 1",
        "Table 2",
        "Staleness",
    ):
        assert f">{title}" in report
    assert "measurements are missing" not in report
    assert "http" not in report.replace("http://www.w3.org", "").replace(
        "http://creativecommons.org", ""
    ).replace("http://purl.org", "").replace(
        "https://matplotlib.org", ""
    )  # one file that asks nobody for anything
    pictures = {path.name: path.read_bytes() for path in (tmp_path / "out").glob("*.svg")}
    assert {"fig2.svg", "fig3.svg", "fig5.svg", "fig6.svg", "fig7.svg", "staleness.svg"} <= set(pictures)

    ran("paper", *SMALL, "--out", out)
    assert results.read_bytes() == before
    ran("paper", *SMALL, "--out", out, "--draw")
    assert {name: (tmp_path / "out" / name).read_bytes() for name in pictures} == pictures


@pytest.mark.slow
def test_a_file_of_ones_own(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    Y = rng.random((900, 4)) < 0.4
    X = Y @ rng.standard_normal((4, 40)) + rng.standard_normal((900, 40))
    np.save(tmp_path / "features.npy", X.astype(np.float32))
    np.save(tmp_path / "labels.npy", Y)
    files = ["--data", str(tmp_path / "features.npy"), "--labels", str(tmp_path / "labels.npy")]
    ran("paper", "fig2", *SMALL, "8", *files, "--out", str(tmp_path / "out"), "--workers", "2")
    table = (tmp_path / "out" / "mAP-features.md").read_text()
    assert {"8", "16"} <= {cell.strip().split()[0] for cell in table.split("|") if cell.strip()}
    assert f"{np.count_nonzero(Y.any(axis=1)) - 300} items" in table
    assert "| OSupH |" in table


def test_what_cannot_be_is_said_in_a_line() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "onlinehash", "paper", "fig9"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.startswith("onlinehash: expected parts among table1")
    assert len(done.stderr.splitlines()) == 1
    with pytest.raises(InvalidParameterError, match="--tier: expected one of quick, standard, paper"):
        ran("paper", "--tier", "slow")


def test_version() -> None:
    assert ran("--version").strip() == __version__
