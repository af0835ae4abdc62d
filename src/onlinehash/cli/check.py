"""``onlinehash check``: is the file whole?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from onlinehash.cli.options import Json

SHELL = "onlinehash check things.oh"
PYTHON = """
from onlinehash import check

assert check("things.oh") == []
"""


_Index = Annotated[
    str, typer.Argument(metavar="INDEX", help="The index's file, or a .lance dataset.", show_default=False)
]


def check(index: _Index, json_output: Json = False) -> None:
    """Read all of an index's file and compare every checksum; exit code 1 if something is wrong."""
    from onlinehash.cli import elsewhere, output
    from onlinehash.errors import IndexFileError
    from onlinehash.index.check import check as find_wrong

    if elsewhere.is_dataset(index):
        wrong = elsewhere.cluster().check(index)
    elif Path(index).is_file():
        wrong = find_wrong(index)
    else:
        raise IndexFileError(f"{index}: there is no such file")
    if json_output:
        output.as_json({"path": index, "wrong": wrong})
    else:
        output.write("".join(f"{sentence}\n" for sentence in wrong) or f"{index}: whole\n")
    if wrong:
        raise typer.Exit(1)
