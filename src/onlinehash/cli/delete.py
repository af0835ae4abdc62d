"""``onlinehash delete``: items out of the index."""

from __future__ import annotations

from typing import Annotated

import typer

from onlinehash.cli.options import IndexFile, Json

SHELL = "onlinehash delete things.oh 8 9"
PYTHON = """
with Index.open("things.oh") as index:
    print(index.delete([8, 9]))
"""

_Ids = Annotated[
    list[str] | None, typer.Argument(metavar="ID", help='Ids; "7" in double quotes is text, 7 a number.')
]
_From = Annotated[
    str | None, typer.Option("--from", help='Lines of JSON, {"id": …}: a file, or - for standard input.')
]
_Missing = Annotated[bool, typer.Option("--missing-ok", help="Pass over ids that are not there.")]


def delete(
    index: IndexFile,
    ids: _Ids = None,
    source: _From = None,
    missing_ok: _Missing = False,
    json_output: Json = False,
) -> None:
    """Delete items: all of them, or none if one is not there."""
    from onlinehash.cli import output, words
    from onlinehash.cli.tag import lines
    from onlinehash.errors import InvalidParameterError
    from onlinehash.index.index import Index

    if (source is None) == (not ids):
        raise InvalidParameterError("delete expects ids, or --from with lines of JSON")
    with Index.open(index) as opened:
        names = words.ids(opened, ids or []) if source is None else lines(source)[0]
        deleted, left = opened.delete(names, missing_ok=missing_ok), len(opened)
    if json_output:
        output.as_json({"deleted": deleted, "items": left})
    else:
        output.write(f"{index}: {deleted:,} deleted, {left:,} items\n")
