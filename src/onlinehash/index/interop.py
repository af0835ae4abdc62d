"""Codes in other people's forms: faiss's binary flat index, Parquet."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from onlinehash.codes import Packed
from onlinehash.errors import InvalidInputError, InvalidParameterError
from onlinehash.index.results import Id


def to_faiss(codes: Packed, n_bits: int) -> Any:
    """A faiss ``IndexBinaryFlat`` of packed codes."""
    import faiss

    if n_bits % 8:
        raise InvalidParameterError(f"faiss takes codes of a multiple of 8 bits, not of {n_bits}")
    binary = faiss.IndexBinaryFlat(n_bits)
    binary.add(codes)
    return binary


def codes_of_faiss(binary: Any) -> Packed:
    """The packed codes of a faiss ``IndexBinaryFlat``."""
    import faiss

    if not isinstance(binary, faiss.IndexBinaryFlat):
        raise InvalidInputError(f"expected a faiss IndexBinaryFlat, got a {type(binary).__name__}")
    flat: Any = binary
    codes: Packed = faiss.vector_to_array(flat.xb).reshape(flat.ntotal, flat.code_size)
    return codes


def to_parquet(ids: list[Id], codes: Packed, path: str | os.PathLike[str]) -> None:
    """A Parquet file with the columns ``id``, int64 or string, and ``code``, binary of a fixed size."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if len({type(id) for id in ids}) > 1:
        raise InvalidInputError("a Parquet column has one type, but some ids are str and others int")
    kind = pa.string() if ids and isinstance(ids[0], str) else pa.int64()
    width = codes.shape[1]
    data = pa.py_buffer(np.ascontiguousarray(codes))
    column = pa.FixedSizeBinaryArray.from_buffers(pa.binary(width), len(codes), [None, data])
    pq.write_table(pa.table({"id": pa.array(ids, kind), "code": column}), os.fspath(path))
