"""Parquet and CSV, through pyarrow: tables whose columns are features or labels.

    features   the columns that ``key`` names; otherwise the only column of vectors; otherwise, where
               there is none, all columns that are not labels and not named "id", each a number
    labels     the columns that ``label_key`` names; otherwise the one with a name out of LABEL_NAMES;
               otherwise, in a file that was given for its labels, all but the one named "id"

Several columns of labels are multi-hot. A row is always an item. Parquet is read piece by piece; CSV
has no way in but from its start, and is held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from onlinehash.datasets.contents import FEATURE_NAMES, LABEL_NAMES, Contents, Key
from onlinehash.datasets.source import Array, Held, Source, extra
from onlinehash.errors import DataFileError

_BATCH = 1024  # rows that Parquet unpacks at a time


def parquet(path: Path) -> Contents:
    """The columns of a Parquet file."""
    schema = _parquet_file(path).schema_arrow
    return Table(
        path, schema, lambda columns: VectorColumns(path, columns), lambda columns: _whole(path, columns)
    )


def csv(path: Path) -> Contents:
    """The columns of a .csv or .tsv file. The first line names them, see ``_names_columns``."""
    table = _csv_table(path)
    return Table(path, table.schema, lambda columns: Held(_matrix(table.select(columns), path)), table.select)


class Table(Contents):
    """Named columns, picked by the rules above."""

    may_turn = False

    def __init__(
        self,
        path: Path,
        schema: Any,
        source: Callable[[list[str]], Source],
        whole: Callable[[list[str]], Any],
    ) -> None:
        self.path = path
        self._source, self._whole = source, whole
        self._types = extra("pyarrow.types", path)
        with _reading(path):
            self._columns = {field.name: field.type for field in schema}
        if len(self._columns) != len(schema):
            raise DataFileError(f"{path}: two columns have the same name; {self._listed()}")

    def features(self, key: Key, label_key: Key) -> Source:
        if key is not None:
            return self._source(self._given(key, "key"))
        labels = self._given(label_key, "label_key") if label_key is not None else self._label_names()
        vectors = [name for name in self._columns if self._is_vector(name) and name not in labels]
        named = [name for name in vectors if name.lower() in FEATURE_NAMES]
        if len(vectors) == 1 or len(named) == 1:
            return self._source(named if len(named) == 1 else vectors)
        if vectors:
            raise DataFileError(
                f"{self.path}: several columns of vectors, say which with key; {self._listed()}"
            )
        columns = [name for name in self._columns if name not in labels and name.lower() != "id"]
        other = [name for name in columns if not self._is_number(name)]
        if other or not columns:
            which = f"column {other[0]!r} is not numbers" if other else "no column is left for features"
            raise DataFileError(f"{self.path}: {which}; name the features with key; {self._listed()}")
        return self._source(columns)

    def labels(self, key: Key, *, alone: bool) -> Any:
        if key is not None:
            columns = self._given(key, "label_key")
        else:
            columns = self._label_names()
            if not columns and alone:
                columns = [name for name in self._columns if name.lower() != "id"]
            elif not columns:
                return None
            elif len(columns) > 1:
                raise DataFileError(
                    f"{self.path}: any of {columns} may be the labels, say which with label_key"
                )
        table = self._whole(columns)
        if len(columns) > 1:
            return _matrix(table, self.path)
        return table.column(0).to_pylist()

    def names(self) -> list[str]:
        return list(self._columns)

    def _given(self, key: Key, parameter: str) -> list[str]:
        columns = [key] if isinstance(key, str) else list(key or ())
        missing = [name for name in columns if name not in self._columns]
        if missing or not columns:
            raise DataFileError(f"{self.path}: no column is named {parameter}={key!r}; {self._listed()}")
        return columns

    def _label_names(self) -> list[str]:
        return [name for name in self._columns if name.lower() in LABEL_NAMES]

    def _is_number(self, name: str) -> bool:
        kind, types = self._columns[name], self._types
        return bool(types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind))

    def _is_vector(self, name: str) -> bool:
        kind, types = self._columns[name], self._types
        lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
        return bool(lists and (types.is_floating(kind.value_type) or types.is_integer(kind.value_type)))

    def _listed(self) -> str:
        names = [f"{name} ({kind})" for name, kind in self._columns.items()]
        more = [f"and {len(names) - 12} more"] if len(names) > 12 else []
        return "its columns are " + ", ".join(names[:12] + more)


class VectorColumns(Source):
    """A column of vectors, or several of numbers, of a Parquet file: read forwards, batch after batch."""

    def __init__(self, path: Path, columns: list[str]) -> None:
        self.path, self.columns = path, columns
        metadata = self.handle.metadata
        groups = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
        self._starts = np.concatenate(([0], np.cumsum(groups, dtype=np.int64)))
        self.grain = _BATCH
        self._at = 0  # the row at which the next batch begins
        self._next: Iterator[Any] | None = None
        self._rest: Array | None = None  # what was unpacked last, and the row that it begins with
        self._rest_at = 0
        self.shape = (int(self._starts[-1]), 0)
        if self.shape[0]:
            self.shape = (self.shape[0], self.read(0, 1).shape[1])

    @cached_property
    def handle(self) -> Any:
        return _parquet_file(self.path)

    def read(self, start: int, stop: int) -> Array:
        parts = []
        while start < stop:
            batch, at = self._batch_with(start)
            parts.append(batch[start - at : stop - at])
            start += len(parts[-1])
        widths = {part.shape[1] for part in parts} | ({self.shape[1]} - {0})
        if len(widths) > 1:
            raise DataFileError(f"{self.path}: the vectors have different lengths, {sorted(widths)}")
        return np.concatenate(parts)

    def turned(self) -> Source:
        raise NotImplementedError("a row of a table is an item")

    def _batch_with(self, row: int) -> tuple[Array, int]:
        """The batch that holds this row; going back, or over a whole row group, begins anew."""
        if self._rest is not None and self._rest_at <= row < self._rest_at + len(self._rest):
            return self._rest, self._rest_at
        group = int(np.searchsorted(self._starts, row, side="right")) - 1
        with _reading(self.path):
            if self._next is None or row < self._at or self._starts[group] > self._at:
                self._at = int(self._starts[group])
                groups = list(range(group, len(self._starts) - 1))
                self._next = self.handle.iter_batches(_BATCH, row_groups=groups, columns=self.columns)
            for batch in self._next:
                first, self._at = self._at, self._at + len(batch)
                if row < self._at:
                    self._rest, self._rest_at = _matrix(batch.select(self.columns), self.path), first
                    return self._rest, first
        raise DataFileError(f"{self.path}: damaged: it ends before row {row}")

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_next": None, "_rest": None}


def _matrix(table: Any, path: Path) -> Array:
    """A table or batch as a matrix of float32; NaN for what is missing."""
    pyarrow = extra("pyarrow", path)
    if table.num_columns == 1 and pyarrow.types.is_nested(table.column(0).type):
        column = table.column(0)
        lengths = extra("pyarrow.compute", path).list_value_length(column)
        if column.null_count or len(lengths.unique()) > 1:
            found = sorted(set(lengths.to_pylist()), key=lambda length: -1 if length is None else length)
            raise DataFileError(f"{path}: the vectors have different lengths, {found}")
        width = lengths[0].as_py() if len(lengths) else 0
        return _numbers(column.flatten(), pyarrow).reshape(len(column), width)
    matrix = np.empty((table.num_rows, table.num_columns), np.float32)
    for j in range(table.num_columns):
        matrix[:, j] = _numbers(table.column(j), pyarrow)
    return matrix


def _numbers(column: Any, pyarrow: Any) -> Array:
    array: Array = column.cast(pyarrow.float32(), safe=False).to_numpy(zero_copy_only=False)
    return array


def _parquet_file(path: Path) -> Any:
    parquet = extra("pyarrow.parquet", path)
    with _reading(path):
        return parquet.ParquetFile(path, memory_map=True)


def _whole(path: Path, columns: list[str]) -> Any:
    with _reading(path):
        return _parquet_file(path).read(columns).select(columns)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    pyarrow = extra("pyarrow", path)
    try:
        yield
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        form = "Parquet file" if path.suffix.lower() == ".parquet" else f"table of {path.suffix}"
        raise DataFileError(f"{path}: truncated, damaged, or not a {form} ({error})") from error


def _csv_table(path: Path) -> Any:
    pyarrow, reader = extra("pyarrow", path), extra("pyarrow.csv", path)
    parse = reader.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    convert = reader.ConvertOptions(strings_can_be_null=True)

    def table(file: Any, *, names: bool) -> Any:
        options = reader.ReadOptions(autogenerate_column_names=not names)
        return reader.read_csv(file, options, parse, convert)

    with _reading(path), path.open("rb") as file:
        first = table(pyarrow.BufferReader(file.readline()), names=False)
        return table(path, names=_names_columns(first, pyarrow.types))


def _names_columns(first: Any, types: Any) -> bool:
    """Whether the first line is names: text in it, or 0, 1, 2, …, as pandas writes without names."""
    if any(not (types.is_integer(t) or types.is_floating(t) or types.is_null(t)) for t in first.schema.types):
        return True
    fields = [column[0].as_py() for column in first.columns]
    return len(fields) > 2 and fields == list(range(len(fields)))
