"""``read``: a Dataset from the user's files, whichever of the known forms they have."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from types import NoneType
from typing import Any, TypeAlias

import numpy as np

from onlinehash.datasets import hdf5, matlab, numpy_files, tables
from onlinehash.datasets.contents import Contents, Key
from onlinehash.datasets.dataset import Dataset
from onlinehash.datasets.source import Source
from onlinehash.errors import DataFileError, InvalidInputError
from onlinehash.labels import LabelRows, label_rows

PathLike: TypeAlias = str | os.PathLike[str]

FORMATS = {
    ".npy": numpy_files.npy,
    ".npz": numpy_files.npz,
    ".mat": matlab.mat,
    ".h5": hdf5.hdf5,
    ".hdf5": hdf5.hdf5,
    ".parquet": tables.parquet,
    ".csv": tables.csv,
    ".tsv": tables.csv,
}


def read(
    features: PathLike,
    labels: PathLike | None = None,
    *,
    key: Key = None,
    label_key: Key = None,
    transposed: bool | None = None,
    name: str | None = None,
) -> Dataset:
    """Open a file of features, and labels in the same file or another one.

    Parameters
    ----------
    features, labels : paths; without ``labels``, the features' file is asked for labels too
    key, label_key : which arrays or columns they are, where the rules of ``contents`` (arrays) and
        ``tables`` (columns) do not tell; of a table, several columns may be named
    transposed : True if the file holds features × items, False if items × features; None to tell by
        the number of labels. Without labels, rows are items, but a .mat file must be told about
    name : of the Dataset, for messages; the file's name without its ending

    Only labels are read now. A row with a missing or infinite value is refused when it is read.
    """
    contents = open_file(features)
    matrix = contents.features(key, label_key)
    labels_from = contents if labels is None else open_file(labels)
    if labels is None and key is not None and key == label_key:
        raise DataFileError(f"{contents.path}: {key!r} cannot be both features and labels")
    values = labels_from.labels(label_key, alone=labels is not None)
    counts = None if values is None else _possible_counts(values, labels_from)
    source = oriented(matrix, counts, transposed, contents)
    rows = None
    if values is not None:
        rows = _label_rows(values, source, labels_from.path, features_turned=source is not matrix)
    return Dataset(source, rows, name or contents.path.stem)


def open_file(path: PathLike) -> Contents:
    """What a file holds, by the ending of its name."""
    path = Path(path)
    form = FORMATS.get(path.suffix.lower())
    if form is None:
        raise DataFileError(f"{path}: expected a file that ends with one of {', '.join(FORMATS)}")
    if not path.is_file():
        raise DataFileError(f"{path}: there is no such file")
    return form(path)


def oriented(
    source: Source, counts: Collection[int] | None, transposed: bool | None, contents: Contents
) -> Source:
    """The matrix as items × features; ``counts`` are the numbers of items that there may be."""
    if 0 in source.shape:
        raise DataFileError(f"{contents.path}: the matrix of features is empty, {source.shape}")
    rows, columns = source.shape
    if not contents.may_turn:
        if transposed:
            raise DataFileError(f"{contents.path}: a row of a table is an item, so transposed cannot be True")
        transposed = False
    if transposed is None and counts is None and not contents.rows_are_items and 1 not in source.shape:
        raise DataFileError(
            f"{contents.path}: nothing tells whether the {source.shape} matrix has its items as rows "
            "(transposed=False) or as columns (transposed=True)"
        )
    if transposed is None and counts is not None:
        as_rows, as_columns = rows in counts, columns in counts
        if as_rows and as_columns:
            raise DataFileError(
                f"{contents.path}: the items of the {source.shape} matrix may be its rows "
                "(transposed=False) or its columns (transposed=True), for the labels fit both"
            )
        transposed = as_columns
    items = columns if transposed else rows
    if counts is not None and items not in counts:
        expected = " or ".join(f"{count:,}" for count in sorted(counts))
        raise DataFileError(
            f"{contents.path}: expected features of {expected} items, got a matrix of {source.shape}"
        )
    return source.turned() if transposed else source


def _possible_counts(values: Any, contents: Contents) -> set[int]:
    """How many rows the labels have: both sides of a matrix may be it, if the file may be turned."""
    if isinstance(values, list) or values.ndim == 1:
        return {len(values)}
    if not contents.may_turn:
        return {values.shape[0]}
    if 1 in values.shape and values.dtype != bool:
        return {max(values.shape)}
    return set(values.shape)


def _label_rows(values: Any, source: Source, path: Path, *, features_turned: bool) -> LabelRows:
    """The labels of as many rows as the features have. An empty text is no label."""
    n = source.shape[0]
    if not isinstance(values, list) and values.ndim == 2:
        if 1 in values.shape and values.dtype != bool:
            values = (values.toarray() if hasattr(values, "toarray") else values).ravel()
        elif values.shape[0] != n or (values.shape[1] == n and features_turned):
            values = values.T
    if not isinstance(values, list):
        if values.ndim == 2 or values.dtype.kind not in "SU":
            return _checked(values, path)
        values = values.tolist()
    values = [None if isinstance(value, str) and not value else value for value in values]
    if any(isinstance(value, (list, np.ndarray)) for value in values):
        # A last row without labels says that lists of 0 and 1 are lists of labels, not multi-hot.
        values = [value if isinstance(value, (list, np.ndarray, NoneType)) else [value] for value in values]
        return _checked([*values, None], path)[:-1]
    return _checked(values, path)


def _checked(values: Any, path: Path) -> LabelRows:
    try:
        return label_rows(values)
    except InvalidInputError as error:
        raise DataFileError(f"{path}: labels in a form that is not understood. {error}") from error
