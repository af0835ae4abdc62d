"""``python -m benchmarks.beyond [names] [--quick] [--seeds N] [--json …]``: measure, then draw.

Records go to the JSON file in place of those that an earlier run of the same question left there. With
the file that the documents are made from, docs/quality.json, their tables and figures are drawn again;
``--draw`` does only that.
"""

from __future__ import annotations

import argparse
import json
import sys
import warnings
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

from benchmarks.__main__ import machine
from benchmarks.beyond import draw
from benchmarks.beyond.record import collected

NAMES = (
    "goals", "rivals", "learners", "targets", "base_codes", "base_hashes", "query_side", "cold_start",
    "drift", "weak", "others", "sizes",
)  # fmt: skip


def main() -> None:
    """Answer the questions that are named, all of them if none is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.beyond", description=__doc__)
    parser.add_argument("names", nargs="*", choices=[[], *NAMES])
    parser.add_argument("--quick", action="store_true", help="little of one set: does it run at all?")
    parser.add_argument("--seeds", type=int, help="splits of each set; else what the question asks for")
    parser.add_argument("--json", type=Path, default=draw.FOUND, help="where records go")
    parser.add_argument("--draw", action="store_true", help="measure nothing")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", FutureWarning)  # of libraries whose texts are read

    for name in () if arguments.draw else arguments.names or NAMES:
        question = import_module(f"benchmarks.beyond.{name}")
        seeds = arguments.seeds or question.SEEDS
        measured = []
        for record in question.measure(seeds, arguments.quick):
            shown = ", ".join(f"{value:.4g}" for value in record.values)
            print(f"{name}: {record.panel}, {record.line}, {record.x}: {shown}", file=sys.stderr, flush=True)
            measured.append(record)
        found: dict[str, Any] = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        found[name] = {
            "machine": machine(), "quick": arguments.quick, "seeds": seeds,
            "records": [asdict(record) for record in collected(measured)],
        }  # fmt: skip
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    if arguments.json.resolve() == draw.FOUND:
        draw.write(json.loads(draw.FOUND.read_text()))


if __name__ == "__main__":
    main()
