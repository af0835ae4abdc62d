"""``onlinehash get``: one item."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash get things.oh 5"
PYTHON = """
with Index.open("things.oh", read_only=True) as index:
    print(index.get(5))
"""

_Id = Annotated[str, typer.Argument(metavar="ID", help='An id; "7" in double quotes is text, 7 a number.')]


def get(index: IndexFile, id: _Id, json_output: Json = False) -> None:
    """Show one item: its labels and payload, and its vector where that is kept."""
    from onlinehash.cli import output, words
    from onlinehash.errors import UnknownIdError
    from onlinehash.index.index import Index

    with Index.open(index, read_only=True) as opened:
        (name,) = words.ids(opened, [id])
        item = opened.get(name)
    if item is None:
        raise UnknownIdError(f"ids: {name!r} not in the index")
    if json_output:
        output.as_json(asdict(item))
        return
    rows = {"id": str(item.id), "labels": ", ".join(map(str, item.labels))}
    rows |= {name: output.brief(value, 100) for name, value in (item.payload or {}).items()}
    if item.vector is not None:
        rows["vector"] = output.brief([round(value, 4) for value in item.vector], 100)
    output.show(output.facts(rows))
