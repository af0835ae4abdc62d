"""``onlinehash learn``: from labelled vectors."""

from __future__ import annotations

from typing import Annotated

import typer

from onlinehash.cli.options import IndexFile, Json, Key, LabelKey, Labels, Skip, Source, Transposed

SHELL = "onlinehash learn things.oh features.npy --labels labels.npy"
PYTHON = """
with Index.open("things.oh") as index:
    index.learn_stream((X[start : start + 1000], Y[start : start + 1000]) for start in range(0, len(X), 1000))
    print(index.stats().generation)
"""

_Batch = Annotated[int, typer.Option(min=1, help="Rows at a time: a generation each.")]


def learn(
    index: IndexFile,
    source: Source,
    labels: Labels = None,
    key: Key = None,
    label_key: LabelKey = None,
    transposed: Transposed = None,
    batch: _Batch = 1000,
    skip: Skip = 0,
    json_output: Json = False,
) -> None:
    """Learn from labelled vectors, which are not kept; all stored codes follow.

    Rows without a label are passed over.
    """
    from collections.abc import Iterator

    from onlinehash.cli import output
    from onlinehash.cli.progress import progress
    from onlinehash.cli.rows import Rows
    from onlinehash.errors import DataFileError
    from onlinehash.index.index import Index

    rows = Rows(
        source, labels=labels, key=key, label_key=label_key, transposed=transposed, size=batch, skip=skip
    )

    def go_on(done: int) -> str:
        return f"{done:,} rows were learnt from, which is kept; --skip {skip + done} goes on after them"

    with Index.open(index) as opened, progress("learning", rows.total, go_on) as advance:

        def chunks() -> Iterator[tuple[object, object]]:
            for part in rows:
                if part.labels is None:
                    raise DataFileError(f"{source}: no labels; --labels names their file")
                yield part.vectors, part.labels
                advance(len(part))  # asked for the next, so this one has been learnt

        before = opened.stats().learnt
        opened.learn_stream(chunks())
        stats = opened.stats()
    if json_output:
        output.as_json({
            "learnt": stats.learnt - before, "generation": stats.generation, "labels": stats.labels,
            "flipped": stats.flipped, "mistakes_R": stats.mistakes_R,
        })  # fmt: skip
    else:
        output.write(
            f"{index}: {stats.learnt - before:,} labelled rows learnt from, generation {stats.generation}, "
            f"{stats.labels:,} labels\n"
        )
