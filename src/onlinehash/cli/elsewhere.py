"""Indexes that are not a file here: a Lance dataset, or one that a server has."""

from __future__ import annotations

import os
from typing import Any

from onlinehash.errors import InvalidParameterError, MissingExtraError
from onlinehash.index.results import Stats


def is_dataset(index: str) -> bool:
    """A path or an address of object storage that ends with .lance."""
    return index.rstrip("/").lower().endswith(".lance")


def is_served(index: str) -> bool:
    """The address of an index on a server."""
    return index.startswith(("http://", "https://"))


def cluster() -> Any:
    """``onlinehash.cluster``, or which package it lacks."""
    try:
        from onlinehash import cluster
    except ImportError as error:
        raise MissingExtraError(f"it needs {error.name}: pip install 'onlinehash[cluster]'") from error
    return cluster


def served_stats(address: str) -> Stats:
    """Of an index on a server; the key is in ONLINEHASH_KEY, where it needs one."""
    from onlinehash.client import Client

    url, _, name = address.rstrip("/").rpartition("/")
    if url.endswith("/"):
        raise InvalidParameterError(f"{address}: expected http://HOST:PORT/NAME, with the index's name")
    with Client(url.removesuffix("/v1/indexes"), name, key=os.environ.get("ONLINEHASH_KEY")) as client:
        return client.stats()
