"""Between places: an embedded index becomes a dataset, a dataset an embedded index or another dataset."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import lance
import numpy as np

from onlinehash.cluster.lance_change import LanceChange
from onlinehash.cluster.lance_store import LanceStore
from onlinehash.cluster.lance_view import LanceView
from onlinehash.cluster.layout import STRIPE
from onlinehash.cluster.models import read_rows, write_rows
from onlinehash.cluster.place import Disk, Place
from onlinehash.codes import n_bytes
from onlinehash.errors import InvalidParameterError
from onlinehash.index.index import Index
from onlinehash.index.model import checked_base_bits, from_model, to_model
from onlinehash.index.sqlite import SQLiteStore
from onlinehash.index.store import Slots, View

_TOGETHER = 200_000  # items of one change
_SETTINGS = ("dim", "n_bits", "keep_vectors", "parameters")


def to_lance(
    path: str | os.PathLike[str], uri: str | os.PathLike[str], *, stripe: int = STRIPE,
    storage_options: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """An embedded index's file as a new dataset of the same slots, so the same answers; how many items."""
    with Index.open(path, read_only=True) as index, index._store.read() as view:
        settings = _settings(view) | {"stripe": int(stripe)}
        store = LanceStore.create(uri, settings, _code_bytes(view), storage_options, unfinished=True)
        try:
            n = _moved(view, store)
            store.tidy()
        finally:
            store.close()
    return n


def to_file(
    uri: str | os.PathLike[str], path: str | os.PathLike[str], *,
    storage_options: Mapping[str, str] | None = None,
) -> int:  # fmt: skip
    """A dataset as an embedded index's new file; how many items."""
    target = Path(path)
    if target.exists():
        raise InvalidParameterError(f"{target} exists: name a file that does not")
    source = LanceStore.open(uri, True, storage_options)
    try:
        with source.read() as view, TemporaryDirectory(dir=target.absolute().parent) as folder:
            store = SQLiteStore.create(Path(folder, "index"), _settings(view), _code_bytes(view), "full")
            try:
                n = _moved(view, store)
            finally:
                store.close()
            os.replace(Path(folder, "index"), target)
    finally:
        source.close()
    return n


def copied(view: LanceView, to: Place) -> None:
    """A version and its model, in another place."""
    if to.exists():
        raise InvalidParameterError(f"{to.uri} exists: name a place that does not")
    options: Mapping[str, Any] = {"storage_options": dict(to.options) or None}
    for name in sorted({view.state["base"], view.state["model"]} - {None}):
        write_rows(to.model(name), read_rows(view.place, name))
    rows: Any = view.dataset.scanner().to_reader()
    lance.write_dataset(rows, to.uri, **options)
    Disk(to).sync()


def _settings(view: View) -> dict[str, Any]:
    settings = view.settings()
    return {name: settings[name] for name in _SETTINGS}


def _code_bytes(view: View) -> int:
    from onlinehash.hashers.ohweu import OHWEU

    settings = view.settings()
    model = view.model()
    if model is not None:
        return n_bytes(from_model(model, view.lessons(), view.generation, "the index").base_bits_)
    return n_bytes(checked_base_bits(OHWEU(**settings["parameters"]), settings["dim"]))


def _moved(view: View, store: LanceStore | SQLiteStore) -> int:
    """Items first, then the model with all that has been learnt."""
    n, model = 0, view.model()
    for slots, items in _batches(view):
        with store.write() as change:
            change.put(slots, items)
            which, vectors = view.vectors(slots)
            if model is not None:
                change.put_codes(slots, view.codes(slots))
                vectors = vectors.astype(np.float16)
            if len(which):
                change.put_vectors(which, vectors)
        n += len(items)
    with store.write() as change:
        for rows in view.rows():
            change.put_rows(rows)
        if model is not None:
            hasher = from_model(model, view.lessons(), view.generation, "the index")
            change.put_model(to_model(hasher, view.generation, first=True), view.generation)
        if isinstance(change, LanceChange):
            del change.state["unfinished"]
    return n


def _batches(view: View) -> Iterator[tuple[Slots, list[Any]]]:
    slots, items = [], []
    for slot, item in view.all_items():
        slots.append(slot)
        items.append(item)
        if len(items) == _TOGETHER:
            yield np.array(slots, np.int64), items
            slots, items = [], []
    if items:
        yield np.array(slots, np.int64), items
