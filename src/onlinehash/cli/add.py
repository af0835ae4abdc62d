"""``onlinehash add``: items from a file, from lines of JSON, or from a folder of pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onlinehash.cli.options import (
    Batch,
    IdKey,
    Ids,
    IndexFile,
    Json,
    Key,
    LabelKey,
    Labels,
    Skip,
    Source,
    Transposed,
)

SHELL = "onlinehash add things.oh features.npy --labels labels.npy"
PYTHON = """
with Index.open("things.oh") as index:
    for start in range(0, len(X), 4096):
        rows = range(start, min(start + 4096, len(X)))
        index.add(rows, X[rows], labels=Y[rows])
"""

_Payload = Annotated[
    list[str] | None, typer.Option(help="A column to keep as a field of the payload; may be repeated.")
]
_Replace = Annotated[
    bool, typer.Option("--replace", help="Put items in the place of those with the same ids.")
]
_Learn = Annotated[
    bool, typer.Option("--learn", help="Learn from the labels, too, while the vectors are at hand.")
]
_Bits = Annotated[int | None, typer.Option(min=1, help="Bits of a code, where the index is made now.")]


def add(
    index: IndexFile,
    source: Source,
    labels: Labels = None,
    key: Key = None,
    label_key: LabelKey = None,
    transposed: Transposed = None,
    ids: Ids = None,
    id_key: IdKey = None,
    payload: _Payload = None,
    replace: _Replace = False,
    learn: _Learn = False,
    bits: _Bits = None,
    batch: Batch = 4096,
    skip: Skip = 0,
    json_output: Json = False,
) -> None:
    """Add items; an index that is not there yet is made.

    Each batch is added whole and is on the disk when the next one begins. Rows without an id are
    numbered from 0. Labels are kept with the items, to filter by.
    """
    from onlinehash.cli import output
    from onlinehash.cli.progress import progress
    from onlinehash.cli.rows import Rows

    rows = Rows(
        source, labels=labels, key=key, label_key=label_key, transposed=transposed, ids=ids, id_key=id_key,
        payload=payload or (), size=batch, skip=skip,
    )  # fmt: skip
    opened: Any = None
    added = 0

    def go_on(done: int) -> str:
        return f"{done:,} items were added and are kept; --skip {skip + done} goes on after them"

    try:
        with progress("adding", rows.total, go_on) as advance:
            for part in rows:
                opened = opened or open_or_create(index, part.vectors.shape[1], bits)
                opened.add(part.ids, part.vectors, part.labels, part.payloads, replace=replace)
                added += len(part)
                if learn and part.labels is not None:
                    opened.learn(part.vectors, part.labels, wait=False)
                advance(len(part))
            items = 0 if opened is None else len(opened)
    finally:
        if opened is not None:
            opened.close()
    if json_output:
        output.as_json({"added": added, "items": items})
    else:
        output.write(f"{index}: {added:,} added, {items:,} items\n")


def open_or_create(path: Path, dim: int, bits: int | None) -> Any:
    """The index of that file, or a new one for vectors of so many features."""
    from onlinehash.errors import InvalidParameterError
    from onlinehash.index.index import Index

    if not path.exists():
        return Index.create(path, dim, bits or 64)
    index = Index.open(path)
    if bits not in (None, index.n_bits):
        index.close()
        raise InvalidParameterError(f"--bits {bits}: {path} is there, and its codes have {index.n_bits} bits")
    return index
