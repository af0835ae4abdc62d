"""Tables that come as an Arrow stream. What Arrow could be made to allocate is looked at first."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import numpy.typing as npt

from onlinehash.errors import InvalidInputError, MissingExtraError
from onlinehash.server.problems import ProblemError

_METADATA = ("pandas", "ARROW:schema")  # what others leave in a schema


def read_arrow(data: bytes) -> tuple[dict[str, Any], dict[str, str]]:
    """The columns by name, as a form takes them, and the schema's metadata."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise MissingExtraError("bodies in Arrow need pyarrow: pip install 'onlinehash[data]'") from error
    try:
        _refuse_compression(pa, data)
        with pa.ipc.open_stream(pa.py_buffer(data)) as reader:
            schema = reader.schema
            for column in schema:
                _check_type(pa, column)
            table = reader.read_all()
        table.validate(full=True)
        if len(table) > len(data):  # a column without buffers may claim any number of rows
            raise InvalidInputError(f"the table claims {len(table)} rows in {len(data)} bytes")
        names = table.column_names
        if len(set(names)) < len(names):
            raise InvalidInputError("two columns have the same name")
        fields = {name: _field(pa, name, table.column(name).combine_chunks()) for name in names}
        metadata = {
            key.decode(): value.decode()
            for key, value in (schema.metadata or {}).items()
            if key.decode() not in _METADATA
        }
    except (pa.ArrowException, OSError, UnicodeDecodeError, struct.error, IndexError, MemoryError) as error:
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise ProblemError(
            400, "InvalidInputError", f"truncated, or not an Arrow stream ({text:.200})"
        ) from None
    return fields, metadata


def _check_type(pa: Any, column: Any) -> None:
    kind, t = column.type, pa.types
    text = t.is_string(kind) or t.is_large_string(kind)
    listed = t.is_list(kind) or t.is_large_list(kind) or t.is_fixed_size_list(kind)
    good = {
        "vectors": listed and t.is_floating(kind.value_type),
        "ids": text or t.is_int64(kind),
        "labels": text or t.is_int64(kind) or (
            listed and (t.is_string(kind.value_type) or t.is_int64(kind.value_type))
        ),
        "payloads": text,
        "codes": t.is_fixed_size_binary(kind),
    }  # fmt: skip
    if column.name not in good:
        raise InvalidInputError(f"column {column.name!r}: expected one of {', '.join(good)}")
    if not good[column.name]:
        raise InvalidInputError(
            f"column {column.name!r} has the type {kind}; docs/server.md lists those taken"
        )


def _field(pa: Any, name: str, column: Any) -> Any:
    if name == "vectors":
        return _matrix(pa, column)
    if name == "codes":
        width = column.type.byte_width
        if column.null_count:
            raise InvalidInputError("codes: there are rows without one")
        data = np.frombuffer(column.buffers()[1], np.uint8)
        return data[column.offset * width : (column.offset + len(column)) * width].reshape(-1, width)
    values = column.to_pylist()
    if name == "payloads":
        try:
            return [None if text is None else json.loads(text) for text in values]
        except (ValueError, RecursionError) as error:
            raise InvalidInputError(f"payloads: not JSON ({error})") from None
    return values


def _matrix(pa: Any, column: Any) -> npt.NDArray[Any]:
    values = column.flatten()  # without what null rows hold
    if column.null_count or values.null_count:
        raise InvalidInputError("vectors: there are rows or numbers that are null")
    if not pa.types.is_fixed_size_list(column.type):
        widths = np.unique(np.diff(column.offsets.to_numpy()))
        if len(widths) > 1:
            raise InvalidInputError("vectors: rows of different lengths")
    array: npt.NDArray[Any] = values.to_numpy(zero_copy_only=False)
    return array.reshape(len(column), -1) if len(column) else array.reshape(0, 0)


def _refuse_compression(pa: Any, data: bytes) -> None:
    """A compressed buffer says how long it will be, and is believed."""
    reader = pa.BufferReader(data)
    while reader.tell() < len(data):
        try:
            message = pa.ipc.read_message(reader)
        except EOFError:
            return
        if message.type == "record batch" and _compressed(message.metadata.to_pybytes()):
            raise InvalidInputError("the record batches are compressed; send them as they are")


def _compressed(metadata: bytes) -> bool:
    """Whether the flatbuffer of a record batch's message has the field ``compression``.

    Message: version, header_type, header, …; RecordBatch: length, nodes, buffers, compression.
    """
    (root,) = struct.unpack_from("<I", metadata, 0)
    header = _at(metadata, root, 2)
    return header is not None and _at(metadata, header, 3) is not None


def _at(metadata: bytes, table: int, field: int) -> int | None:
    """Where a table within a flatbuffer's table begins, None where it has none."""
    (back,) = struct.unpack_from("<i", metadata, table)
    vtable = table - back
    (size,) = struct.unpack_from("<H", metadata, vtable)
    if 4 + 2 * field >= size:
        return None
    (offset,) = struct.unpack_from("<H", metadata, vtable + 4 + 2 * field)
    if not offset:
        return None
    place = table + int(offset)
    (ahead,) = struct.unpack_from("<I", metadata, place)
    return place + int(ahead)
