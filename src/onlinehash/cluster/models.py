"""Models beside a dataset: each written whole under a name of its own, and counted once a state names it.

A state says until when the models before it may still be read, by whoever has an older version open. What
no state names any more is removed, also what a writer left behind that ended before its state was written.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from typing import Any

import lance
import pyarrow as pa
from lance.file import LanceFileSession

from onlinehash.cluster.place import Disk, Place, plain
from onlinehash.errors import IndexFileError
from onlinehash.index.inputs import to_json
from onlinehash.index.store import Model

_NAME = re.compile(r"\d{12}-[^-]+-(\d+)")  # generation, anything, state
_SCHEMA = pa.schema([("part", pa.string()), ("label", pa.string()), ("value", pa.large_binary())])


def write_model(place: Place, model: Model, state: dict[str, Any], keep: float) -> None:
    """Write it, and name it in a state; the one that it replaces is kept for so many seconds."""
    # no two names are the same: not of two writers, nor of two tries
    name = f"{state['generation']:012d}-{secrets.token_hex(4)}-{state['sequence']}"
    parts: list[tuple[str, str | None, bytes]] = [("learnt", None, model.learnt)]
    if model.base is not None:
        parts.append(("base", None, model.base))
    parts += [("label", to_json(label), code) for label, code in model.labels]
    columns = zip(zip(*parts, strict=True), _SCHEMA, strict=True)
    write_rows(
        place.model(name), pa.table([pa.array(of, field.type) for of, field in columns], schema=_SCHEMA)
    )
    if state["model"] is not None:
        state["until"] = {**state["until"], state["model"]: time.time() + keep}
    state["model"] = name
    if model.base is not None:
        state["base"] = name


def write_rows(place: Place, rows: pa.Table) -> None:
    """The rows of one model, brought to the disk."""
    lance.write_dataset(rows, place.uri, storage_options=dict(place.options) or None)
    Disk(place).sync()


def read_rows(place: Place, name: str) -> pa.Table:
    """The rows of one model."""
    try:
        return place.model(name).open().to_table()
    except (OSError, ValueError) as error:
        raise IndexFileError(
            f"{place.uri}: damaged, its model {name} cannot be read ({plain(error)})"
        ) from error


def kept(state: dict[str, Any]) -> dict[str, float]:
    """Models that a state no longer names, and until when they may still be read."""
    now = time.time()
    return {name: until for name, until in state["until"].items() if until > now}


def remove_unnamed(place: Place, state: dict[str, Any]) -> None:
    """Remove what neither the state names nor one before it that may still be read."""
    named = {state["base"], state["model"], *kept(state)}

    def is_over(name: str) -> bool:
        # what is not named like a model is not ours; whoever opens the dataset for writing meanwhile
        # writes models of later states
        match = _NAME.fullmatch(name)
        return match is not None and name not in named and int(match[1]) <= state["sequence"]

    models = place.model("")
    if models.local is None:
        session = LanceFileSession(models.uri, dict(place.options) or None)
        for file in filter(lambda file: is_over(file.split("/")[0]), session.list()):
            session.delete_file(file)
    elif models.local.exists():
        for folder in filter(lambda folder: is_over(folder.name), models.local.iterdir()):
            shutil.rmtree(folder, ignore_errors=True)  # what cannot be removed now is tried again
