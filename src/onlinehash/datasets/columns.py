"""What a file says of each item besides features and labels: its id, and fields of its payload."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash.datasets.contents import Contents
from onlinehash.datasets.reading import PathLike, open_file
from onlinehash.errors import DataFileError
from onlinehash.labels import Label

ID_NAMES = ("id", "ids")


def read_ids(path: PathLike, key: str | None = None, *, required: bool = True) -> list[Label] | None:
    """The ids of a file's rows: one a line of a .txt, otherwise the array or column that ``key`` names.

    Without a key it is the one that is named id or ids, or else the only one; None if there is no
    such thing and ``required`` is False.
    """
    path = Path(path)
    if path.suffix.lower() == ".txt":
        return _lines(path)
    contents = open_file(path)
    if key is None:
        named = [name for name in contents.names() if name.rsplit("/", 1)[-1].lower() in ID_NAMES]
        if not required and len(named) != 1:
            return None
        key = named[0] if len(named) == 1 else None
    return [_id(value, i, path) for i, value in enumerate(_values(contents, key))]


def read_columns(path: PathLike, names: Sequence[str]) -> dict[str, list[Any]]:
    """Some arrays or columns of a file, each a list with a value for each row."""
    contents = open_file(path)
    return {name: _values(contents, name) for name in names}


def _values(contents: Contents, key: str | None) -> list[Any]:
    values = contents.labels(key, alone=True)
    if isinstance(values, list):
        return values
    array = values.toarray() if hasattr(values, "toarray") else np.asarray(values)
    if array.ndim == 2 and 1 in array.shape:
        array = array.ravel()
    if array.ndim != 1:
        raise DataFileError(f"{contents.path}: expected one value a row, got an array of {array.shape}")
    found: list[Any] = array.tolist()
    return found


def _lines(path: Path) -> list[Label]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise DataFileError(f"{path}: cannot be read as text ({error})") from error
    return [int(line) if line.isascii() and line.isdecimal() else line for line in lines]


def _id(value: Any, row: int, path: Path) -> Label:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise DataFileError(f"{path}: row {row}: an id must be text or a whole number, got {value!r}")
    return value
