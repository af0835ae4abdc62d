"""Arguments and options that several commands have, each described once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

IndexFile = Annotated[Path, typer.Argument(metavar="INDEX", help="The index's file.", show_default=False)]
Source = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE", show_default=False,
        help="Vectors: a .npy, .npz, .mat, .h5, .parquet, .csv, .tsv or .jsonl file, or - for lines of JSON "
        "on standard input. Of add: or a folder of pictures; of search: or a picture.",
    ),
]  # fmt: skip
Labels = Annotated[Path | None, typer.Option(help="A file of labels, where they are not with the vectors.")]
Key = Annotated[str | None, typer.Option(help="Which array or column of the file is the vectors.")]
LabelKey = Annotated[str | None, typer.Option(help="Which array or column is the labels.")]
Transposed = Annotated[
    bool | None,
    typer.Option("--transposed/--not-transposed", show_default=False,
                 help="Whether the file holds features × items, where its labels do not tell."),
]  # fmt: skip
Ids = Annotated[
    Path | None,
    typer.Option(help="A file of ids: .txt with one a line, or any of the forms above."),
]
IdKey = Annotated[
    str | None, typer.Option(help="Which array or column is the ids; by default the one named id.")
]
Batch = Annotated[int, typer.Option(min=1, help="Rows at a time: one change of the index each.")]
Skip = Annotated[int, typer.Option(min=0, help="Pass over so many rows first, to go on where a run stopped.")]
Model = Annotated[
    Path | None,
    typer.Option(
        help="Of pictures: an ONNX model with its preprocessing beside it; by default EfficientNet-Lite0."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="JSON on stdout, and nothing else there.")]
Where = Annotated[
    str | None, typer.Option(help='A filter in JSON, as in the guide: \'{"year": {"gte": 2010}}\'.')
]
