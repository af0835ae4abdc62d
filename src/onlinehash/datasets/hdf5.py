"""HDF5, and MATLAB's version 7.3, which is HDF5 with its axes the other way round.

MATLAB writes the columns of a matrix one after another where HDF5 has rows, so that its N × D matrix
is a D × N dataset. Its classes, empty arrays, sparse matrices and cells are told by attributes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from onlinehash.datasets.contents import Arrays, Entry, joined
from onlinehash.datasets.source import Array, Held, Source, extra
from onlinehash.errors import DataFileError

_SIGNATURE = b"\x89HDF\r\n\x1a\n"
_CACHE = 64 << 20  # bytes of unpacked pieces that are kept: neighbouring rows lie in the same ones


def is_hdf5(path: Path) -> bool:
    """Whether a .mat file is of version 7.3: HDF5 behind a block of 512 bytes of MATLAB's own."""
    with path.open("rb") as file:
        start = file.read(512 + len(_SIGNATURE))
    return _SIGNATURE in (start[: len(_SIGNATURE)], start[512:])


def hdf5(path: Path) -> Arrays:
    """The datasets of an HDF5 file, named by their paths."""
    return Arrays(path, _entries(path, matlab=False))


def variables(path: Path) -> Arrays:
    """The variables of a .mat file of version 7.3."""
    return Arrays(path, _entries(path, matlab=True), rows_are_items=False)


class Dataset5(Source):
    """A two-dimensional HDF5 dataset; ``flipped`` if the items lie along its second axis."""

    def __init__(self, path: Path, name: str, *, flipped: bool) -> None:
        self.path, self.name, self.flipped = path, name, flipped
        rows, columns = self.handle.shape
        self.shape = (columns, rows) if flipped else (rows, columns)
        if self.handle.chunks:
            self.grain = int(self.handle.chunks[1 if flipped else 0])

    @cached_property
    def handle(self) -> Any:
        return _open(self.path)[self.name]

    def read(self, start: int, stop: int) -> Array:
        with _reading(self.path):
            array: Array = self.handle[:, start:stop].T if self.flipped else self.handle[start:stop]
        return array

    def turned(self) -> Dataset5:
        return Dataset5(self.path, self.name, flipped=not self.flipped)


def _open(path: Path) -> Any:
    h5py = extra("h5py", path)
    with _reading(path):
        return h5py.File(path, "r", rdcc_nbytes=_CACHE)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, RuntimeError, ValueError, TypeError, KeyError, AttributeError, MemoryError) as error:
        raise DataFileError(f"{path}: truncated, damaged, or not an HDF5 file ({error})") from error


def _entries(path: Path, *, matlab: bool) -> list[Entry]:
    h5py = extra("h5py", path)
    entries: list[Entry] = []

    def visit(name: str, node: Any) -> None:
        kind = _matlab_class(node)
        if name.startswith("#"):  # where MATLAB keeps what its cells refer to
            return
        if "MATLAB_sparse" in node.attrs:
            rows, columns = int(node.attrs["MATLAB_sparse"]), len(node["jc"]) - 1
            sparse = partial(_sparse, path, name)
            entries.append(Entry(name, (rows, columns), "sparse", lambda: Held(sparse()), sparse))
        elif isinstance(node, h5py.Dataset) and "MATLAB_sparse" not in node.parent.attrs:
            shape = node.shape or ()
            numbers = node.dtype.kind in "biuf" and kind != "char" and "MATLAB_empty" not in node.attrs
            matrix = partial(Dataset5, path, name, flipped=matlab) if numbers and len(shape) == 2 else None
            readable = len(shape) in (1, 2) and "MATLAB_empty" not in node.attrs
            readable = readable and (numbers or kind in ("cell", "char") or (not matlab and len(shape) == 1))
            values = partial(_values, path, name, kind) if readable else None
            shape = shape[::-1] if matlab else shape
            entries.append(Entry(name, shape, kind or _type(h5py, node), matrix, values))

    with _open(path) as file, _reading(path):
        file.visititems(visit)
    return entries


def _values(path: Path, name: str, kind: str) -> Any:
    """Labels, whole. ``kind`` is MATLAB's class, empty in other files."""
    with _open(path) as file, _reading(path):
        node = file[name]
        if kind == "cell":
            return [_cell(file, file[reference]) for reference in node[()].ravel()]
        if kind == "char":
            return [text.rstrip() for text in _rows_of_text(node)]
        if kind:
            array: Array = node[()].T
            return array.astype(bool) if kind == "logical" else array
        if extra("h5py", path).check_string_dtype(node.dtype):
            return node.asstr()[()].tolist()
        return list(node[()]) if node.dtype.kind == "O" else node[()]


def _cell(file: Any, node: Any) -> Any:
    """One cell: a label, a list of labels, or None for an empty array."""
    if "MATLAB_empty" in node.attrs:
        return None
    kind = _matlab_class(node)
    if kind == "cell":
        return joined(_cell(file, file[reference]) for reference in node[()].ravel())
    if kind == "char":
        texts = [text.rstrip() for text in _rows_of_text(node)]
        return texts[0] if len(texts) == 1 else texts
    return node[()].ravel().tolist()


def _rows_of_text(node: Any) -> list[str]:
    """A char array is a dataset of UTF-16 units, its rows of text standing as columns."""
    units = np.ascontiguousarray(np.atleast_2d(node[()]).T, "<u2")
    return [row.tobytes().decode("utf-16-le", "replace") for row in units]


def _sparse(path: Path, name: str) -> Any:
    with _open(path) as file, _reading(path):
        group = file[name]
        rows, columns = int(group.attrs["MATLAB_sparse"]), len(group["jc"]) - 1
        data = group["data"][()] if "data" in group else np.empty(0)
        at = group["ir"][()] if "ir" in group else np.empty(0, np.int64)
        logical = _matlab_class(group) == "logical"
        matrix = sp.csc_array((data.astype(bool) if logical else data, at, group["jc"][()]), (rows, columns))
        matrix.check_format(full_check=True)  # SciPy trusts indices, and would follow them anywhere
        return matrix.tocsr()


def _matlab_class(node: Any) -> str:
    name = node.attrs.get("MATLAB_class", b"")
    return name.decode() if isinstance(name, bytes) else str(name)


def _type(h5py: Any, node: Any) -> str:
    return "text" if h5py.check_string_dtype(node.dtype) else str(node.dtype)
