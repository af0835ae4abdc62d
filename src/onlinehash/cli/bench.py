"""``onlinehash bench``: how fast this machine is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from onlinehash.cli.options import Json

SHELL = """onlinehash bench things.oh
onlinehash bench --items 20000 --json"""
PYTHON = """
from onlinehash.index.bench import measure

for measured in measure(items=20_000):
    print(measured.what, measured.ours, measured.unit, measured.ratio)
"""

_Index = Annotated[
    Path | None,
    typer.Argument(metavar="INDEX", help="An index's file, which is only read; without, made data."),
]
_Items = Annotated[int, typer.Option(min=1, help="Made items, where no index is given.")]
_Dim = Annotated[int, typer.Option(min=2, help="Features of made vectors.")]
_Bits = Annotated[int, typer.Option(min=1, help="Bits of their codes.")]


def bench(
    index: _Index = None,
    items: _Items = 500_000,
    dim: _Dim = 256,
    bits: _Bits = 64,
    json_output: Json = False,
) -> None:
    """Measure scan, refresh and learn in CPU time on one core, beside NumPy doing the same."""
    from contextlib import nullcontext

    from onlinehash.cli import output
    from onlinehash.cli.progress import progress
    from onlinehash.index.bench import measure
    from onlinehash.index.index import Index

    with nullcontext() if index is None else Index.open(index, read_only=True) as opened:
        found = []
        with progress("measuring", 4) as advance:
            for measured in measure(opened, items=items, dim=dim, n_bits=bits):
                found.append(measured)
                advance(1)
    if json_output:
        output.as_json([{**asdict(one), "ratio": one.ratio} for one in found])
        return
    table = output.table("", ">onlinehash", ">NumPy", "", ">times as fast")
    for one in found:
        table.add_row(one.what, f"{one.ours:,.4g}", f"{one.numpy:,.4g}", one.unit, f"{one.ratio:,.1f}")
    output.show(table)
