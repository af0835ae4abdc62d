"""``onlinehash info``: what an index holds, and how its learning goes."""

from __future__ import annotations

from dataclasses import asdict

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash info things.oh"
PYTHON = """
with Index.open("things.oh", read_only=True) as index:
    print(index.stats())
"""


def info(index: IndexFile, json_output: Json = False) -> None:
    """Say what an index holds, what it serves, and how its learning goes."""
    from onlinehash.cli import output
    from onlinehash.index.index import Index

    with Index.open(index, read_only=True) as opened:
        stats = opened.stats()
    if json_output:
        output.as_json(asdict(stats))
        return
    rows = {
        "items": f"{stats.items:,}",
        "vectors": f"{stats.dim} features, {'kept as float16' if stats.keep_vectors else 'not kept'}",
        "codes": f"{stats.n_bits} bits, searched; made from {stats.base_bits} bits, stored",
        "generation": str(stats.generation),
        "learnt from": f"{stats.learnt:,} rows, {stats.labels:,} labels",
        "disk": f"{stats.disk / 1e6:,.1f} MB",
        "memory": f"{stats.memory / 1e6:,.1f} MB of codes",
    }
    if not stats.initialized:
        rows["codes"] = (
            f"{stats.n_bits} bits; none yet, {stats.waiting:,} of {stats.n_init:,} vectors are there"
        )
    for name, share in (("P", stats.mistakes_P), ("R", stats.mistakes_R)):
        if share is not None:
            rows[f"mistakes of {name}"] = f"{share:.1%} of bits, before they were learnt from"
    output.show(output.facts(rows))
