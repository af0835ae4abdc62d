"""``onlinehash check``: is the file whole?"""

from __future__ import annotations

import typer

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash check things.oh"
PYTHON = """
from onlinehash import check

assert check("things.oh") == []
"""


def check(index: IndexFile, json_output: Json = False) -> None:
    """Read all of an index's file and compare every checksum; exit code 1 if something is wrong."""
    from onlinehash.cli import output
    from onlinehash.errors import IndexFileError
    from onlinehash.index.check import check as find_wrong

    if not index.is_file():
        raise IndexFileError(f"{index}: there is no such file")
    wrong = find_wrong(index)
    if json_output:
        output.as_json({"path": str(index), "wrong": wrong})
    else:
        output.write("".join(f"{sentence}\n" for sentence in wrong) or f"{index}: whole\n")
    if wrong:
        raise typer.Exit(1)
