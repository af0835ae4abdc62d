"""MATLAB's .mat files: the old ones through SciPy, those of version 7.3, which are HDF5, in hdf5.py.

An old file's variables are mostly compressed as one piece each, so a variable is read whole; the
others are not touched. Numbers, logicals, sparse matrices, text and cell arrays are understood.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io

from onlinehash.datasets import hdf5
from onlinehash.datasets.contents import Arrays, Entry, joined
from onlinehash.datasets.source import Array, Held, Source
from onlinehash.errors import DataFileError

_NUMBERS = {"double", "single", "sparse", "logical"} | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}


def mat(path: Path) -> Arrays:
    """The variables of a .mat file of any version."""
    if hdf5.is_hdf5(path):
        return hdf5.variables(path)
    entries = []
    for name, shape, kind in _scipy(scipy.io.whosmat, path):
        numbers = kind in _NUMBERS
        matrix = partial(_matrix, path, name) if numbers and len(shape) == 2 else None
        values = partial(_values, path, name, kind) if numbers or kind in ("cell", "char") else None
        entries.append(Entry(name, tuple(shape), kind, matrix, values))
    return Arrays(path, entries, rows_are_items=False)


def cell_values(cells: Array) -> list[Any]:
    """One value for each cell of a vector of cells: a label, or a list of labels."""
    return [_cell(cell) for cell in cells.ravel()]


def _cell(cell: Any) -> Any:
    array = np.asarray(cell)
    if array.dtype.kind == "U":
        texts = [str(text).rstrip() for text in array.ravel()]
        return texts[0] if len(texts) == 1 else texts
    if array.dtype.kind == "O":
        return joined(cell_values(array))
    return array.ravel().tolist()


def _matrix(path: Path, name: str) -> Source:
    array = _variable(path, name)
    return Held(array.tocsr() if hasattr(array, "tocsr") else array)


def _values(path: Path, name: str, kind: str) -> Any:
    array = _variable(path, name)
    if kind == "cell":
        if max(array.shape, default=0) != array.size:
            raise DataFileError(f"{path}: labels must be a vector of cells, {name} is {array.shape}")
        return cell_values(array)
    if kind == "char":
        return [text.rstrip() for text in array.ravel().tolist()]
    return array.astype(bool) if kind == "logical" else array


def _variable(path: Path, name: str) -> Any:
    found = _scipy(scipy.io.loadmat, path, variable_names=[name]).get(name)
    if found is None:
        raise DataFileError(f"{path}: damaged: {name} cannot be found again")
    if hasattr(found, "check_format"):
        with _reading(path):
            found.check_format(full_check=True)  # SciPy trusts indices, and would follow them anywhere
    return found


def _scipy(read: Any, path: Path, **options: Any) -> Any:
    with _reading(path), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return read(path, appendmat=False, **options)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # inside SciPy, a damaged file fails in any way that there is
        raise DataFileError(
            f"{path}: truncated, damaged, or not a .mat file ({type(error).__name__}: {error})"
        ) from error
