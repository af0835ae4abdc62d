"""Small files as numpy, SciPy, MATLAB, h5py, pyarrow and people write them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import scipy.io
import scipy.sparse as sp

Floats = npt.NDArray[np.float32]

MATLAB_HEADER = (
    b"MATLAB 7.3 MAT-file, Platform: GLNXA64, Created on: Thu Jan  1 00:00:00 2026 HDF5 schema 1.00 ."
)


def matlab73(path: Path, **variables: Any) -> None:
    """A .mat file as MATLAB saves with -v7.3: a user block, axes reversed, classes as attributes."""
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, value in variables.items():
            _variable(file, file, name, value)
    with path.open("r+b") as raw:
        raw.write(MATLAB_HEADER.ljust(116) + bytes(8) + b"\x00\x02IM")


def _variable(file: Any, at: Any, name: str, value: Any) -> Any:
    if sp.issparse(value):
        value = value.tocsc()
        node = at.create_group(name)
        node.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
        node["jc"] = value.indptr.astype(np.uint64)
        if value.nnz:
            node["ir"], node["data"] = value.indices.astype(np.uint64), value.data
        kind = _class(value.dtype)
    elif isinstance(value, str):
        units = np.frombuffer(value.encode("utf-16-le"), np.uint16)
        kind = "char"
        node = _empty(at, name) if not len(units) else at.create_dataset(name, data=units.reshape(-1, 1))
    elif isinstance(value, list):  # a cell array, N × 1
        cells = file.require_group("#refs#")
        references = [_variable(file, cells, f"{name}.{i}", cell).ref for i, cell in enumerate(value)]
        node = at.create_dataset(name, (1, len(value)), h5py.ref_dtype)
        for i, reference in enumerate(references):
            node[0, i] = reference
        kind = "cell"
    else:
        value = np.atleast_2d(value)
        kind = _class(value.dtype)
        stored = value.astype(np.uint8) if value.dtype == bool else value
        if value.size:
            chunked = {"chunks": True, "compression": "gzip"} if value.size > 8 else {}
            node = at.create_dataset(name, data=stored.T, **chunked)
        else:
            node = _empty(at, name)
        if kind == "logical":
            node.attrs["MATLAB_int_decode"] = np.int32(1)
    node.attrs["MATLAB_class"] = np.bytes_(kind)
    return node


def _empty(at: Any, name: str) -> Any:
    node = at.create_dataset(name, data=np.zeros(2, np.uint64))
    node.attrs["MATLAB_empty"] = np.uint8(1)
    return node


def _class(dtype: np.dtype[Any]) -> str:
    names = {"float64": "double", "float32": "single", "bool": "logical"}
    return names.get(dtype.name, dtype.name)


def cells(values: list[Any]) -> npt.NDArray[Any]:
    """A cell array, N × 1, for ``scipy.io.savemat``."""
    array = np.empty((len(values), 1), object)
    for i, value in enumerate(values):
        array[i, 0] = cells(value) if isinstance(value, list) else value
    return array


def csv(path: Path, columns: dict[str, Any], *, header: bool = True) -> None:
    pa_csv.write_csv(pa.table(columns), path, pa_csv.WriteOptions(include_header=header))


def _npz(path: Path, X: Floats) -> None:
    np.savez(path, X=X)


def _npz_compressed(path: Path, X: Floats) -> None:
    np.savez_compressed(path, X=X)


def _hdf5(path: Path, X: Floats) -> None:
    with h5py.File(path, "w") as file:
        file["group/features"] = X


def _hdf5_packed(path: Path, X: Floats) -> None:
    with h5py.File(path, "w") as file:
        file.create_dataset("X", data=X, chunks=(min(3, X.shape[0]), X.shape[1]), compression="gzip")


def _parquet_vectors(path: Path, X: Floats) -> None:
    pq.write_table(pa.table({"id": np.arange(len(X)), "vector": X.tolist()}), path, row_group_size=7)


def _parquet_fixed(path: Path, X: Floats) -> None:
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), X.shape[1])
    pq.write_table(pa.table({"vector": vectors}), path)


def _columns(X: Floats) -> dict[str, Any]:
    return {f"v{j}": X[:, j] for j in range(X.shape[1])}


# How a matrix is written, and how the file is to be read.
FORMS: dict[str, tuple[str, Callable[[Path, Floats], Any], dict[str, Any]]] = {
    "npy": (".npy", np.save, {}),
    "npy in columns": (".npy", lambda path, X: np.save(path, np.asfortranarray(X)), {}),
    "npy turned": (".npy", lambda path, X: np.save(path, np.ascontiguousarray(X.T)), {"transposed": True}),
    "npz": (".npz", _npz, {}),
    "npz compressed": (".npz", _npz_compressed, {}),
    "mat 4": (".mat", lambda path, X: scipy.io.savemat(path, {"X": X}, format="4"), {"transposed": False}),
    "mat 5": (".mat", lambda path, X: scipy.io.savemat(path, {"X": X}), {"transposed": False}),
    "mat 5 turned": (
        ".mat",
        lambda path, X: scipy.io.savemat(path, {"X": X.T}, do_compression=True),
        {"transposed": True},
    ),
    "mat 5 sparse": (
        ".mat",
        lambda path, X: scipy.io.savemat(path, {"X": sp.csc_array(X.astype(float))}),
        {"transposed": False},
    ),
    "mat 7.3": (".mat", lambda path, X: matlab73(path, X=X), {"transposed": False}),
    "mat 7.3 turned": (".mat", lambda path, X: matlab73(path, X=X.T), {"transposed": True}),
    "mat 7.3 sparse": (".mat", lambda path, X: matlab73(path, X=sp.csc_array(X)), {"transposed": False}),
    "hdf5": (".h5", _hdf5, {}),
    "hdf5 in pieces": (".hdf5", _hdf5_packed, {}),
    "parquet, lists": (".parquet", _parquet_vectors, {}),
    "parquet, fixed lists": (".parquet", _parquet_fixed, {}),
    "parquet, columns": (
        ".parquet",
        lambda path, X: pq.write_table(pa.table(_columns(X)), path, row_group_size=5),
        {},
    ),
    "csv": (".csv", lambda path, X: csv(path, _columns(X)), {}),
    "csv without names": (".csv", lambda path, X: csv(path, _columns(X), header=False), {}),
    "tsv": (".tsv", lambda path, X: np.savetxt(path, X, delimiter="\t"), {}),
}
