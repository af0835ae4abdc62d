"""Plans, results and resuming, with a bench that measures nothing."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onlinehash import InvalidInputError, InvalidParameterError
from onlinehash.datasets import Dataset
from onlinehash.paper import jobs as plans
from onlinehash.paper import protocol, sources
from onlinehash.paper.claims import claims, growth
from onlinehash.paper.found import Found, spread
from onlinehash.paper.jobs import TIERS, Job, plan
from onlinehash.paper.methods import METHODS, RIVALS
from onlinehash.paper.run import Results, chosen, resolved, run
from onlinehash.paper.tables import tables

TIER = replace(TIERS["standard"], bits=(16,), repeats=1, Cs=(0.01, 0.1))


class Counting:
    """A bench whose values follow from the job, and that may be interrupted."""

    def __init__(self, interrupt_after: int = 10**9) -> None:
        self.ran: list[Job] = []
        self.interrupt_after = interrupt_after

    def run(self, job: Job) -> dict[str, Any]:
        if len(self.ran) >= self.interrupt_after:
            raise KeyboardInterrupt
        self.ran.append(job)
        order, ours = list(METHODS).index(job.method), METHODS[job.method].is_ohweu
        width, power = (1 if ours else job.protocol.get("width", 1)), (1 if ours else 2)
        return {
            "mAP": 1 - order / 10 + 0.001 * len(str(job.parameters)), "mAP, symmetric": 0.1, "n": 100,
            "dim": 4, "seconds": 10.0 + order, "measured whole": 1,
            "rows": 5, "seconds an item": 1e-6 * width,
            "accumulated": [{"n": n, "total": n**power * 1e-3} for n in (1000, 2000)],
            "learning": 1.0, "refresh": 1.0, "state bytes": 5, "bytes an item": 2,
            "curve": [{"n": n, "mAP": 0.5, "mAP, new queries on old codes": 0.4} for n in (1, 2)],
        }  # fmt: skip


def everything(tmp_path: Path, bench: Any, jobs: Sequence[Job]) -> Results:
    results = Results(tmp_path / "results.jsonl")
    run(jobs, bench, results, 1, lambda job, ended, total: None)
    return results


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    jobs = plan(["all"], TIER, [sources.DIGITS])
    first = Counting(interrupt_after=40)
    with pytest.raises(KeyboardInterrupt):
        everything(tmp_path, first, jobs)
    second = Counting()
    results = everything(tmp_path, second, jobs)
    assert len(first.ran) == 40
    assert len(first.ran) + len(second.ran) == len(jobs) == len(results.records())
    third = Counting()
    everything(tmp_path, third, jobs)
    assert not third.ran
    assert Found(jobs, results.records()).missing == 0


def test_a_line_that_was_cut_off_is_measured_again(tmp_path: Path) -> None:
    jobs = plan(["fig6"], TIER, [sources.DIGITS])
    results = everything(tmp_path, Counting(), jobs)
    text = results.path.read_text()
    results.path.write_text(text[: len(text) - 30])
    again = Counting()
    everything(tmp_path, again, jobs)
    assert len(again.ran) == 1
    assert len(results.records()) == len(jobs)


def test_progress_counts_what_was_done_before(tmp_path: Path) -> None:
    jobs = plan(["fig6"], TIER, [sources.DIGITS])
    everything(tmp_path, Counting(), jobs[:3])
    seen: list[tuple[int, int]] = []
    results = Results(tmp_path / "results.jsonl")
    run(jobs, Counting(), results, 1, lambda job, ended, total: seen.append((ended, total)))  # type: ignore[arg-type]
    assert seen == [(ended, len(jobs)) for ended in range(4, len(jobs) + 1)]


def test_rivals_are_measured_with_what_validation_chose(tmp_path: Path) -> None:
    jobs = plan(["fig2"], TIER, [sources.DIGITS])
    records = everything(tmp_path, Counting(), jobs).records()
    best = chosen(records)
    assert {method for _, method in best} == set(RIVALS)
    for job in resolved(jobs, records):
        if job.kind == "stream":
            assert job.parameters == best.get((job.data, job.method), {})
    longest = max(METHODS["okh"].candidates(), key=lambda candidate: len(str(candidate)))
    assert best["digits", "okh"] == longest  # the made-up mAP grows with the length


def test_keys_depend_on_everything() -> None:
    job = Job("stream", "digits", "okh", 16, 0, {}, {"queries": 5})
    others = [
        replace(job, kind="C"), replace(job, data="x"), replace(job, method="osh"), replace(job, n_bits=17),
        replace(job, seed=1), replace(job, parameters={"C": 0.1}), replace(job, protocol={"queries": 6}),
    ]  # fmt: skip
    keys = {other.key for other in [job, *others]}
    assert len(keys) == len(others) + 1
    assert job.key == replace(job).key


def test_parts() -> None:
    assert plans.check_parts([]) == plans.PARTS
    assert plans.check_parts(["fig7", "table1"]) == ("table1", "fig7")
    with pytest.raises(InvalidParameterError, match=r"expected parts among table1.*got 'fig9'"):
        plans.check_parts(["fig9"])
    kinds = {part: {job.kind for job in plan([part], TIER, [sources.DIGITS])} for part in plans.PARTS}
    assert kinds["table1"] == kinds["table2"] == {"time"}
    assert kinds["fig2"] == kinds["fig7"] == {"tune", "stream"}
    assert kinds["fig5"] == {"accumulate", "width"}
    assert kinds["fig6"] == {"C"}


def test_division() -> None:
    data = sources.DIGITS.open()
    parts = protocol.divide(data, 3, 100, 50)
    rows = [np.concatenate([X for X, _ in part.chunks(500)]) for part in (parts.queries, parts.validation)]
    assert [len(part) for part in (parts.queries, parts.validation, parts.stream)] == [100, 50, 1797 - 150]
    assert not {row.tobytes() for row in rows[0]} & {row.tobytes() for row in rows[1]}
    same = protocol.divide(data, 3, 100, 50)
    assert (next(same.stream.chunks(9))[0] == next(parts.stream.chunks(9))[0]).all()
    with pytest.raises(InvalidInputError, match="at least 3000 rows with a label"):
        protocol.divide(data, 0, 1000, 500)
    with pytest.raises(InvalidInputError, match="expected labels"):
        protocol.divide(Dataset.from_arrays(np.ones((4, 2))), 0, 1, 1)


def test_claims_follow_the_figures(tmp_path: Path) -> None:
    jobs = plan(["all"], TIER, [sources.DIGITS])
    records = everything(tmp_path, Counting(), jobs).records()
    verdicts = {claim.says[:25]: claim.verdict for claim in claims(Found(jobs, records), [sources.DIGITS])}
    assert verdicts["OHWEU is the fastest to t"] == "holds"
    assert verdicts["only OHWEU's refresh does"] == "holds"
    assert verdicts["accumulated time grows wi"] == "holds"
    assert verdicts["asymmetric queries are be"] == "holds"
    assert verdicts["OHWEU's codes are the bes"] == "holds"  # the letter's 0.8 and the rivals' below
    for record in records:
        if record["job"]["method"] == "osh" and record["job"]["kind"] != "tune":
            record["values"] |= {"mAP": 0.99, "seconds": 1.0}
    verdicts = {claim.says[:25]: claim.verdict for claim in claims(Found(jobs, records), [sources.DIGITS])}
    assert verdicts["OHWEU is the fastest to t"] == "does not hold"
    assert verdicts["OHWEU's codes are the bes"] == "does not hold"


def test_growth_is_told_apart() -> None:
    n = np.arange(1, 41) * 1000.0
    linear, quadratic = growth(n, 3e-3 * n + 2e-8 * n**2)
    assert abs(linear - 3e-3) < 1e-9
    assert abs(quadratic - 2e-8) < 1e-13


def test_tables_as_text(tmp_path: Path) -> None:
    jobs = plan(["all"], TIER, [sources.DIGITS])
    found = Found(jobs, everything(tmp_path, Counting(), jobs).records())
    drawn = {table.name: table for table in tables(found, [sources.DIGITS])}
    assert set(drawn) == {"table1", "table2", "mAP-digits", "parameters", "memory", "widths"}
    for table in drawn.values():
        assert all(len(row) == len(table.head) for row in table.rows)
        assert table.markdown().count("\n| ") == len(table.rows) + 2
        assert len(table.csv().splitlines()) == len(table.rows) + 1
    assert "OHWEU, the paper's letter" in drawn["table1"].csv()
    assert spread([0.5, 0.7]) == "0.600 ± 0.141"
    assert spread([]) == ""


def test_results_are_plain_lines_of_json(tmp_path: Path) -> None:
    results = everything(tmp_path, Counting(), plan(["table1"], TIER, []))
    for line in results.path.read_text().splitlines():
        record = json.loads(line)
        assert set(record) == {"key", "job", "values", "took", "machine"}
        assert {"onlinehash", "numpy", "python"} <= set(record["machine"])
