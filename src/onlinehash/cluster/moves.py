"""Between places: an embedded index becomes a dataset, a dataset an embedded index or another dataset."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import lance

from onlinehash.cluster.lance_view import LanceView
from onlinehash.cluster.place import Disk, Place
from onlinehash.errors import InvalidParameterError


def copied(view: LanceView, to: Place) -> None:
    """A version and its model, in another place."""
    if to.exists():
        raise InvalidParameterError(f"{to.uri} exists: name a place that does not")
    options: Mapping[str, Any] = {"storage_options": dict(to.options) or None}
    for name in {view.state["base"], view.state["model"]} - {None}:
        of = to.model(name)
        lance.write_dataset(view.model_rows(name), of.uri, **options)
        Disk(of).sync()
    rows: Any = view.dataset.scanner().to_reader()
    lance.write_dataset(rows, to.uri, **options)
    Disk(to).sync()
