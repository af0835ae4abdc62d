"""``onlinehash create``: a new index."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from onlinehash.cli.options import IndexFile, Json, Key

SHELL = "onlinehash create things.oh --dim 128 --bits 64"
PYTHON = """
Index.create("things.oh", dim=128, n_bits=64).close()
"""

_Dim = Annotated[int | None, typer.Option(min=1, help="Features of a vector; a sample tells, too.")]
_Bits = Annotated[int, typer.Option(min=1, help="Bits of a live code.")]
_BaseBits = Annotated[int | None, typer.Option(min=1, help="Bits of a base code, which is what is stored.")]
_Init = Annotated[
    int | None, typer.Option(min=1, help="Vectors that the base codes' projection is learnt from.")
]
_Sample = Annotated[
    str | None, typer.Option(help="A file of vectors like those to come: hashing begins at once.")
]
_Keep = Annotated[bool, typer.Option("--keep-vectors", help="Store the vectors too, as float16.")]
_Seed = Annotated[int | None, typer.Option(min=0, help="What all that is drawn follows from.")]


def create(
    index: IndexFile,
    dim: _Dim = None,
    bits: _Bits = 64,
    base_bits: _BaseBits = None,
    n_init: _Init = None,
    sample: _Sample = None,
    key: Key = None,
    keep_vectors: _Keep = False,
    random_state: _Seed = None,
    json_output: Json = False,
) -> None:
    """Make an index in a new file."""
    from onlinehash.cli import output
    from onlinehash.datasets import read
    from onlinehash.hashers.ohweu import OHWEU
    from onlinehash.index.index import Index

    given: dict[str, Any] = {"base_bits": base_bits, "n_init": n_init, "random_state": random_state}
    hasher = OHWEU(bits, **{name: value for name, value in given.items() if value is not None})
    X = None if sample is None else next(iter(read(sample, key=key).chunks(max(hasher.n_init, 1))))[0]
    with Index.create(index, dim, hasher=hasher, sample=X, keep_vectors=keep_vectors) as made:
        stats = made.stats()
    if json_output:
        output.as_json({"path": str(index), "dim": stats.dim, "n_bits": stats.n_bits})
    else:
        output.write(f"{index}: vectors of {stats.dim} features, codes of {stats.n_bits} bits\n")
