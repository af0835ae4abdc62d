"""``onlinehash serve``: the indexes of a folder over HTTP."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

_Folder = Annotated[Path, typer.Argument(help="Folder of indexes: NAME.oh is served as NAME.")]
_Host = Annotated[str, typer.Option(help="Address to listen at; any but this machine's own needs keys.")]
_Port = Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 takes a free one.")]
_Keys = Annotated[
    Path | None,
    typer.Option(
        help="File of keys, a line each: read KEY or write KEY. ONLINEHASH_READ_KEY and "
        "ONLINEHASH_WRITE_KEY name one each, too."
    ),
]
_Media = Annotated[Path | None, typer.Option(help="Folder of pictures for the page, served at /media.")]
_Names = Annotated[
    list[str] | None, typer.Option(help="A name that the server answers to, besides localhost.")
]
_Origins = Annotated[list[str] | None, typer.Option(help="An origin whose pages may use this server (CORS).")]
_Changes = Annotated[int, typer.Option(min=1, help="Changes of an index that may wait before it says 429.")]
_Body = Annotated[int, typer.Option(min=1, help="MiB that a binary body may have; JSON: a quarter of it.")]
_Seconds = Annotated[float, typer.Option(min=0.1, help="Seconds that a search may take.")]
_Cluster = Annotated[
    list[str] | None, typer.Option(metavar="NAME=URI", help="Serve a Lance dataset, too, on a Ray cluster.")
]
_HeldOut = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=FILE",
        help="Measure an index's generations by mAP on a file's labelled rows, none of which it is told.",
    ),
]
_Shards = Annotated[int, typer.Option(min=1, help="Of --cluster: actors that hold its codes.")]
_Replicas = Annotated[int, typer.Option(min=1, help="Of --cluster: actors for each of them.")]
_Log = Annotated[str, typer.Option(help="critical, error, warning, info or debug.")]


def serve(
    folder: _Folder,
    host: _Host = "127.0.0.1",
    port: _Port = 8080,
    keys: _Keys = None,
    media: _Media = None,
    host_name: _Names = None,
    allow_origin: _Origins = None,
    changes: _Changes = 64,
    body: _Body = 64,
    seconds: _Seconds = 30.0,
    held_out: _HeldOut = None,
    cluster: _Cluster = None,
    shards: _Shards = 1,
    replicas: _Replicas = 1,
    log_level: _Log = "warning",
) -> None:
    """Serve every index of a folder, and a page to look at them, until told to stop."""
    from onlinehash.errors import InvalidParameterError, MissingExtraError

    try:
        from onlinehash.server.app import make_app
        from onlinehash.server.keys import Keys, read_keys
        from onlinehash.server.limits import Limits, MiB
        from onlinehash.server.run import bind, make_server, run, url_of
    except ImportError as error:
        raise MissingExtraError(f"the server needs {error.name}: pip install 'onlinehash[server]'") from error

    if media is not None and not media.is_dir():
        raise InvalidParameterError(f"--media: {media} is not a folder")
    read, write = read_keys(keys) if keys else ([], [])
    read += [key for key in [os.environ.get("ONLINEHASH_READ_KEY")] if key]
    write += [key for key in [os.environ.get("ONLINEHASH_WRITE_KEY")] if key]
    limits = Limits(
        body=body * MiB, json_body=max(1, body // 4) * MiB, bodies=4 * body * MiB, changes=changes,
        seconds=seconds,
    )  # fmt: skip
    listening = bind(host, port, bool(read or write))
    app = make_app(
        folder, keys=Keys(read, write), limits=limits, media=media, host_names=host_name or (),
        origins=allow_origin or (), others=_clusters(cluster or [], shards, replicas),
        held_out=_held_out(held_out or []),
    )  # fmt: skip
    new = "" if folder.exists() else ", which is new and empty,"
    told = f"serving {folder}{new} at {url_of(listening)}"
    run(make_server(app, log_level, lambda: typer.echo(told)), listening)


def _held_out(given: list[str]) -> dict[str, tuple[Any, Any]]:
    """NAME=FILE, as names, vectors and labels."""
    from onlinehash.cli.rows import Rows
    from onlinehash.errors import InvalidParameterError
    from onlinehash.server.held_out import MOST

    found: dict[str, tuple[Any, Any]] = {}
    for name, file in _pairs(given, "--held-out", "NAME=FILE"):
        batch = next(iter(Rows(file, size=MOST + 1)), None)
        if batch is None or batch.labels is None:
            raise InvalidParameterError(f"--held-out: {file} has no labels")
        found[name] = batch.vectors, batch.labels
    return found


def _pairs(given: list[str], option: str, form: str) -> list[tuple[str, str]]:
    from onlinehash.errors import InvalidParameterError

    found = [pair.partition("=") for pair in given]
    for name, equals, value in found:
        if not (name and equals and value):
            raise InvalidParameterError(f"{option}: expected {form}, got {name + equals + value!r}")
    return [(name, value) for name, _, value in found]


def _clusters(given: list[str], shards: int, replicas: int) -> dict[str, Callable[[], Any]]:
    """NAME=URI, as names and what opens them."""
    from onlinehash.cli import elsewhere

    how: Any = {"shards": shards, "replicas": replicas, "refresh": "manual"}
    return {
        name: partial(elsewhere.cluster().open, uri, **how)
        for name, uri in _pairs(given, "--cluster", "NAME=URI")
    }
