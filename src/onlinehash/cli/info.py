"""``onlinehash info``: what an index holds, and how its learning goes."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from onlinehash.cli.options import Json

if TYPE_CHECKING:
    from onlinehash.index.results import Stats

SHELL = "onlinehash info things.oh"
PYTHON = """
with Index.open("things.oh", read_only=True) as index:
    print(index.stats())
"""

_Index = Annotated[
    str,
    typer.Argument(
        metavar="INDEX", show_default=False,
        help="The index's file, a .lance dataset, or http://HOST:PORT/NAME on a server (its key in "
        "ONLINEHASH_KEY), which tells of the shards of a cluster, too.",
    ),
]  # fmt: skip


def info(index: _Index, json_output: Json = False) -> None:
    """Say what an index holds, what it serves, and how its learning goes."""
    from onlinehash.cli import output

    stats = _stats(index)
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
    }
    if stats.memory:
        rows["memory"] = f"{stats.memory / 1e6:,.1f} MB of codes"
    if not stats.initialized:
        rows["codes"] = (
            f"{stats.n_bits} bits; none yet, {stats.waiting:,} of {stats.n_init:,} vectors are there"
        )
    for name, share in (("P", stats.mistakes_P), ("R", stats.mistakes_R)):
        if share is not None:
            rows[f"mistakes of {name}"] = f"{share:.1%} of bits, before they were learnt from"
    output.show(output.facts(rows))
    if stats.shards:
        output.show(_shards(stats.shards))


def _stats(index: str) -> Stats:
    from onlinehash.cli import elsewhere
    from onlinehash.index.index import Index

    if elsewhere.is_served(index):
        return elsewhere.served_stats(index)
    if elsewhere.is_dataset(index):
        found: Stats = elsewhere.cluster().stats(index)
        return found
    with Index.open(index, read_only=True) as opened:
        return opened.stats()


def _shards(parts: list[dict[str, Any]]) -> Any:
    """Of each actor what it holds, and the seconds that its last steps took."""
    from onlinehash.cli import output

    steps = list(dict.fromkeys(step for part in parts for step in part["seconds"]))
    table = output.table("shard", "up", ">items", ">MB", *(f">{step}, s" for step in steps))
    for part in parts:
        known = part["items"] is not None
        table.add_row(
            str(part["shard"]), "yes" if part["up"] else "no", f"{part['items']:,}" if known else "",
            f"{part['memory'] / 1e6:,.1f}" if known else "",
            *(f"{part['seconds'][step]:.3f}" if step in part["seconds"] else "" for step in steps),
        )  # fmt: skip
    return table
