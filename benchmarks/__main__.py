"""``python -m benchmarks [names] [--quick]``: measure, print tables, write JSON.

Rows go to the JSON file in place of those that an earlier run of the same benchmark left there.
``python -m benchmarks.tables`` draws the documents' tables from it.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.rows import Row

NAMES = (
    "start", "learn", "refresh", "scan", "rank", "quality", "index", "server", "images", "large",
    "cluster", "approximate",
)  # fmt: skip
BY_NAME = ("large", "cluster", "approximate")  # long: only where they are named


def main() -> int:
    """Run the benchmarks that are named, all but those in ``BY_NAME`` if none is."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "names", nargs="*", choices=[[], *NAMES], help=f"default: all but {' and '.join(BY_NAME)}"
    )
    parser.add_argument("--quick", action="store_true", help="small sizes: does it run at all?")
    parser.add_argument("--json", type=Path, default=Path("results/bench.json"), help="where rows go")
    arguments = parser.parse_args()

    console = Console(width=150)
    head = machine()
    console.print(", ".join(f"{name} {value}" for name, value in head.items()))
    found: dict[str, Any] = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
    missed = False
    for name in arguments.names or [name for name in NAMES if name not in BY_NAME]:
        measure: Callable[[bool], Iterator[Row]] = import_module(f"benchmarks.{name}").rows
        table = Table(title=name, title_justify="left")
        for column in ("what", "case", "ours", "peer", "against", "ratio", "goal", ""):
            table.add_column(
                column, justify="right" if column in ("ours", "peer", "ratio", "goal") else "left"
            )
        rows: list[dict[str, Any]] = []
        for row in measure(arguments.quick):
            rows.append({**asdict(row), "met": row.met})
            mark = {None: "", True: "met", False: "[bold red]missed[/]"}[row.met]
            table.add_row(
                row.what, row.case, f"{row.ours:.4g} {row.unit}", f"{row.peer:.4g}", row.against,
                f"{row.ratio:.3g}", "" if row.goal is None else f"{row.goal:g}", mark,
            )  # fmt: skip
            print(f"{name}: {row.what}, {row.case}: {row.ratio:.3g}", file=sys.stderr, flush=True)
        console.print(table)
        missed |= any(row["met"] is False for row in rows)
        found[name] = {"machine": head, "quick": arguments.quick, "rows": rows}
    arguments.json.parent.mkdir(parents=True, exist_ok=True)
    arguments.json.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    console.print(f"written to {arguments.json}")
    return 1 if missed and not arguments.quick else 0


def machine() -> dict[str, str]:
    """What the figures depend on, with the BLAS kernels that NumPy's library chose for this CPU."""
    from threadpoolctl import threadpool_info

    import onlinehash.metrics  # noqa: F401  (loads NumPy and its BLAS)
    from onlinehash.kernels.threads import n_cores

    libraries: list[dict[str, Any]] = [lib for lib in threadpool_info() if lib["user_api"] == "blas"]
    blas = next((lib for lib in libraries if "numpy" in lib["filepath"]), {})
    cpu = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").exists():
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        cpu = next((line.split(": ")[1] for line in lines if line.startswith("model name")), cpu)
        flags = next((line.split() for line in lines if line.startswith("flags")), [])
        cpu += " with AVX-512 VPOPCNTDQ" if "avx512_vpopcntdq" in flags else ""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "cpu": cpu,
        "cores": str(n_cores()),
        "blas": f"{blas.get('internal_api')} {blas.get('version')} for {blas.get('architecture')}",
        "python": platform.python_version(),
        **{name: version(name) for name in ("numpy", "numba", "faiss-cpu", "scikit-learn")},
    }


if __name__ == "__main__":
    sys.exit(main())
