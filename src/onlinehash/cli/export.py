"""``onlinehash export``: items or codes in other people's forms."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Annotated, Any

import typer

from onlinehash.cli.options import IndexFile, Where

SHELL = """onlinehash export things.oh codes.parquet
onlinehash export things.oh things.lance
onlinehash export things.oh - --where '{"$labels": "favourite"}'"""
PYTHON = """
from onlinehash.index.export import records

with Index.open("things.oh", read_only=True) as index:
    index.to_parquet("codes.parquet")
    for item in records(index, where={"$labels": "favourite"}):
        print(item)
"""

_To = Annotated[
    str,
    typer.Argument(
        metavar="FILE", show_default=False,
        help="A .parquet file of ids and live codes; a .faiss file of live codes, with ids in the lines of "
        "FILE.ids.jsonl; a .jsonl file of items, or - for the same on standard output; a .lance dataset, on "
        "a path or on object storage, for many machines. From a .lance dataset: a .oh file.",
    ),
]  # fmt: skip
_Codes = Annotated[bool, typer.Option("--codes", help="With items: base and live codes, in hexadecimal.")]
_Vectors = Annotated[bool, typer.Option("--vectors", help="With items: the vectors, where they are kept.")]


def export(
    index: IndexFile, file: _To, where: Where = None, codes: _Codes = False, vectors: _Vectors = False
) -> None:
    """Write items or codes in a form that others read.

    Lines of items without codes are what add and tag read again.
    """
    from onlinehash.cli import output, words
    from onlinehash.cli.progress import progress
    from onlinehash.errors import InvalidParameterError
    from onlinehash.index.export import records
    from onlinehash.index.index import Index

    form = ".jsonl" if file == "-" else Path(file).suffix.lower()
    if index.suffix.lower() == ".lance" or form == ".lance":
        output.write(f"{file}: {_moved(index, file, form):,} items\n")
        return
    if form not in (".parquet", ".faiss", ".jsonl"):
        raise InvalidParameterError(
            f"{file}: expected a name that ends with .parquet, .faiss or .jsonl, or -"
        )
    if form != ".jsonl" and (where or codes or vectors):
        raise InvalidParameterError(f"{file}: --where, --codes and --vectors are for lines of items")
    with Index.open(index, read_only=True) as opened:
        n = len(opened)
        if form == ".parquet":
            opened.to_parquet(file)
        elif form == ".faiss":
            _faiss(opened.to_faiss(), file)
        else:
            found = records(opened, where=words.filter(where), codes=codes, vectors=vectors)
            if file == "-":
                for record in found:
                    output.as_json(record)
                return
            n = 0
            with progress("writing", None if where else len(opened)) as advance, Path(file).open("w") as out:
                for record in found:
                    out.write(json.dumps(record, ensure_ascii=False) + "\n")
                    n += 1
                    advance(1)
    output.write(f"{file}: {n:,} items\n")


def _moved(index: Path, file: str, form: str) -> int:
    """The whole index, to where many machines serve it or back."""
    from onlinehash.cli.elsewhere import cluster
    from onlinehash.errors import InvalidParameterError

    if form == ".lance":
        return int(cluster().to_lance(index, file))
    if form == ".oh":
        source = os.fspath(index)
        return int(
            cluster().to_file(source if "://" in source else re.sub(":/", "://", source, count=1), file)
        )
    raise InvalidParameterError(f"{file}: expected a name that ends with .oh, from a dataset")


def _faiss(made: tuple[Any, list[str | int]], file: str) -> None:
    import faiss

    binary, ids = made
    faiss.write_index_binary(binary, file)
    Path(f"{file}.ids.jsonl").write_text(
        "".join(json.dumps({"id": id}, ensure_ascii=False) + "\n" for id in ids)
    )
