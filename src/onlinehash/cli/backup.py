"""``onlinehash backup``: a copy, while others search and add."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash backup things.oh copy.oh"
PYTHON = """
with Index.open("things.oh", read_only=True) as index:
    index.backup("copy.oh")
"""

_Copy = Annotated[Path, typer.Argument(metavar="COPY", help="A file that is not there yet.")]


def backup(index: IndexFile, copy: _Copy, json_output: Json = False) -> None:
    """Copy an index as it is now to a new file, while others search and add."""
    from onlinehash.cli import output
    from onlinehash.index.index import Index

    with Index.open(index, read_only=True) as opened:
        opened.backup(copy)
    size = copy.stat().st_size
    if json_output:
        output.as_json({"path": str(copy), "bytes": size})
    else:
        output.write(f"{copy}: {size / 1e6:,.1f} MB\n")
