"""``onlinehash search``: the nearest items of vectors, or of stored items."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from onlinehash.cli.options import IdKey, Ids, IndexFile, Json, Key, Model, Skip, Transposed, Where

SHELL = """onlinehash search things.oh queries.npy -k 5 --where '{"$id": {"gte": 100}}'
onlinehash search things.oh --like 5 -k 3 --json"""
PYTHON = """
with Index.open("things.oh", read_only=True) as index:
    hits = index.search(queries, k=5, where={"$id": {"gte": 100}})
    more = index.search(ids=[5], k=3)
    print(more.to_dict())
"""

_Source = Annotated[
    str | None,
    typer.Argument(
        metavar="SOURCE", show_default=False,
        help="Query vectors, in the forms that add takes, or - for lines of JSON on standard input, or a "
        "picture.",
    ),
]  # fmt: skip
_Like = Annotated[list[str] | None, typer.Option("--like", help="The id of a stored item; may be repeated.")]
_K = Annotated[int, typer.Option("-k", min=1, help="How many to find for each query.")]
_Score = Annotated[str, typer.Option(help="asymmetric, or hamming for whole numbers of bits.")]
_Rerank = Annotated[
    int | None, typer.Option(min=1, help="Order so many of the best by exact cosine, where vectors are kept.")
]
_Payloads = Annotated[bool, typer.Option("--payloads", help="Show what is kept with the items.")]
_Batch = Annotated[int, typer.Option(min=1, help="Queries at a time.")]


def search(
    index: IndexFile,
    source: _Source = None,
    like: _Like = None,
    k: _K = 10,
    where: Where = None,
    score: _Score = "asymmetric",
    rerank: _Rerank = None,
    payloads: _Payloads = False,
    key: Key = None,
    transposed: Transposed = None,
    ids: Ids = None,
    id_key: IdKey = None,
    batch: _Batch = 256,
    skip: Skip = 0,
    model: Model = None,
    json_output: Json = False,
) -> None:
    """Find the nearest items of vectors, or of stored items; with --json a line for each query."""
    from onlinehash.cli import words
    from onlinehash.cli.rows import Rows
    from onlinehash.errors import InvalidParameterError
    from onlinehash.index.index import Index

    if (source is None) == (not like):
        raise InvalidParameterError("search expects vectors or --like ID")
    from onlinehash.images.find import SUFFIXES as PICTURES

    rows: Any = None
    if source is not None and Path(source).suffix.lower() in PICTURES:
        rows = [_picture(source, model)]
    elif source is not None:
        rows = Rows(
            source,
            key=key,
            transposed=transposed,
            ids=ids,
            id_key=id_key,
            size=batch,
            skip=skip,
            labelled=False,
        )
    how: dict[str, Any] = {
        "k": k, "where": words.filter(where), "score": score, "rerank": rerank, "payloads": payloads,
    }  # fmt: skip
    with Index.open(index, read_only=True) as opened:
        if rows is None:
            names = words.ids(opened, like or [])
            _say(names, opened.search(ids=names, **how), json_output)
        else:
            for part in rows:
                _say(part.ids, opened.search(part.vectors, **how), json_output)


def _picture(source: str, model: Path | None) -> Any:
    from onlinehash.cli.rows import Batch
    from onlinehash.images import Embedder

    return Batch([source], Embedder(model).embed([source]), None, None)


def _say(names: list[Any], hits: Any, json_output: bool) -> None:
    from rich.text import Text

    from onlinehash.cli import output

    found = hits.to_dict()
    for name, row in zip(names, found["hits"], strict=True):
        if json_output:
            output.as_json({**found, "query": name, "hits": row})
            continue
        payload = ["payload"] if hits.payloads is not None else []
        output.write(f"{name}: generation {hits.generation}, {hits.score}\n")
        table = output.table("id", ">distance", *payload)
        for hit in row:
            more = [Text(output.brief(hit["payload"]))] if payload else []
            table.add_row(Text(str(hit["id"])), f"{hit['distance']:.3f}".rstrip("0").rstrip("."), *more)
        output.show(table)
