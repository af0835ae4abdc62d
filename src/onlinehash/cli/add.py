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
    Model,
    Skip,
    Source,
    Transposed,
)
from onlinehash.errors import InvalidParameterError

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
_LabelsFrom = Annotated[
    list[str] | None,
    typer.Option(
        help="Of pictures: folders, the names of those that they lie in, or keywords; repeat for both."
    ),
]
_Thumbnails = Annotated[
    int, typer.Option(min=0, max=2048, help="Of pictures: their longer side, 0 for none.")
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
    model: Model = None,
    labels_from: _LabelsFrom = None,
    thumbnails: _Thumbnails = 160,
    json_output: Json = False,
) -> None:
    """Add items; an index that is not there yet is made.

    Each batch is added whole and is on the disk when the next one begins. Rows without an id are
    numbered from 0. Labels are kept with the items, to filter by. A folder's pictures are embedded, and
    those that are there already passed over.
    """
    from onlinehash.cli import output
    from onlinehash.cli.progress import progress
    from onlinehash.cli.rows import Rows

    if source != "-" and Path(source).is_dir():
        if any((labels, key, label_key, transposed, ids, id_key, payload, replace, skip)):
            raise InvalidParameterError(
                f"{source} is a folder: pictures have the options --labels-from, --model, --thumbnails, "
                "--learn, --bits and --json"
            )
        add_pictures(index, source, model, labels_from or [], thumbnails, learn, bits, json_output)
        return
    if model or labels_from:
        raise InvalidParameterError(
            f"--model and --labels-from are for folders of pictures, not for {source}"
        )
    rows = Rows(
        source, labels=labels, key=key, label_key=label_key, transposed=transposed, ids=ids, id_key=id_key,
        payload=payload or (), size=batch, skip=skip,
    )  # fmt: skip
    opened: Any = None
    added, made = 0, not index.exists()

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
    except BaseException:
        if opened is not None and made and not added:
            opened.close()
            index.unlink()  # as if nothing had been asked for
        raise
    finally:
        if opened is not None:
            opened.close()
    if json_output:
        output.as_json({"added": added, "items": items})
    else:
        output.write(f"{index}: {added:,} added, {items:,} items\n")


def add_pictures(
    index: Path, folder: str, model: Path | None, labels: list[str], thumbnails: int, learn: bool,
    bits: int | None, json_output: bool,
) -> None:  # fmt: skip
    """A folder of pictures; what was skipped is said on stderr."""
    from onlinehash.cli import output
    from onlinehash.cli.progress import progress
    from onlinehash.images import Embedder, add_folder

    with progress("loading the model", None):
        embedder = Embedder(model)
    with open_or_create(index, embedder.dim, bits) as opened:

        def go_on(done: int) -> str:
            return f"{len(opened):,} items are there and kept; the same command embeds what is missing"

        with progress("embedding", None, go_on) as advance:
            report = add_folder(
                opened, folder, embedder=embedder, labels=labels, learn=learn, thumbnails=thumbnails,
                on_progress=advance.to,
            )  # fmt: skip
        items = len(opened)
    counts = {"added": report.added, "replaced": report.replaced, "unchanged": report.unchanged}
    if json_output:
        skipped = [{"path": one.path, "reason": one.reason} for one in report.skipped]
        output.as_json({**counts, "items": items, "skipped": skipped})
        return
    for one in report.skipped:
        output.note(f"skipped {one.path}: {one.reason}")
    said = ", ".join(f"{n:,} {name}" for name, n in {**counts, "skipped": len(report.skipped)}.items() if n)
    output.write(f"{index}: {said or 'no pictures'}, {items:,} items\n")


def open_or_create(path: Path, dim: int, bits: int | None) -> Any:
    """The index of that file, or a new one for vectors of so many features."""
    from onlinehash.index.index import Index

    if not path.exists():
        return Index.create(path, dim, bits or 64)
    index = Index.open(path)
    if bits not in (None, index.n_bits):
        index.close()
        raise InvalidParameterError(f"--bits {bits}: {path} is there, and its codes have {index.n_bits} bits")
    return index
