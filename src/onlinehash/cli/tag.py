"""``onlinehash tag``: labels for stored items, learnt from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash tag things.oh 5 8 --label favourite"
PYTHON = """
with Index.open("things.oh") as index:
    index.tag([5, 8], [["favourite"], ["favourite"]])
"""

_Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help='Ids; "7" in double quotes is text, 7 a number.')
]
_Label = Annotated[
    list[str] | None, typer.Option("--label", help="A label for all of them; may be repeated.")
]
_From = Annotated[
    str | None,
    typer.Option("--from", help='Lines of JSON, {"id": …, "labels": […]}: a file, or - for standard input.'),
]
_Forget = Annotated[
    bool, typer.Option("--no-keep", help="Learn only: do not keep the labels with the items.")
]


def tag(
    index: IndexFile,
    ids: _Ids = None,
    label: _Label = None,
    source: _From = None,
    no_keep: _Forget = False,
    json_output: Json = False,
) -> None:
    """Give stored items labels, and learn from them. All of one call or none."""
    from onlinehash.cli import output, words
    from onlinehash.errors import InvalidParameterError
    from onlinehash.index.index import Index
    from onlinehash.labels import LabelRows

    if (source is None) == (not ids) or (source is None) == (not label):
        raise InvalidParameterError("tag expects ids and --label, or --from with lines of JSON")
    with Index.open(index) as opened:
        if source is not None:
            names, labels = lines(source)
        else:
            names = words.ids(opened, ids or [])
            labels = [[words.word(text) for text in label or []]] * len(names)
        generation = opened.tag(names, LabelRows.of(labels), keep=not no_keep)
    if json_output:
        output.as_json({"tagged": len(names), "generation": generation})
    else:
        output.write(f"{index}: {len(names):,} items tagged, generation {generation}\n")


def lines(source: str) -> tuple[list[str | int], list[list[str | int]]]:
    """Ids and labels from lines of JSON; labels are empty where a line has none."""
    import sys
    from contextlib import nullcontext

    from onlinehash.datasets import read_jsonl
    from onlinehash.errors import DataFileError

    names: list[str | int] = []
    labels: list[list[str | int]] = []
    try:
        with nullcontext(sys.stdin) if source == "-" else Path(source).open() as stream:
            for number, item in enumerate(read_jsonl(stream)):
                if item.id is None:
                    raise DataFileError(f"item {number} has no id")
                names.append(item.id)
                labels.append(item.labels or [])
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(f"{source}: cannot be read ({error})") from error
    return names, labels
